-- Ends jobs in which more items failed than they tolerate: from this commit on they accept no items and give none to workers, and what is
-- pending in them counts as cancelled. cancel_items does the work, as for cancel_job. Jobs that are already cancelled are ignored.
--
-- p_rows     counters of jobs, as a fold has just computed them
-- p_touched  the jobs to examine
-- p_exact    the jobs that were known to be sealed before all their deltas were read: only of these a percentage of the items is known,
--            while a number of failures only grows
-- p_busy     the jobs to which transactions are adding, so that nothing about them can be exact now
-- returns    the jobs that were ended; those that may exceed a percentage but whose counters are not known to be exact, in which case none
--            is ended; and those whose rows are locked, for a later call. Null for none
-- locks      the jobs' rows in the order of their ids, skipping locked ones
create or replace function jobtree.fail_jobs(p_rows jobtree.job_progress[], p_touched uuid[], p_exact uuid[], p_busy uuid[])
returns table (ended uuid[], inexact uuid[], held uuid[])
language plpgsql volatile
-- plans: no seqscan, bitmapscan, hashjoin, mergejoin; generic
as $$
declare
  v_now constant timestamptz(3) := clock_timestamp();
  v_over uuid[];
  v_inexact uuid[];
  v_ended uuid[];
begin
  select array_agg(o.id) filter (where o.is_sure), array_agg(o.id) filter (where not o.is_sure and o.id <> all (p_busy)) into v_over, v_inexact
  from (
    select j.id, coalesce(r.failed > j.tolerated_failure_count, false) or j.id = any (p_exact) as is_sure
    from unnest(p_rows) r
    join jobtree.job j on j.id = r.job_id
    where r.job_id = any (p_touched) and r.failed > 0 and r.completed_at is null and j.cancelled_at is null
      and (
        r.failed > j.tolerated_failure_count
        -- Not in floating point, where 57 of 10,000 would be more than 0.57 %.
        or j.sealed_at is not null and 100 * r.failed > j.tolerated_failure_percentage::numeric * r.item_count
      )
  ) o;
  if v_inexact is not null or v_over is null then
    return query select null::uuid[], v_inexact, null::uuid[];
    return;
  end if;

  with free as (
    select j.id from jobtree.job j where j.id = any (v_over) and j.cancelled_at is null
    order by j.id
    for no key update skip locked
  ), ended as (
    update jobtree.job j
    set failed_at = v_now, cancelled_at = v_now, cancel_reason = 'FAILURES', cancelling = true, sealed_at = coalesce(j.sealed_at, v_now)
    where j.id = any (array(select f.id from free f))
    returning j.id
  )
  select array_agg(e.id) into v_ended from ended e;
  return query select v_ended, null::uuid[], (select array_agg(o.id) from unnest(v_over) o(id) where (o.id = any (v_ended)) is not true);
end
$$;
