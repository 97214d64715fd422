-- Removes what an item that is given back again and again would leave behind: of the ended leases that began with the same item, all but the
-- last twenty and those under which an item succeeded, failed for good, or failed in a way that is kept.
--
-- p_ids      leases that this transaction has just changed; those that are still open are passed by
-- locks      the leases that it removes, skipping locked ones
create or replace function jobtree.prune_leases(p_ids uuid[])
returns void
language sql volatile
-- plans: no seqscan, bitmapscan, hashjoin, mergejoin
as $$
  delete from jobtree.lease d where d.id = any (array(
    select o.id
    from (
      -- By their ids: on a small table the order of another index would do, and the plan stays when it has grown.
      select distinct l.job_id, l.position
      from (select l.job_id, l.position from jobtree.lease l where l.id = any (p_ids) and l.check_at is null offset 0) l
    ) e
    cross join lateral (
      select l.id, l.count, l.attempt, l.check_at from jobtree.lease l
      where l.job_id = e.job_id and l.position = e.position
      order by l.id desc
      offset 20
    ) o
    cross join lateral (
      select from jobtree.lease l
      where l.id = o.id and l.check_at is null
        and not exists (
          select from jobtree.outcome r
          where r.job_id = e.job_id and r.position >= e.position and r.position < e.position + o.count and r.lease_id = o.id
        )
        and not exists (
          select from jobtree.failure f
          where f.job_id = e.job_id and f.position >= e.position and f.position < e.position + o.count and f.attempt = o.attempt
            and f.lease_id = o.id
        )
      for update skip locked
    ) k
  ))
$$;
