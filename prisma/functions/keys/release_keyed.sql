-- Puts the items of a job that no longer waits into the lines of their serialize keys, up to p_limit of them from the first on: what
-- release_items does with all others. Items whose keys are locked are left for the next call, together with all later ones of the same key.
--
-- returns    how many, and how many of them are ready
-- locks      queue entries and keys, skipping locked ones
create or replace function jobtree.release_keyed(p_job_id uuid, p_limit integer)
returns table (entered integer, ready integer)
language plpgsql volatile
-- plans: no seqscan, hashjoin, mergejoin, bitmapscan; generic
as $$
declare
  v_now constant timestamptz(3) := clock_timestamp();
  v_waiting record;
  v_keys text[];
  v_entering record;
begin
  select array_agg(p.tid) as tids, array_agg(p.key) as keys into v_waiting
  from (
    select q.tid, i.key
    from (
      select q.ctid as tid, q.position from jobtree.queue_entry q
      where q.job_id = p_job_id and q.keyed and coalesce(q.run_at = 'infinity', false)
      order by q.position
      limit p_limit
      for update skip locked
    ) q
    -- Looked up one by one: a join might scan all items of the job for each.
    cross join lateral (
      select i.serialize_key as key from jobtree.job_item i where i.job_id = p_job_id and i.position = q.position offset 0
    ) i
  ) p;
  if v_waiting.tids is null then
    return query select 0, 0;
    return;
  end if;
  v_keys := jobtree.lock_keys(v_waiting.keys, false);

  with gone as (
    delete from jobtree.queue_entry q
    where q.ctid = any (array(
      select w.tid from unnest(v_waiting.tids, v_waiting.keys) w(tid, key) where (w.key in (select k from unnest(v_keys) k)) is true
    ))
    returning q.*
  )
  select array_agg(g.position order by g.position) as positions, array_agg(g.attempt order by g.position) as attempts,
    array_agg(g.priority order by g.position) as priorities,
    array_agg(case when i.run_at > v_now then i.run_at end order by g.position) as run_at
  into v_entering
  from gone g
  cross join lateral (select i.run_at from jobtree.job_item i where i.job_id = p_job_id and i.position = g.position offset 0) i;
  if v_entering.positions is null then
    return query select 0, 0;
    return;
  end if;
  return query select cardinality(v_entering.positions), jobtree.enter_keys(
    array_fill(p_job_id, array[cardinality(v_entering.positions)]), v_entering.positions, v_entering.attempts,
    v_entering.priorities, v_entering.run_at, true
  );
end
$$;
