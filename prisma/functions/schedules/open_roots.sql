-- Those of the given trees that are not complete, the last hundred at most: schedules that allow trees to overlap don't need the others.
create or replace function jobtree.open_roots(p_root_ids uuid[])
returns uuid[]
language sql stable
-- plans: no seqscan, bitmapscan
as $$
  select coalesce(array_agg(o.id order by o.n), '{}')
  from (
    select r.id, r.n
    from unnest(p_root_ids) with ordinality r(id, n)
    where (select p.open_jobs from jobtree.job_progress p where p.job_id = r.id order by p.version desc limit 1) > 0
    order by r.n desc
    limit 100
  ) o
$$;
