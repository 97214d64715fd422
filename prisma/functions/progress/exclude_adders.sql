-- Finds out to which jobs no other transaction is adding (hold_jobs). Until this one ends, others wait before they add to these: call it for
-- jobs that take no more items, or shortly before the end.
--
-- returns    those of the jobs; what was added to them is visible to the next statement
-- locks      an advisory lock for each job, exclusively, leaving out those that are held. It never waits
create or replace function jobtree.exclude_adders(p_job_ids uuid[])
returns uuid[]
language sql volatile
as $$
  select array(select u from unnest(p_job_ids) u where pg_try_advisory_xact_lock(hashtextextended('job ' || u, 0)))
$$;
