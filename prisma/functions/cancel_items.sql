-- Cancels what is pending in a cancelled job, up to p_limit ranges of items: what waits leaves the queue, and what is held ends
-- (its workers learn it from the next heartbeat); keys that it had go on, by promote_blocked. What somebody has locked is left for the next pass: repeat until done.
--
-- p_from     the position to go on from
-- returns    how many items were cancelled, in how many ranges; the position to go on from, 0 for another pass; and whether
--            nothing is pending any more
-- locks      blocked items, queue entries and leases, skipping those that somebody else has
create or replace function jobtree.cancel_items(p_job_id uuid, p_from bigint default 0, p_limit integer default 10000)
returns table (cancelled bigint, ranges integer, next_from bigint, done boolean)
language plpgsql volatile
set enable_seqscan = off
set plan_cache_mode = force_generic_plan
as $$
declare
  v_blocked record;
  v_waiting record;
  v_held record;
  v_items bigint;
  v_done boolean;
begin
  if not exists (select from jobtree.job j where j.id = p_job_id and j.cancelled_at is not null) then
    return query select 0::bigint, 0, 0::bigint, true;
    return;
  end if;

  -- First those behind heads, which would become heads one by one.
  with picked as materialized (
    select b.ctid as tid from jobtree.blocked_item b
    where b.job_id = p_job_id and b.position >= p_from
    order by b.position
    limit p_limit
    for update skip locked
  ), gone as (
    delete from jobtree.blocked_item b where b.ctid = any (array(select p.tid from picked p)) returning b.position
  )
  select count(*)::integer as ranges, max(g.position) as last into v_blocked from gone g;

  with picked as materialized (
    select q.ctid as tid from jobtree.queue_entry q
    where q.job_id = p_job_id and q.position >= p_from
    order by q.position
    limit p_limit
    for update skip locked
  ), gone as (
    delete from jobtree.queue_entry q where q.ctid = any (array(select p.tid from picked p)) returning q.position, q.count, q.keyed
  )
  select coalesce(sum(g.count), 0) as items, count(*)::integer as ranges, max(g.position) as last, (
      select array_agg(k.position + n) from gone k cross join lateral generate_series(0, k.count - 1) n where k.keyed
    ) as keyed
  into v_waiting
  from gone g;

  with picked as materialized (
    select l.id, l.open from jobtree.lease l
    where l.job_id = p_job_id and l.position >= p_from and l.open <> B'0'::bit(128)
    order by l.position
    limit p_limit
    for update skip locked
  ), ended as (
    update jobtree.lease l set open = B'0'::bit(128), deadline_at = null from picked p where l.id = p.id
    returning l.position, l.count, l.keyed, p.open
  )
  select coalesce(sum(bit_count(e.open)), 0) as items, count(*)::integer as ranges, max(e.position) as last, (
      select array_agg(k.position + n) from ended k cross join lateral generate_series(0, k.count - 1) n
      where k.keyed and get_bit(k.open, n) = 1
    ) as keyed
  into v_held
  from ended e;

  if v_waiting.keyed is not null or v_held.keyed is not null then
    v_waiting.keyed := v_waiting.keyed || v_held.keyed;
    perform jobtree.free_keys(array_fill(p_job_id, array[cardinality(v_waiting.keyed)]), v_waiting.keyed, false);
  end if;
  update jobtree.ended_head e set held = false where e.job_id = p_job_id and e.held;
  v_items := v_blocked.ranges + v_waiting.items + v_held.items;
  if v_items > 0 then
    insert into jobtree.progress_delta (root_id, job_id, cancelled)
    select j.root_id, j.id, v_items from jobtree.job j where j.id = p_job_id;
  end if;
  -- One look at all: an item that changes hands is in one of them.
  v_done := not exists (
    select from jobtree.queue_entry q where q.job_id = p_job_id
    union all
    select from jobtree.lease l where l.job_id = p_job_id and l.open <> B'0'::bit(128)
    union all
    select from jobtree.blocked_item b where b.job_id = p_job_id
  );
  if v_done then
    update jobtree.job j set cancelling = false where j.id = p_job_id and j.cancelling;
  end if;
  return query select
    v_items, v_blocked.ranges + v_waiting.ranges + v_held.ranges,
    coalesce(least(
      case when v_blocked.ranges = p_limit then v_blocked.last end,
      case when v_waiting.ranges = p_limit then v_waiting.last end,
      case when v_held.ranges = p_limit then v_held.last end
    ) + 1, 0),
    v_done;
end
$$;
