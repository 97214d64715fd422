-- Cancels the pending items of a cancelled job, about p_limit ranges of them: waiting items leave the queue, and held ones end, which their
-- workers learn from the next heartbeat. promote_blocked passes on the serialize keys that they had. What is locked is left for the next
-- pass: repeat until done.
--
-- p_from     the position to continue from
-- returns    how many items were cancelled, in how many ranges, of which each item with a serialize key is one; the position to continue
--            from, 0 for another pass; and whether nothing is pending any more
-- locks      blocked items, queue entries and leases, skipping locked ones; those of exclude_adders, without which nothing is done for good
create or replace function jobtree.cancel_items(p_job_id uuid, p_from bigint default 0, p_limit integer default 10000)
returns table (cancelled bigint, ranges integer, next_from bigint, done boolean)
language plpgsql volatile
-- plans: no seqscan; generic
as $$
declare
  v_blocked record;
  v_waiting record;
  v_held record;
  v_done boolean;
begin
  if not exists (select from jobtree.job j where j.id = p_job_id and j.cancelled_at is not null) then
    return query select 0::bigint, 0, 0::bigint, true;
    return;
  end if;

  -- First the items behind heads: otherwise they would become heads one after the other.
  with picked as materialized (
    select b.ctid as tid from jobtree.blocked_item b
    where b.job_id = p_job_id and b.position >= p_from
    order by b.position
    limit p_limit
    for update skip locked
  ), gone as (
    delete from jobtree.blocked_item b where b.ctid = any (array(select p.tid from picked p)) returning b.position
  )
  select count(*)::integer as cost, max(g.position) as last, array_agg(row(p_job_id, g.position, 1, false)::jobtree.item_range) as ranges
  into v_blocked
  from gone g;

  with near as materialized (
    select q.*, sum(case when q.keyed then q.count else 1 end) over (order by q.position) as cost
    from (
      select q.ctid as tid, q.position, q.count, q.keyed from jobtree.queue_entry q
      where q.job_id = p_job_id and q.position >= p_from
      order by q.position
      limit p_limit
    ) q
  ), picked as materialized (
    select q.ctid as tid from jobtree.queue_entry q
    where q.ctid = any (array(select n.tid from near n where n.cost < p_limit + n.count))
    for update skip locked
  ), gone as (
    delete from jobtree.queue_entry q where q.ctid = any (array(select p.tid from picked p)) returning q.position, q.count, q.keyed
  )
  select coalesce(sum(case when g.keyed then g.count else 1 end), 0)::integer as cost,
    (select max(n.position) from near n where n.cost < p_limit + n.count having (select max(n.cost) from near n) >= p_limit) as last,
    coalesce(sum(g.count), 0) as items, array_agg(row(p_job_id, g.position, g.count, g.keyed)::jobtree.item_range) as ranges
  into v_waiting
  from gone g;

  with near as materialized (
    select l.*, sum(case when l.keyed then l.count else 1 end) over (order by l.position, l.id) as cost
    from (
      select l.id, l.position, l.count, l.keyed from jobtree.lease l
      where l.job_id = p_job_id and l.position >= p_from and coalesce(l.check_at, 'infinity') < 'infinity'
      order by l.position
      limit p_limit
    ) l
  ), picked as materialized (
    select l.id, l.position, l.count, l.keyed, l.open from jobtree.lease l
    where l.id = any (array(select n.id from near n where n.cost < p_limit + n.count)) and l.open <> B'0'::bit(128)
    for update skip locked
  ), ended as (
    update jobtree.lease l set open = B'0'::bit(128), check_at = null from picked p where l.id = p.id
    returning p.*
  )
  select (select coalesce(sum(case when p.keyed then p.count else 1 end), 0)::integer from picked p) as cost,
    (select max(n.position) from near n where n.cost < p_limit + n.count having (select max(n.cost) from near n) >= p_limit) as last,
    coalesce(sum(r.count), 0) as items, array_agg(row(p_job_id, e.position + r."from", r.count, e.keyed)::jobtree.item_range) as ranges
  into v_held
  from ended e
  cross join lateral jobtree.bit_runs(e.open, e.count) r;

  perform jobtree.cancel_ranges(
    v_blocked.ranges || v_waiting.ranges || v_held.ranges, (select j.cancelled_at from jobtree.job j where j.id = p_job_id)
  );
  v_done := cardinality(jobtree.exclude_adders(array[p_job_id])) = 1;
  update jobtree.ended_head e set held = false
  where e.ctid = any (array(select h.ctid from jobtree.ended_head h where h.job_id = p_job_id and h.held limit p_limit));
  -- In a single statement: an item that moves between these tables is in one of them in any snapshot.
  v_done := v_done and not exists (
    select from jobtree.queue_entry q where q.job_id = p_job_id
    union all
    select from jobtree.lease l where l.job_id = p_job_id and coalesce(l.check_at, 'infinity') < 'infinity'
    union all
    select from jobtree.blocked_item b where b.job_id = p_job_id
    union all
    select from jobtree.ended_head e where e.job_id = p_job_id and e.held
  );
  if v_done then
    update jobtree.job j set cancelling = false where j.id = p_job_id and j.cancelling;
  end if;
  return query select
    v_blocked.cost + v_waiting.items + v_held.items, v_blocked.cost + v_waiting.cost + v_held.cost,
    coalesce(least(case when v_blocked.cost = p_limit then v_blocked.last end, v_waiting.last, v_held.last) + 1, 0), v_done;
end
$$;
