-- Whether more of the items failed than a percentage of them. Not in floating point, where 57 of 10,000 would be more than 0.57 %. An expression,
-- so that the planner inlines it.
create or replace function jobtree.exceeds(p_failed bigint, p_items bigint, p_percentage double precision)
returns boolean
language sql immutable parallel safe
as $$
  select coalesce(100 * p_failed > p_percentage::numeric * p_items, false)
$$;
