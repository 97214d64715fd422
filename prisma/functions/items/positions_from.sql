-- The positions of items that insert_payloads has added to a job, in their order.
--
-- p_firsts   what insert_payloads returned
-- p_count    the number of items
create or replace function jobtree.positions_from(p_firsts bigint[], p_count integer)
returns bigint[]
language sql immutable
as $$
  select array_agg(f.first + n order by f.block, n)
  from unnest(p_firsts) with ordinality f(first, block)
  cross join lateral generate_series(0, least(1024, p_count - 1024 * (f.block - 1)) - 1) n
$$;
