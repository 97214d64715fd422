-- Retries items that failed for good: they go to the end of the queue, or of the lines of their serialize keys, and may fail as often as a
-- new item. An item that has kept its key is still the head of its line. Their jobs are reopened, as are the jobs that those feed, if they
-- were sealed; each of them begins a new generation, which listeners are told.
--
-- p_job_ids, p_positions   the items, all of one tree and none twice. Those that are not dead letters, or whose job was cancelled, are
--            ignored
-- p_payload  the new payload of the items; null to keep theirs
-- returns    the replayed items; and the types that have ready items now, and how many: {type: count}
-- locks      the root's job_progress row, so no fold is in progress; the dead letters; the rows of the items' jobs, shared, in the order of
--            their ids, so that calls that cancel or delete them wait; the rows of the jobs that are unsealed, in the same order; and
--            serialize keys
-- notifies   as fold_trees does
-- errors     JT001 the tree is gone, or is being deleted
create or replace function jobtree.replay_items(p_root_id uuid, p_job_ids uuid[], p_positions bigint[], p_payload json default null)
returns table (job_ids uuid[], positions bigint[], ready jsonb)
language plpgsql volatile
-- plans: no seqscan, bitmapscan, hashjoin, mergejoin; generic
as $$
#variable_conflict use_column
declare
  v_durability constant text := current_setting('synchronous_commit');
  v_dead record;
  v_kept record;
  v_part record;
begin
  loop
    perform 1 from jobtree.job_progress p where p.job_id = p_root_id order by p.version desc limit 1 for no key update;
    exit when found;
    -- This has waited for a fold, which has written a new version.
    if not exists (select from jobtree.job j where j.id = p_root_id and j.root_id = j.id) then
      raise exception 'There is no job %.', p_root_id using errcode = 'JT001', column = 'jobId';
    end if;
  end loop;
  select array_agg(k.job_id) as job_ids, array_agg(k.position) as positions into v_dead
  from (
    select d.job_id, d.position from jobtree.dead_letter d
    join unnest(p_job_ids, p_positions) u(job_id, position) on d.job_id = u.job_id and d.position = u.position
    order by d.job_id, d.position
    for update of d
  ) k;
  -- From here on the counters include all failures of these items, so they can be subtracted.
  perform jobtree.fold_trees(array[p_root_id], array[0]);
  perform set_config('synchronous_commit', v_durability, true);
  perform 1 from jobtree.job j where j.id = any (v_dead.job_ids) order by j.id for share;
  if exists (select from jobtree.tree_deletion d where d.root_id = p_root_id) then
    raise exception 'The tree of job % is being deleted.', p_root_id using errcode = 'JT001', column = 'jobId';
  end if;

  with gone as (
    delete from jobtree.dead_letter d
    using (
      select u.job_id, u.position, j.priority
      from unnest(v_dead.job_ids, v_dead.positions) u(job_id, position)
      -- Looked up one by one: a join might scan all jobs of the tree for each item.
      cross join lateral (
        select j.priority from jobtree.job j
        where j.id = u.job_id and j.root_id = p_root_id and j.cancelled_at is null
        offset 0
      ) j
      offset 0
    ) u
    where d.job_id = u.job_id and d.position = u.position
    returning d.job_id, d.position, d.type, u.priority
  ), undone as (
    delete from jobtree.outcome o using gone g where o.job_id = g.job_id and o.position = g.position
  ), corrected as (
    update jobtree.job_item i set payload = p_payload, payload_bytes = octet_length(p_payload::text)
    from gone g join jobtree.job_item b on b.job_id = g.job_id and b.position = g.position
    where p_payload is not null and i.job_id = g.job_id and i.position = g.position
    returning i.job_id, i.payload_bytes - b.payload_bytes as bytes
  ), resized as (
    insert into jobtree.progress_delta (root_id, job_id, bytes)
    select p_root_id, c.job_id, sum(c.bytes) from corrected c group by c.job_id
  ), counted as (
    select g.*, coalesce(i.priority, g.priority) as item_priority, i.serialize_key is not null as keyed, coalesce((
        select max(f.attempt) from jobtree.failure f where f.job_id = g.job_id and f.position = g.position
      ), 0) as attempt
    from gone g
    join jobtree.job_item i on i.job_id = g.job_id and i.position = g.position
  ), noted as (
    insert into jobtree.replay as r (job_id, position, attempt)
    select c.job_id, c.position, c.attempt from counted c
    on conflict on constraint replay_pkey do update set attempt = excluded.attempt
  )
  select array_agg(c.job_id order by c.job_id, c.position) as job_ids, array_agg(c.position order by c.job_id, c.position) as positions,
    array_agg(c.attempt + 1 order by c.job_id, c.position) as attempts,
    array_agg(c.item_priority order by c.job_id, c.position) as priorities, array_agg(c.keyed order by c.job_id, c.position) as keyed, jobtree.count_names(array_agg(c.type)) as ready
  into v_dead
  from counted c;
  if v_dead.job_ids is null then
    return query select '{}'::uuid[], '{}'::bigint[], null::jsonb;
    return;
  end if;
  perform jobtree.tell_progress(jobtree.reopen_jobs(p_root_id, v_dead.job_ids));
  with kept as (
    delete from jobtree.ended_head e
    using unnest(v_dead.job_ids, v_dead.positions, v_dead.keyed) u(job_id, position, keyed)
    where u.keyed and e.job_id = u.job_id and e.position = u.position and e.held
    returning e.job_id, e.position
  )
  select array_agg(k.job_id) as job_ids, array_agg(k.position) as positions into v_kept from kept k;
  for v_part in
    select u.enters, array_agg(u.job_id order by u.n) as job_ids, array_agg(u.position order by u.n) as positions,
      array_agg(u.attempt order by u.n) as attempts, array_agg(u.priority order by u.n) as priorities,
      array_fill(null::timestamptz, array[count(*)::integer]) as run_at
    from (
      select u.*, u.keyed and (u.job_id, u.position) not in (select k.* from unnest(v_kept.job_ids, v_kept.positions) k(job_id, position)) as enters
      from unnest(v_dead.job_ids, v_dead.positions, v_dead.attempts, v_dead.priorities, v_dead.keyed)
        with ordinality u(job_id, position, attempt, priority, keyed, n)
    ) u
    group by u.enters
  loop
    if v_part.enters then
      perform jobtree.enter_keys(v_part.job_ids, v_part.positions, v_part.attempts, v_part.priorities, v_part.run_at, true);
    else
      perform jobtree.requeue(v_part.job_ids, v_part.positions, v_part.attempts, v_part.priorities, v_part.run_at, true);
    end if;
  end loop;
  return query select v_dead.job_ids, v_dead.positions, v_dead.ready;
end
$$;
