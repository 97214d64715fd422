-- The items of a job in their order, as ranges that are alike, from the ranges that the tables have: no row of an item is read, except those of
-- failed and blocked ones. What neither waits, runs, failed nor was cancelled has succeeded, if a lease has it.
--
-- p_from, p_until   positions: the first, and the one after the last
-- p_most     how many ranges to return. If there are more of one status, all ranges have the same number of items, but the last
-- p_rows     how many rows to read of each table; it must be more than there can be leases that cover one item
-- returns    the position at which to go on, since there is more to be read than p_rows, or null; and for each range a list: its first position, its
--            last one, and how many items have each status
create or replace function jobtree.item_ranges(
  p_job_id uuid, p_from bigint, p_until bigint, p_most integer, p_rows integer default 20000
)
returns table (next_from bigint, ranges jsonb)
language plpgsql stable
-- plans: no seqscan, bitmapscan; generic
as $$
declare
  -- Once its job is cancelled, what is pending is cancelled.
  v_pending constant text := (select 'CANCELLED' from jobtree.job j where j.id = p_job_id and j.cancelled_at is not null);
begin
  return query
  with entry as materialized (
    select q.position, q.count, jobtree.status_of_item(null, null, false, false, q.run_at, q.attempt) as status
    from jobtree.queue_entry q
    where (q.job_id, q.position) > (p_job_id, p_from - 128) and (q.job_id, q.position) < (p_job_id, p_until)
    order by q.job_id, q.position limit p_rows
  ), lease as materialized (
    select l.position, l.count, l.open
    from jobtree.lease l
    where (l.job_id, l.position) > (p_job_id, p_from - 128) and (l.job_id, l.position) < (p_job_id, p_until)
    order by l.job_id, l.position limit p_rows
  ), failed as materialized (
    select o.position from jobtree.outcome o
    where o.failed and (o.job_id, o.position) >= (p_job_id, p_from) and (o.job_id, o.position) < (p_job_id, p_until)
    order by o.job_id, o.position limit p_rows
  ), blocked as materialized (
    select b.position from jobtree.blocked_item b
    where (b.job_id, b.position) >= (p_job_id, p_from) and (b.job_id, b.position) < (p_job_id, p_until)
    order by b.job_id, b.position limit p_rows
  ), cancelled as materialized (
    select c.position, c.count from jobtree.cancellation c
    where (c.job_id, c.position) >= (p_job_id, coalesce((
        select b.position from jobtree.cancellation b
        where (b.job_id, b.position) >= (p_job_id, 0) and (b.job_id, b.position) <= (p_job_id, p_from)
        order by b.job_id desc, b.position desc limit 1
      ), p_from)) and (c.job_id, c.position) < (p_job_id, p_until)
    order by c.job_id, c.position limit p_rows
  ), seen as (
    -- Where the first table has more rows than were read; a caller gets on in any case.
    select case when count(f.position) > 0 then greatest(min(f.position), p_from + 1) end as until
    from (
      select max(e.position) from entry e having count(*) = p_rows
      union all select max(l.position) from lease l having count(*) = p_rows
      union all select max(o.position) from failed o having count(*) = p_rows
      union all select max(b.position) from blocked b having count(*) = p_rows
      union all select max(c.position) from cancelled c having count(*) = p_rows
    ) f(position)
  ), by_status as materialized (
    select u.status, range_agg(int8range(u.position, u.position + u.count)) as items
    from (
      select coalesce(v_pending, e.status) as status, e.position, e.count from entry e
      union all
      select coalesce(v_pending, 'RUNNING'), l.position, l.count from lease l where bit_count(l.open) = l.count
      union all
      select coalesce(v_pending, 'RUNNING'), l.position + r.from, r.count
      from lease l cross join lateral jobtree.bit_runs(l.open, l.count) r
      where bit_count(l.open) > 0 and bit_count(l.open) < l.count
      union all
      select coalesce(v_pending, 'BLOCKED'), b.position, 1 from blocked b
      union all
      select 'FAILED', o.position, 1 from failed o
      union all
      select 'CANCELLED', c.position, c.count from cancelled c
    ) u
    group by u.status
  ), piece as (
    select u.status, lower(r.items) as position, (upper(r.items) - lower(r.items))::integer as count
    from (
      select s.status, s.items from by_status s
      union all
      select 'SUCCEEDED', (select range_agg(int8range(l.position, l.position + l.count)) from lease l)
        - coalesce((select range_agg(s.items) from by_status s), '{}')
    ) u
    cross join seen w
    cross join lateral unnest(u.items * int8multirange(int8range(p_from, least(p_until, w.until)))) r(items)
  ), counted as (
    select p.*, sum(p.count) over (order by p.position) - p.count as before, sum(p.count) over () as total,
      case when p.status is distinct from lag(p.status) over (order by p.position) then 1 else 0 end as begins
    from piece p
  ), numbered as (
    select c.*, sum(c.begins) over (order by c.position) as run, sum(c.begins) over () as runs,
      (c.total + p_most - 1) / p_most as size
    from counted c
  ), part as (
    -- A run each, or each as much of a piece as belongs to a range.
    select case when n.runs <= p_most then n.run else n.before / n.size end as range, n.status, n.position, n.count
    from numbered n
    where n.runs <= p_most or n.before / n.size = (n.before + n.count - 1) / n.size
    union all
    select s.range, n.status, n.position + greatest(0, s.range * n.size - n.before),
      (least(n.before + n.count, (s.range + 1) * n.size) - greatest(n.before, s.range * n.size))::integer
    from numbered n
    cross join lateral generate_series(n.before / n.size, (n.before + n.count - 1) / n.size) s(range)
    where n.runs > p_most and n.before / n.size < (n.before + n.count - 1) / n.size
  ), alike as (
    select p.range, p.status, min(p.position) as first, max(p.position + p.count) - 1 as last, sum(p.count) as count
    from part p
    group by p.range, p.status
  )
  select (select w.until from seen w), coalesce(jsonb_agg(jsonb_build_array(r.first, r.last, r.counts) order by r.range), '[]')
  from (
    select a.range, min(a.first) as first, max(a.last) as last, jsonb_object_agg(a.status, a.count) as counts
    from alike a
    group by a.range
  ) r;
end
$$;
