-- How many items of a job end in a second: on the average of the last 50 to 60 seconds, or since its first item was claimed.
--
-- p_pace     as next_pace makes it
create or replace function jobtree.per_second(p_pace bigint[], p_started_at timestamptz, p_now timestamptz) returns double precision
language sql immutable parallel safe
as $$
  select coalesce(sum(c.count), 0)::double precision
    / greatest(1, least(50 + extract(epoch from p_now)::double precision - n.now * 10, extract(epoch from p_now - p_started_at)::double precision))
  from (select floor(extract(epoch from p_now) / 10)::bigint as now) n
  left join lateral unnest(p_pace[2:7]) with ordinality c(count, i) on p_pace[1] - c.i + 1 > n.now - 6
  group by n.now
$$;
