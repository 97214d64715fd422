-- Ends jobs in which more items failed than they tolerate: from this commit on they accept no items and give none to workers, and what is
-- pending in them counts as cancelled. cancel_items does the work, as for cancel_job.
--
-- returns    the jobs that are ended (done), and those whose rows are locked, for a later call
-- locks      the jobs' rows in the order of their ids, skipping locked ones
create or replace function jobtree.fail_jobs(p_job_ids uuid[])
returns table (root_id uuid, job_id uuid, done boolean)
language sql volatile
-- plans: no seqscan, bitmapscan, hashjoin, mergejoin; generic
as $$
  with free as materialized (
    select j.id from jobtree.job j where j.id = any (p_job_ids) and j.cancelled_at is null
    order by j.id
    for no key update skip locked
  ), ended as (
    update jobtree.job j
    set failed_at = n.now, cancelled_at = n.now, cancel_reason = 'FAILURES', cancelling = true, sealed_at = coalesce(j.sealed_at, n.now)
    from (select clock_timestamp() as now) n
    where j.id = any (array(select f.id from free f))
    returning j.root_id, j.id
  )
  select e.root_id, e.id, true from ended e
  union all
  select j.root_id, j.id, false from jobtree.job j where j.id = any (p_job_ids) and j.id not in (select f.id from free f)
$$;
