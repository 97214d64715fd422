-- How many items of a job have ended lately, counted by ten seconds, once more have ended: the number of the present ten seconds since 1970, and
-- the counts of these and of the five before them. An expression, so that the planner inlines it.
--
-- p_pace     the same before; empty at first
-- p_now      the number of the present ten seconds
create or replace function jobtree.next_pace(p_pace bigint[], p_ended bigint, p_now bigint) returns bigint[]
language sql immutable parallel safe
as $$
  select case
    when p_now <= p_pace[1] then array[p_now, p_pace[2] + greatest(p_ended, 0)] || p_pace[3:7]
    else array[p_now, greatest(p_ended, 0)]
      || (array_fill(0::bigint, array[least(p_now - coalesce(p_pace[1], 0), 6)::integer - 1]) || p_pace[2:7])[1:5]
  end
$$;
