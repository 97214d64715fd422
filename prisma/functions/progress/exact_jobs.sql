-- The jobs of trees that were sealed or may end once their deltas are read, or have too many failures for the number of their items, if no
-- transaction is adding to them: as long as this transaction lasts, what is read of them from now on is exact.
--
-- p_root_ids the trees
-- returns    up to 2,000 jobs in each layer, since Postgres has room for a limited number of locks; the caller tries again with what is left
-- locks      those of exclude_adders
create or replace function jobtree.exact_jobs(p_root_ids uuid[])
returns uuid[]
language plpgsql volatile
-- plans: no seqscan, bitmapscan, mergejoin; generic
as $$
begin
  return jobtree.exclude_adders(array(
    select s.job_id
    from (
      select d.job_id, sum(d.items::bigint - d.succeeded - d.failed - d.cancelled) as more, sum(d.items) as items, sum(d.failed) as failed
      from unnest(p_root_ids) r(id)
      cross join lateral (select d.* from jobtree.progress_delta d where d.root_id = r.id offset 0) d
      group by d.job_id
    ) s
    cross join lateral (select j.* from jobtree.job j where j.id = s.job_id offset 0) j
    cross join lateral (select p.* from jobtree.job_progress p where p.job_id = s.job_id order by p.version desc limit 1) p
    where j.sealed_at is not null and p.completed_at is null
      and (
        not p.sealed
        or not j.waits and p.item_count - p.succeeded - p.failed - p.cancelled + s.more = 0
        -- Exactly, as in fold_layer.
        or j.cancelled_at is null and 100 * (p.failed + s.failed) > j.tolerated_failure_percentage::numeric * (p.item_count + s.items)
      )
    -- Of one tree the ids begin alike: the limit cuts one tree, not all of them.
    order by s.job_id
    limit 2000
  ));
end
$$;
