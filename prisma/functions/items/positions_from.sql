-- The positions of items whose blocks were drawn, in their order: a batch is contiguous in each block.
--
-- p_firsts   the first position of each 1,024 items, as insert_payloads returns them
-- p_count    the number of items
create or replace function jobtree.positions_from(p_firsts bigint[], p_count integer)
returns bigint[]
language sql immutable
as $$
  select array_agg(f.first + n order by f.block, n)
  from unnest(p_firsts) with ordinality f(first, block)
  cross join lateral generate_series(0, least(1024, p_count - 1024 * (f.block - 1)) - 1) n
$$;
