-- How many items a queue entry may have whose largest payload has so many bytes: at most 128, so that claims of several servers seldom meet
-- at one, and about 1 MB in all, so that the size of an answer is known from its entries.
create or replace function jobtree.entry_size(p_largest integer) returns integer
language sql immutable parallel safe
as $$
  select greatest(1, least(128, 1000000 / greatest(p_largest, 1)))
$$;
