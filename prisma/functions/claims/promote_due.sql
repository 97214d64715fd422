-- Makes entries ready that have come due. Call it again at once as long as there are more. If more are due than p_limit, the types take
-- turns: each gets an equal part, so that a type with very many keeps no other waiting.
--
-- p_within   looks only at what came due within this time, past the dead rows of what was promoted before; null for all, which is needed
--            now and then for entries that were locked or committed late
-- p_after    the type after which the turn begins: last_type of the call before
-- returns    how many entries; the types that got ready items, and how many; whether there are more; and the type at which the turn ended,
--            '' if that was the last one
-- locks      entries, skipping locked ones
create or replace function jobtree.promote_due(p_limit integer default 1000, p_within interval default null, p_after text default '')
returns table (promoted integer, ready jsonb, more boolean, last_type text)
language plpgsql volatile
-- plans: no seqscan, bitmapscan; generic
as $$
declare
  -- A constant: an index scan can't be bounded by clock_timestamp(), which is volatile.
  v_now constant timestamptz(3) := clock_timestamp();
  v_from constant timestamptz := case when p_within is null then '-infinity' else v_now - p_within end;
  v_crowded constant boolean := (
    select count(*) > p_limit
    from (
      select from jobtree.queue_entry q where q.run_at >= v_from and q.run_at <= v_now order by q.run_at limit p_limit + 1
    ) d
  );
  v_types text[];
  v_last text := '';
  v_due tid[];
begin
  if v_crowded then
    -- From type to type by what is due last, which is no dead row.
    with recursive scheduled as (
      (
        select q.type from jobtree.queue_entry q where q.run_at is not null and q.type > p_after
        order by q.type, q.run_at desc limit 1
      )
      union all
      select n.type from scheduled s
      cross join lateral (
        select q.type from jobtree.queue_entry q where q.run_at is not null and q.type > s.type
        order by q.type, q.run_at desc limit 1
      ) n
    ), examined as materialized (
      select s.type from scheduled s limit p_limit
    )
    -- Here and below: as a range of one type, in an order that only the index by type has, or the planner may read what is due of all types.
    select array_agg(e.type) filter (where (
        select q.run_at from jobtree.queue_entry q
        where q.type >= e.type and q.type <= e.type and q.run_at >= v_from and q.run_at <= v_now
        order by q.type desc, q.run_at
        limit 1
      ) is not null), case when count(*) = p_limit then max(e.type) else '' end
    into v_types, v_last
    from examined e;
    select array_agg(d.tid order by d.run_at, d.position) into v_due
    from unnest(v_types) u(type)
    cross join lateral (
      select q.ctid as tid, q.run_at, q.position from jobtree.queue_entry q
      where q.type >= u.type and q.type <= u.type and q.run_at >= v_from and q.run_at <= v_now
      order by q.type desc, q.run_at
      limit greatest(1, p_limit / cardinality(v_types))
      for update skip locked
    ) d;
  else
    select array_agg(d.tid order by d.run_at, d.position) into v_due
    from (
      select q.ctid as tid, q.run_at, q.position from jobtree.queue_entry q
      where q.run_at >= v_from and q.run_at <= v_now
      order by q.run_at
      limit p_limit
      for update skip locked
    ) d;
  end if;

  return query
  with placed as materialized (
    -- A new place: within a priority, what came due first goes first.
    select u.tid, nextval('jobtree.block_seq') * 1024 as place from unnest(v_due) u(tid)
  ), promoted as (
    update jobtree.queue_entry q set run_at = null, place = p.place, ready_at = q.run_at
    from placed p where q.ctid = p.tid
    returning q.type, q.count
  )
  select coalesce(sum(t.entries), 0)::integer, jsonb_object_agg(t.type, t.items),
    -- Not if somebody has locked all that are due in this turn.
    v_crowded and (count(*) > 0 or v_types is null), v_last
  from (select p.type, count(*) as entries, sum(p.count) as items from promoted p group by p.type) t;
end
$$;
