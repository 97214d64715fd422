-- Has the open leases of limited types count that began before the concurrency was limited.
--
-- p_types    limited types
-- locks      leases, skipping locked ones, which a later call finds
create or replace function jobtree.adopt_leases(p_types text[])
returns void
language sql volatile
-- plans: no seqscan, bitmapscan, hashjoin, mergejoin
as $$
  with adopted as (
    update jobtree.lease l set limited_type = o.type
    from (
      select l.id, j.type from jobtree.lease l
      cross join lateral (select j.type from jobtree.job j where j.id = l.job_id and j.type = any (p_types) offset 0) j
      where l.check_at is not null and l.limited_type is null
      for update of l skip locked
    ) o
    where l.id = o.id
    returning l.limited_type, l.open
  )
  insert into jobtree.held_delta (type, items)
  select a.limited_type, sum(bit_count(a.open)) from adopted a group by a.limited_type
$$;
