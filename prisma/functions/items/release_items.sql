-- Makes the items of a job that no longer waits for other jobs available, up to p_limit entries: they become ready, behind everything that
-- is ready already, or scheduled if their run_at is ahead. Items with serialize keys go into the lines of these, from the
-- first on; those that are locked, or whose keys are, are left for the next call, together with all later ones of the same key. Repeat until done.
--
-- p_from     the position to continue from
-- returns    the job's type; how many entries; how many items are ready; the position to continue from, 0 for another pass; and whether
--            nothing is left to release
-- locks      queue entries, keys, and at the end the job's row and that of exclude_adders, skipping locked ones
create or replace function jobtree.release_items(p_job_id uuid, p_from bigint default 0, p_limit integer default 2000)
returns table (type text, entries integer, ready bigint, next_from bigint, done boolean)
language plpgsql volatile
-- plans: no seqscan, hashjoin, mergejoin, bitmapscan; generic
as $$
#variable_conflict use_column
declare
  v_now constant timestamptz(3) := clock_timestamp();
  v_is_due boolean;
  v_last bigint;
  v_positions bigint[];
  v_keys text[];
  v_locked text[];
  v_entering jobtree.waiting_item[];
  v_is_alone boolean;
begin
  select j.type, j.releasing and j.cancelled_at is null into type, v_is_due from jobtree.job j where j.id = p_job_id;
  with picked as materialized (
    select q.ctid as tid, q.position from jobtree.queue_entry q
    where q.job_id = p_job_id and q.position >= p_from and v_is_due
      -- Written so that the planner can't use the index of scheduled entries, which has those of all jobs.
      and coalesce(q.run_at = 'infinity', false) and not q.keyed
    order by q.position
    limit p_limit
    for update skip locked
  ), placed as materialized (
    -- The items of an entry all had the same future run_at when they were added, or none.
    select p.tid, nextval('jobtree.block_seq') * 1024 as place,
      (select i.run_at from jobtree.job_item i where i.job_id = p_job_id and i.position = p.position) as run_at
    from (select * from picked order by position) p
  ), released as (
    update jobtree.queue_entry q set place = p.place, run_at = case when p.run_at > v_now then p.run_at end, ready_at = v_now
    from placed p where q.ctid = p.tid
    returning q.position, q.count, q.run_at
  )
  select count(*), coalesce(sum(r.count) filter (where r.run_at is null), 0), max(r.position) into entries, ready, v_last from released r;
  next_from := case when entries = p_limit then v_last + 1 else 0 end;
  if entries < p_limit and v_is_due then
    select array_agg(q.position), array_agg(i.key) into v_positions, v_keys
    from (
      select q.position from jobtree.queue_entry q
      where q.job_id = p_job_id and q.keyed and coalesce(q.run_at = 'infinity', false)
      order by q.position
      limit p_limit
    ) q
    -- Looked up one by one, here and below: a join might scan all items of the job for each.
    cross join lateral (
      select i.serialize_key as key from jobtree.job_item i where i.job_id = p_job_id and i.position = q.position offset 0
    ) i;
  end if;
  if v_positions is not null then
    -- Before the entries: then an earlier one of the key, which another call had, is either gone or seen as locked.
    v_locked := jobtree.try_lock_keys(v_keys);
    with picked as materialized (
      select q.position from jobtree.queue_entry q
      where q.job_id = p_job_id and q.position = any (v_positions) and coalesce(q.run_at = 'infinity', false)
      for update skip locked
    ), listed as (
      select w.position, bool_and(w.position in (select p.position from picked p)) over (partition by w.key order by w.position) as is_next
      from unnest(v_positions, v_keys) w(position, key)
      where (w.key in (select k from unnest(v_locked) k)) is true
    ), gone as (
      delete from jobtree.queue_entry q
      where q.job_id = p_job_id and q.position = any (array(select l.position from listed l where l.is_next))
      returning q.*
    )
    select array_agg(row(
      p_job_id, g.position, g.attempt, g.priority, case when i.run_at > v_now then i.run_at end, null
    )::jobtree.waiting_item order by g.position)
    into v_entering
    from gone g
    cross join lateral (select i.run_at from jobtree.job_item i where i.job_id = p_job_id and i.position = g.position offset 0) i;
  end if;
  if v_entering is not null then
    entries := entries + cardinality(v_entering);
    ready := ready + jobtree.enter_keys(v_entering, true);
  end if;
  if v_positions is not null then
    delete from jobtree.serialize_key k where k.key = any (v_locked) and k.job_id is null;
  end if;
  -- If a transaction is adding to the job, another call is needed.
  perform 1 from jobtree.job j where j.id = p_job_id for no key update skip locked;
  v_is_alone := found and cardinality(jobtree.exclude_adders(array[p_job_id])) = 1;
  done := type is null or v_is_alone and entries < p_limit and not (v_is_due and exists (
    select from jobtree.queue_entry q where q.job_id = p_job_id and coalesce(q.run_at = 'infinity', false)
  ));
  if done then
    update jobtree.job j set releasing = false where j.id = p_job_id;
  end if;
  return next;
end
$$;
