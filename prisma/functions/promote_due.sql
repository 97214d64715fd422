-- Makes entries ready that have come due. Call it again at once as long as a batch was full.
--
-- p_within   looks only at what came due within this time, past the dead rows of what was promoted before; null for all, which is needed
--            now and then for entries that were locked or committed late
-- returns    how many entries; and the types that got ready items, and how many
-- locks      entries, skipping locked ones
create or replace function jobtree.promote_due(p_limit integer default 1000, p_within interval default null)
returns table (promoted integer, ready jsonb)
language plpgsql volatile
set jit = off
set enable_seqscan = off
set plan_cache_mode = force_generic_plan
as $$
declare
  -- A constant: an index scan can't be bounded by clock_timestamp(), which is volatile.
  v_now constant timestamptz(3) := clock_timestamp();
  v_from constant timestamptz := case when p_within is null then '-infinity' else v_now - p_within end;
begin
  return query
  with due as materialized (
    select q.ctid as tid, q.run_at, q.position from jobtree.queue_entry q
    where q.run_at >= v_from and q.run_at <= v_now
    order by q.run_at
    limit p_limit
    for update skip locked
  ), placed as materialized (
    -- A new place: within a priority, what came due first goes first.
    select d.tid, nextval('jobtree.block_seq') * 1024 as place
    from (select * from due order by run_at, position) d
  ), promoted as (
    update jobtree.queue_entry q set run_at = null, place = p.place, ready_at = q.run_at
    from placed p where q.ctid = p.tid
    returning q.type, q.count
  )
  select coalesce(sum(t.entries), 0)::integer, jsonb_object_agg(t.type, t.items)
  from (select p.type, count(*) as entries, sum(p.count) as items from promoted p group by p.type) t;
end
$$;
