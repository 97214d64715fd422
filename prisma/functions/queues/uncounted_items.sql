-- How many items of a type workers hold by leases from before its limit, which adopt_leases has not had count yet: somebody had locked them.
--
-- locks      none
create or replace function jobtree.uncounted_items(p_type text)
returns bigint
language sql stable
-- plans: no seqscan, bitmapscan, hashjoin, mergejoin
as $$
  select coalesce(sum(bit_count(l.open)), 0)::bigint from jobtree.lease l
  cross join lateral (select from jobtree.job j where j.id = l.job_id and j.type = p_type offset 0) j
  where l.check_at is not null and l.limited_type is null
$$;
