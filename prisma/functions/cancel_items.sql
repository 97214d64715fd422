-- Cancels what is pending in a cancelled job, up to p_limit ranges of items: what waits leaves the queue, and what is held ends
-- (its workers learn it from the next heartbeat). What somebody has locked is left for the next pass: repeat until done.
--
-- p_from     the position to go on from
-- returns    how many items were cancelled, in how many ranges; the position to go on from, 0 for another pass; and whether
--            nothing is pending any more
-- locks      queue entries and leases, skipping those that somebody else has
create or replace function jobtree.cancel_items(p_job_id uuid, p_from bigint default 0, p_limit integer default 10000)
returns table (cancelled bigint, ranges integer, next_from bigint, done boolean)
language plpgsql volatile
set enable_seqscan = off
set plan_cache_mode = force_generic_plan
as $$
declare
  v_waiting record;
  v_held record;
  v_done boolean;
begin
  if not exists (select from jobtree.job j where j.id = p_job_id and j.cancelled_at is not null) then
    return query select 0::bigint, 0, 0::bigint, true;
    return;
  end if;

  with picked as materialized (
    select q.ctid as tid from jobtree.queue_entry q
    where q.job_id = p_job_id and q.position >= p_from
    order by q.position
    limit p_limit
    for update skip locked
  ), gone as (
    delete from jobtree.queue_entry q where q.ctid = any (array(select p.tid from picked p)) returning q.position, q.count
  )
  select coalesce(sum(g.count), 0) as items, count(*)::integer as ranges, max(g.position) as last,
    array_agg(g.position) as positions, array_agg(g.count::bigint) as counts
  into v_waiting
  from gone g;

  with picked as materialized (
    select l.id, l.position, l.count, l.open from jobtree.lease l
    where l.job_id = p_job_id and l.position >= p_from and l.open <> B'0'::bit(128)
    order by l.position
    limit p_limit
    for update skip locked
  ), ended as (
    update jobtree.lease l set open = B'0'::bit(128), deadline_at = null from picked p where l.id = p.id
    returning p.*
  )
  select coalesce(sum(r.count), 0) as items, count(distinct e.id)::integer as ranges, max(e.position) as last,
    array_agg(e.position + r."from") as positions, array_agg(r.count::bigint) as counts
  into v_held
  from ended e
  cross join lateral jobtree.bit_runs(e.open, e.count) r;

  if v_waiting.items + v_held.items > 0 then
    perform jobtree.cancel_ranges(
      array_fill(p_job_id, array[cardinality(v_waiting.positions || v_held.positions)]), v_waiting.positions || v_held.positions,
      v_waiting.counts || v_held.counts, (select j.cancelled_at from jobtree.job j where j.id = p_job_id)
    );
  end if;
  -- One look at both: an item that changes hands is in one of them.
  v_done := not exists (
    select from jobtree.queue_entry q where q.job_id = p_job_id
    union all
    select from jobtree.lease l where l.job_id = p_job_id and l.open <> B'0'::bit(128)
  );
  if v_done then
    update jobtree.job j set cancelling = false where j.id = p_job_id and j.cancelling;
  end if;
  return query select
    (v_waiting.items + v_held.items)::bigint, v_waiting.ranges + v_held.ranges,
    case
      when v_waiting.ranges = p_limit and v_held.ranges = p_limit then least(v_waiting.last, v_held.last)
      when v_waiting.ranges = p_limit then v_waiting.last
      when v_held.ranges = p_limit then v_held.last
      else 0
    end + case when p_limit in (v_waiting.ranges, v_held.ranges) then 1 else 0 end,
    v_done;
end
$$;
