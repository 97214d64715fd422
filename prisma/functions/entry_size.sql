-- How many items a queue entry may have whose largest payload has so many bytes: 128 at most, so that claimers on several servers
-- seldom meet in one, and about 1 MB together, so that the size of an answer is known from its entries.
create or replace function jobtree.entry_size(p_largest integer) returns integer
language sql immutable parallel safe
as $$
  select greatest(1, least(128, 1000000 / greatest(p_largest, 1)))
$$;
