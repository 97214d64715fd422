-- The items of a lease that its worker does not start at once: null if it starts all.
--
-- p_count    how many items the lease has
-- p_starts   how many of them it starts, from the first; null for all
-- p_lost     whether they were lost before: then it tells of each that it starts
create or replace function jobtree.waiting_bits(p_count integer, p_starts integer, p_lost boolean) returns bit(128)
language sql immutable parallel safe
as $$
  select case when p_lost and p_starts is not null or p_starts < p_count then
    (~B'0'::bit(128) << (128 - p_count)) & (~B'0'::bit(128) >> case when p_lost then 0 else greatest(p_starts, 0) end)
  end
$$;
