-- The mask in which only the bit of a lease's n-th item is set. Plain SQL, so that the planner inlines it.
create or replace function jobtree.bit_at(p_number integer) returns bit(128)
language sql immutable parallel safe
as $$
  select (B'1'::bit(128) >> (p_number - 1))::bit(128)
$$;
