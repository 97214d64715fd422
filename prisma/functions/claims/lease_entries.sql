-- Turns picks into leases, if one entry is not enough. The rest of an entry goes back to its place in the queue.
--
-- p_picks    items of entries that this transaction has locked: for each entry from its first item on, with no gap
-- p_workers, p_claim_ids, p_starts   of the requests: the worker; the claim id, if any; and how many items it starts at once, as claim_items has it
-- p_kind     the kind of the rows that it returns
-- p_limited_types   the types whose leases count against a concurrency limit (note_claims)
-- returns    a row for each lease: the number of its request, from 1; whether items remain behind it in its entry; numbers, null for all of
--            its items; the payloads in order, as JSON texts separated by the record separator U+001E, which JSON can't contain; and the
--            numbers of the items that fail for good if this attempt fails, as last_attempts returns them. Entries of cancelled jobs stay, and get none
-- locks      none new. It deletes the entries, inserts leases, and adds a delta for a job that had not started
create or replace function jobtree.lease_entries(
  p_picks jobtree.claim_pick[], p_workers text[], p_claim_ids uuid[], p_starts integer[], p_kind text, p_limited_types text[] default null
)
returns setof jobtree.claimed_lease
language plpgsql volatile
-- plans: no seqscan, bitmapscan, hashjoin, mergejoin, material, memoize; generic
as $$
declare
  -- With the precision of the columns.
  v_now constant timestamptz(3) := clock_timestamp();
  v_claim_id constant uuid := jobtree.new_id();
begin
  return query
  with taken as (
    -- Once for each entry, however many parts it has: searching a list of parts for each of them would take quadratic time.
    select u.tid, array_agg(row(u.tid, u.first, u.count, u.request, u.given)::jobtree.claim_pick order by u.n) as picks,
      array_agg(u.n order by u.n) as ns, sum(u.count)::integer as count
    from unnest(p_picks) with ordinality u(tid, first, count, request, given, n)
    group by u.tid
  ), gone as (
    delete from jobtree.queue_entry q
    using (
      select t.*, j.root_id, j.heartbeat_interval_ms, j.max_failures_per_item
      from taken t
      cross join lateral (select q.job_id from jobtree.queue_entry q where q.ctid = t.tid offset 0) q
      cross join lateral (select j.* from jobtree.job j where j.id = q.job_id and j.cancelled_at is null offset 0) j
    ) t
    where q.ctid = t.tid
    returning q.*, t.picks, t.ns, t.count as taken, t.root_id, t.heartbeat_interval_ms, t.max_failures_per_item
  ), rest as (
    insert into jobtree.queue_entry (job_id, position, place, bytes, attempt, count, priority, type, keyed, ready_at, lost)
    select g.job_id, g.position + g.taken, g.place + g.taken,
      case when g.bytes > 100000 then (
        select sum(i.payload_bytes) from jobtree.job_item i
        where i.job_id = g.job_id and i.position >= g.position + g.taken and i.position < g.position + g.count
      ) else g.bytes end,
      g.attempt, g.count - g.taken, g.priority, g.type, g.keyed, g.ready_at, g.lost
    from gone g
    where g.count > g.taken
  ), started as (
    insert into jobtree.progress_delta (root_id, job_id, started)
    select j.root_id, j.job_id, true
    from (select distinct g.root_id, g.job_id from gone g) j
    where (select p.started_at from jobtree.job_progress p where p.job_id = j.job_id order by p.version desc limit 1) is null
  ), part as materialized (
    select jobtree.new_lease_id(coalesce(p_claim_ids[u.request], v_claim_id)) as id, g.job_id, g.root_id, g.type,
      g.position + u.first as position, g.place + u.first as place, u.count, u.request, u.given, u.first + u.count < g.count as has_rest,
      v_now + 3 * g.heartbeat_interval_ms * interval '1 millisecond' as deadline_at, g.heartbeat_interval_ms, g.max_failures_per_item,
      g.attempt, g.priority, g.keyed, g.ready_at, g.lost, u.n
    from gone g
    cross join lateral unnest(g.picks, g.ns) u(tid, first, count, request, given, n)
  ), leased as (
    insert into jobtree.lease (
      id, job_id, claim_id, position, claimed_at, heartbeat_at, check_at, attempt, count, priority, open, worker, keyed, waiting, lost,
      limited_type
    )
    select p.id, p.job_id, p_claim_ids[p.request], p.position, v_now, v_now, p.deadline_at, p.attempt, p.count, p.priority,
      (~B'0'::bit(128)) << (128 - p.count), p_workers[p.request], p.keyed,
      jobtree.waiting_bits(p.count, p_starts[p.request] - p.given, p.lost), p.lost, case when p.type = any (p_limited_types) then p.type end
    from part p
  )
  select p.id, p.request, p.job_id, p.root_id, p.type, p.position, p.attempt, p_workers[p.request], p.heartbeat_interval_ms,
    v_now::timestamptz, p.deadline_at, p.priority, p.place, p.has_rest, null::integer[], i.payloads, p.ready_at::timestamptz,
    case when p.attempt > p.max_failures_per_item then
      jobtree.last_attempts(p.job_id, p.position, p.count, p.attempt, p.max_failures_per_item)
    end, p.keyed, p.lost, p_kind
  from part p
  cross join lateral (
    select string_agg(i.payload::text, E'\x1e') as payloads
    from (
      select i.payload from jobtree.job_item i
      where i.job_id = p.job_id and i.position >= p.position and i.position < p.position + p.count
      order by i.position
    ) i
  ) i
  order by p.n;
end
$$;
