-- Turns queue entries, or the first parts of them, into leases: the second half of claim_items, if one entry is not enough.
--
-- p_tids, p_froms, p_counts, p_requests
--            the parts, an element for each: where its entry is, in a row that this transaction has locked; its first item in the entry,
--            from 0, with no gap between parts of one entry; how many items; and for which request. The rest of an entry goes back to its
--            place in the queue
-- p_workers, p_claim_ids, p_starts   of the requests: the worker; the claim id, if any; and how many items it starts at once, as claim_items has it
-- p_kind     the kind of the rows that it returns
-- p_limited_types   the types whose leases count against a concurrency limit (note_claims)
-- returns    a row for each lease: the number of its request, from 1; whether items remain behind it in its entry; numbers, null for all of
--            its items; the payloads in order, as JSON texts separated by the record separator U+001E, which JSON can't contain; and the
--            numbers of the items that fail for good if this attempt fails, as last_attempts returns them
-- locks      none new. It deletes the entries, inserts leases, and adds a delta for a job that had not started. Entries of a cancelled job
--            are not leased but counted as cancelled
create or replace function jobtree.lease_entries(
  p_tids tid[], p_froms integer[], p_counts integer[], p_requests integer[], p_workers text[], p_claim_ids uuid[], p_starts integer[],
  p_kind text, p_limited_types text[] default null
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
    select u.tid, array_agg(u."from" order by u.n) as froms, array_agg(u.count order by u.n) as counts,
      array_agg(u.request order by u.n) as requests, array_agg(u.n order by u.n) as ns
    from unnest(p_tids, p_froms, p_counts, p_requests) with ordinality u(tid, "from", count, request, n)
    group by u.tid
  ), gone as (
    delete from jobtree.queue_entry q using taken t where q.ctid = t.tid
    returning q.*, t.tid, t.froms, t.counts, t.requests, t.ns
  ), wanted as materialized (
    select g.*, j.root_id, j.heartbeat_interval_ms, j.max_failures_per_item, j.cancelled_at, p.started_at
    from gone g
    join jobtree.job j on j.id = g.job_id
    cross join lateral (
      select p.started_at from jobtree.job_progress p where p.job_id = g.job_id order by p.version desc limit 1
    ) p
  ), part as materialized (
    select jobtree.new_lease_id(coalesce(p_claim_ids[u.request], v_claim_id)) as id, u.request, u.count, u.n,
      w.tid, w.job_id, w.root_id, w.type, w.position + u."from" as position, w.place + u."from" as place, w.attempt, w.priority, w.keyed,
      w.heartbeat_interval_ms, w.max_failures_per_item, u."from" + u.count < w.count as has_rest, i.payloads, i.bytes, w.ready_at, w.lost,
      w.count as entry_count, w.bytes as entry_bytes,
      p_starts[u.request] - (sum(u.count) over (partition by u.request order by u.n) - u.count)::integer as starts
    from wanted w
    cross join lateral unnest(w.froms, w.counts, w.requests, w.ns) u("from", count, request, n)
    cross join lateral (
      select string_agg(i.payload::text, E'\x1e') as payloads, sum(i.payload_bytes) as bytes
      from (
        select i.payload, i.payload_bytes from jobtree.job_item i
        where i.job_id = w.job_id and i.position >= w.position + u."from" and i.position < w.position + u."from" + u.count
        order by i.position
      ) i
    ) i
    where w.cancelled_at is null
  ), rest as (
    insert into jobtree.queue_entry (job_id, position, place, bytes, attempt, count, priority, type, keyed, ready_at, lost)
    select p.job_id, max(p.position + p.count), max(p.place + p.count), greatest(p.entry_bytes - sum(p.bytes), 0), p.attempt,
      p.entry_count - sum(p.count), p.priority, p.type, p.keyed, p.ready_at, p.lost
    from part p
    group by p.tid, p.job_id, p.entry_bytes, p.attempt, p.entry_count, p.priority, p.type, p.keyed, p.ready_at, p.lost
    having p.entry_count > sum(p.count)
  ), leased as (
    insert into jobtree.lease (
      id, job_id, claim_id, position, claimed_at, heartbeat_at, check_at, attempt, count, priority, open, worker, keyed, waiting, lost,
      limited_type
    )
    select p.id, p.job_id, p_claim_ids[p.request], p.position, v_now, v_now,
      v_now + 3 * p.heartbeat_interval_ms * interval '1 millisecond', p.attempt, p.count, p.priority,
      (~B'0'::bit(128)) << (128 - p.count), p_workers[p.request], p.keyed,
      jobtree.waiting_bits(p.count, p.starts, p.lost), p.lost, case when p.type = any (p_limited_types) then p.type end
    from part p
  ), ended as (
    insert into jobtree.cancellation (job_id, position, count, cancelled_at)
    select w.job_id, w.position, w.count, w.cancelled_at from wanted w where w.cancelled_at is not null
  ), counted as (
    insert into jobtree.progress_delta (root_id, job_id, started, cancelled)
    select w.root_id, w.job_id, bool_or(w.cancelled_at is null), coalesce(sum(w.count) filter (where w.cancelled_at is not null), 0)
    from wanted w
    where w.cancelled_at is not null or w.started_at is null
    group by w.root_id, w.job_id
  ), freed as (
    -- Leaves the keys to promote_blocked, as free_keys can.
    insert into jobtree.ended_head (job_id, position, key, held)
    select i.job_id, i.position, i.serialize_key, false
    from wanted w
    join jobtree.job_item i on i.job_id = w.job_id and i.position >= w.position and i.position < w.position + w.count
    where w.keyed and w.cancelled_at is not null
    on conflict on constraint ended_head_pkey do nothing
  )
  select p.id, p.request, p.job_id, p.root_id, p.type, p.position, p.attempt, p_workers[p.request], p.heartbeat_interval_ms,
    v_now::timestamptz, v_now + 3 * p.heartbeat_interval_ms * interval '1 millisecond', p.priority, p.place,
    p.has_rest, null::integer[], p.payloads, p.ready_at::timestamptz,
    case when p.attempt > p.max_failures_per_item then
      jobtree.last_attempts(p.job_id, p.position, p.count, p.attempt, p.max_failures_per_item)
    end, p.keyed, p.lost, p_kind
  from part p
  order by p.n;
end
$$;
