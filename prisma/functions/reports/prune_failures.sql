-- Removes, of items that have just failed again, the failure that is no longer among the last twenty.
--
-- p_lease_ids, p_numbers   the assignments
create or replace function jobtree.prune_failures(p_lease_ids uuid[], p_numbers integer[])
returns void
language sql volatile
-- plans: no seqscan, hashjoin, mergejoin, bitmapscan
as $$
  delete from jobtree.failure f where f.ctid = any (array(
    select o.tid from unnest(p_lease_ids, p_numbers) u(lease_id, number)
    cross join lateral (select l.* from jobtree.lease l where l.id = u.lease_id and l.attempt > 40 offset 0) l
    cross join lateral (
      select from jobtree.failure f
      where f.job_id = l.job_id and f.position = l.position + u.number - 1 and f.attempt = l.attempt and f.lease_id = l.id
      offset 0
    ) n
    cross join lateral (
      select f.ctid as tid from jobtree.failure f
      where f.job_id = l.job_id and f.position = l.position + u.number - 1 and f.attempt = l.attempt - 20
      offset 0
    ) o
  ))
$$;
