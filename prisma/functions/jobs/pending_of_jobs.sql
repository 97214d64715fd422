-- In which statuses jobs have pending items, with a count and an example of each. Looks at a bounded number of ranges, whatever the jobs
-- have: each status of each job by itself, so that none is missed behind many of another.
--
-- p_job_ids  the jobs: of one tree, or a few
-- p_most     about how many ranges are looked at in each status, shared among the jobs
-- returns    a row for each job and status: the statuses of pending items, and KEY_HELD instead of BLOCKED for those behind a head that failed
--            and keeps its key; how many items were counted, and whether there may be more; the first one; and, of scheduled ones, the
--            earliest time. RUNNING items are not counted
create or replace function jobtree.pending_of_jobs(p_job_ids uuid[], p_most integer)
returns table (job_id uuid, status text, items bigint, has_more boolean, "position" bigint, until timestamptz)
language plpgsql stable
-- plans: no seqscan, bitmapscan, hashjoin, mergejoin; generic
as $$
#variable_conflict use_column
declare
  v_most constant integer := greatest(10, p_most / greatest(1, cardinality(p_job_ids)));
begin
  return query
    select j.id, s.status, e.items, e.ranges = v_most, e.position, e.until
    from unnest(p_job_ids) j(id)
    cross join unnest(array['READY', 'SCHEDULED', 'RETRYING', 'WAITING']) s(status)
    cross join lateral (
      select sum(q.count)::bigint as items, count(*) as ranges, min(q.position) as position, min(nullif(q.run_at, 'infinity')) as until
      from (
        select q.count, q.position, q.run_at from jobtree.queue_entry q
        where jobtree.status_of_item(null, null, false, false, q.run_at, q.attempt) = s.status and q.job_id = j.id
        order by q.position
        limit v_most
      ) q
    ) e
    where e.ranges > 0;
  return query
    select j.id, h.status, sum(b.items)::bigint, sum(sum(b.items)) over (partition by j.id) = v_most, min(b.position), null::timestamptz
    from unnest(p_job_ids) j(id)
    cross join lateral (
      select b.key, count(*) as items, min(b.position) as position
      from (select b.key, b.position from jobtree.blocked_item b where b.job_id = j.id order by b.position limit v_most) b
      group by b.key
    ) b
    cross join lateral (
      select case when exists (
        select from jobtree.serialize_key k
        cross join lateral (
          select e.held from jobtree.ended_head e where e.job_id = k.job_id and e.position = k.position offset 0
        ) e
        where k.key = b.key and e.held
      ) then 'KEY_HELD' else 'BLOCKED' end as status
    ) h
    group by j.id, h.status;
  return query
    select j.id, 'RUNNING', 0::bigint, true, l.position, null::timestamptz
    from unnest(p_job_ids) j(id)
    cross join lateral (
      select l.position from jobtree.lease l where l.job_id = j.id and coalesce(l.check_at, 'infinity') < 'infinity' limit 1
    ) l;
end
$$;
