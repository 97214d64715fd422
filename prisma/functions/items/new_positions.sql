-- Positions for new items: a block of 1,024 for each 1,024 items, so that a batch is contiguous and needs only one number from the
-- sequence. Positions ascend in the order in which blocks are drawn, across all jobs; gaps mean nothing.
create or replace function jobtree.new_positions(p_count integer) returns bigint[]
language sql volatile
as $$
  select array_agg(b.first + n order by b.first, n)
  from (
    select nextval('jobtree.block_seq') * 1024 as first, least(1024, p_count - 1024 * g) as size
    from generate_series(0, (p_count - 1) / 1024) g
  ) b
  cross join lateral generate_series(0, b.size - 1) n
$$;
