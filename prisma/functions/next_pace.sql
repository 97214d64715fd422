-- How many items of a job have ended lately, counted by ten seconds, once more have ended: the number of the present ten seconds since 1970, and
-- the counts of these and of the five before them. Plain SQL, so that the planner inlines it.
--
-- p_pace     the same before; empty at first
create or replace function jobtree.next_pace(p_pace bigint[], p_ended bigint, p_now timestamptz) returns bigint[]
language sql immutable parallel safe
as $$
  select array[s.now, coalesce(s.counts[1], 0) + greatest(p_ended, 0)] || s.counts[2:6]
  from (
    select n.now, (array_fill(0::bigint, array[least(greatest(n.now - coalesce(p_pace[1], 0), 0), 6)::integer]) || p_pace[2:7])[1:6] as counts
    from (select floor(extract(epoch from p_now) / 10)::bigint as now) n
  ) s
$$;
