-- The runs of ones in a mask of p_count bits.
--
-- returns    a row for each run: its first bit, counted from 0, and its length
create or replace function jobtree.bit_runs(p_bits bit(128), p_count integer)
returns table ("from" integer, count integer)
language sql immutable parallel safe
as $$
  -- The usual case: all bits are ones.
  select 0, p_count where bit_count(p_bits) = p_count
  union all
  (select min(b.n), count(*)::integer
  from (
    select n, n - row_number() over (order by n) as run
    from generate_series(0, p_count - 1) n
    where bit_count(p_bits) < p_count and get_bit(p_bits, n) = 1
  ) b
  group by b.run)
$$;
