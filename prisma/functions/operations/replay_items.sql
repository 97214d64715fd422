-- Retries items that failed for good: they go to the end of the queue, or of the lines of their serialize keys, and may fail as often as a
-- new item. An item that has kept its key is still the head of its line. Their jobs are reopened, as are the jobs that those feed, if they
-- were sealed; each of them begins a new generation, which listeners are told.
--
-- p_job_ids, p_positions   the items, all of one tree and none twice. Those that are not dead letters, or whose job was cancelled, are
--            ignored
-- p_payload  the new payload of the items; null to keep theirs
-- p_patch    what changes in the payload of each (merge_patch), if p_payload is null
-- returns    the replayed items; and the types that have ready items now, and how many: {type: count}
-- locks      those of lock_root, so no fold is in progress; the dead letters; the rows of the items' jobs, shared, in the order of
--            their ids, so that calls that cancel or delete them wait; the rows of the jobs that are unsealed, in the same order; and
--            serialize keys
-- notifies   as fold_trees does
-- errors     those of lock_root
create or replace function jobtree.replay_items(p_root_id uuid, p_job_ids uuid[], p_positions bigint[], p_payload json default null, p_patch json default null)
returns table (job_ids uuid[], positions bigint[], ready jsonb)
language plpgsql volatile
-- plans: no seqscan, bitmapscan, hashjoin, mergejoin; generic
as $$
#variable_conflict use_column
declare
  v_durability constant text := current_setting('synchronous_commit');
  v_dead record;
begin
  perform jobtree.lock_root(p_root_id);
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
    update jobtree.job_item i set payload = n.payload, payload_bytes = octet_length(n.payload::text)
    from gone g join jobtree.job_item b on b.job_id = g.job_id and b.position = g.position
    cross join lateral (select coalesce(p_payload, jobtree.merge_patch(b.payload, p_patch)) as payload) n
    where (p_payload is not null or p_patch is not null) and i.job_id = g.job_id and i.position = g.position
    returning i.job_id, i.payload_bytes - b.payload_bytes as bytes
  ), resized as (
    insert into jobtree.progress_delta (root_id, job_id, bytes)
    select p_root_id, c.job_id, sum(c.bytes) from corrected c group by c.job_id
  ), counted as (
    select g.job_id, g.position, g.type, coalesce(i.priority, g.priority) as priority, i.serialize_key is not null as keyed, coalesce((
        select max(f.attempt) from jobtree.failure f where f.job_id = g.job_id and f.position = g.position
      ), 0) as attempt
    from gone g
    join jobtree.job_item i on i.job_id = g.job_id and i.position = g.position
  ), noted as (
    insert into jobtree.replay as r (job_id, position, attempt)
    select c.job_id, c.position, c.attempt from counted c
    on conflict on constraint replay_pkey do update set attempt = excluded.attempt
  ), head as (
    delete from jobtree.ended_head e using counted c
    where c.keyed and e.job_id = c.job_id and e.position = c.position and e.held
    returning e.job_id, e.position
  )
  select array_agg(c.job_id) as job_ids, array_agg(c.position) as positions, jobtree.count_names(array_agg(c.type)) as ready,
    array_agg(c.item) filter (where c.enters) as entering, array_agg(c.item) filter (where not c.enters) as returning
  into v_dead
  from (
    select c.job_id, c.position, c.type, row(c.job_id, c.position, c.attempt + 1, c.priority, null, null)::jobtree.waiting_item as item,
      c.keyed and (c.job_id, c.position) not in (select h.job_id, h.position from head h) as enters
    from counted c
    order by c.job_id, c.position
  ) c;
  if v_dead.job_ids is not null then
    perform jobtree.tell_progress(jobtree.reopen_jobs(p_root_id, v_dead.job_ids));
  end if;
  if v_dead.returning is not null then
    perform jobtree.requeue(v_dead.returning, true);
  end if;
  if v_dead.entering is not null then
    perform jobtree.enter_keys(v_dead.entering, true);
  end if;
  return query select coalesce(v_dead.job_ids, '{}'), coalesce(v_dead.positions, '{}'), v_dead.ready;
end
$$;
