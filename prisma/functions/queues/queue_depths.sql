-- How many items of each type wait and run, by name, for types that have any. Sums up ranges of items and open leases, so the cost does not
-- depend on how many items are finished.
--
-- p_types    only these; null for all
-- p_after    only types whose names come after this one
-- returns    how many items have each status of pending ones; and for how long the oldest ready item has been ready, in milliseconds: null if
--            none is ready
create or replace function jobtree.queue_depths(p_types text[] default null, p_after text default null)
returns table (
  type text, ready bigint, scheduled bigint, retrying bigint, waiting bigint, blocked bigint, running bigint, oldest_ready_ms bigint
)
language plpgsql stable
set jit = off
-- A custom plan drops the conditions that are not wanted.
set plan_cache_mode = force_custom_plan
as $$
#variable_conflict use_column
declare
  v_jobs constant uuid[] := jobtree.few_jobs(p_types, null);
begin
  return query
  with entry as (
    select q.* from jobtree.queue_entry q where p_types is null and (p_after is null or q.type > p_after)
    union all
    -- By the indexes of types: one has the ready entries, one all others.
    select q.* from jobtree.queue_entry q where q.type = any (p_types) and (p_after is null or q.type > p_after) and q.run_at is null
    union all
    select q.* from jobtree.queue_entry q where q.type = any (p_types) and (p_after is null or q.type > p_after) and q.run_at is not null
  ), entries as (
    select e.type, (sum(e.items) filter (where e.status = 'READY'))::bigint as ready,
      (sum(e.items) filter (where e.status = 'SCHEDULED'))::bigint as scheduled,
      (sum(e.items) filter (where e.status = 'RETRYING'))::bigint as retrying,
      (sum(e.items) filter (where e.status = 'WAITING'))::bigint as waiting,
      min(e.since) filter (where e.status = 'READY') as since
    from (
      select q.type, jobtree.status_of_item(null, null, false, false, q.run_at, q.attempt) as status, sum(q.count) as items,
        min(q.ready_at) as since
      from entry q
      group by 1, 2
    ) e
    group by e.type
  ), held as (
    select j.type, sum(h.items)::bigint as running
    from (
      select l.job_id, sum(bit_count(l.open)) as items from jobtree.lease l
      where l.check_at is not null and (v_jobs is null or l.job_id = any (v_jobs))
      group by l.job_id
    ) h
    join jobtree.job j on j.id = h.job_id
    where (p_types is null or j.type = any (p_types)) and (p_after is null or j.type > p_after)
    group by j.type
    having sum(h.items) > 0
  ), behind as (
    select b.type, count(*) as blocked from jobtree.blocked_item b
    where (p_types is null or b.type = any (p_types)) and (p_after is null or b.type > p_after)
    group by b.type
  )
  select type, coalesce(e.ready, 0), coalesce(e.scheduled, 0), coalesce(e.retrying, 0), coalesce(e.waiting, 0),
    coalesce(b.blocked, 0), coalesce(h.running, 0),
    case when e.since is not null then greatest(extract(epoch from clock_timestamp() - e.since) * 1000, 0)::bigint end
  from entries e full join held h using (type) full join behind b using (type)
  order by type;
end
$$;
