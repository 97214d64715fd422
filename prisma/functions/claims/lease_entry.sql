-- Turns one pick into a lease. For claim_item, and for claim_items if one entry is enough, as for most claims: a few small statements cost less
-- than the large one of lease_entries.
--
-- p_pick     the items, of an entry that this transaction has locked
-- p_worker, p_claim_id, p_starts   whose lease it is; p_claim_id is null for a claim that can't be repeated; and how many items the request
--            starts at once, as claim_items has it
-- p_kind     the kind of the row that it returns
-- p_is_limited   whether it counts against a concurrency limit (note_claims)
-- returns    as lease_entries; null, and then the entry stays, if the job was cancelled
-- locks      none new
create or replace function jobtree.lease_entry(
  p_pick jobtree.claim_pick, p_worker text, p_claim_id uuid, p_starts integer, p_kind text, p_is_limited boolean
)
returns jobtree.claimed_lease
language plpgsql volatile
-- plans: no seqscan, bitmapscan; generic
as $$
declare
  v_now constant timestamptz(3) := clock_timestamp();
  v_entry record;
  v_lease jobtree.claimed_lease;
begin
  select q.*, j.root_id, j.heartbeat_interval_ms, j.max_failures_per_item, p.started_at into v_entry
  from jobtree.queue_entry q
  cross join lateral (select j.* from jobtree.job j where j.id = q.job_id and j.cancelled_at is null offset 0) j
  cross join lateral (
    select p.started_at from jobtree.job_progress p where p.job_id = q.job_id order by p.version desc limit 1
  ) p
  where q.ctid = p_pick.tid;
  if not found then
    return null;
  end if;
  -- The first part of a small entry is cut off in place; put_back_rest handles all other rests.
  if p_pick.first = 0 and p_pick.count < v_entry.count and v_entry.bytes <= 100000 then
    update jobtree.queue_entry q
    set position = q.position + p_pick.count, place = q.place + p_pick.count, count = q.count - p_pick.count
    where q.ctid = p_pick.tid;
  else
    delete from jobtree.queue_entry q where q.ctid = p_pick.tid;
    if p_pick.count < v_entry.count then
      perform jobtree.put_back_rest(array[row(
        v_entry.job_id, v_entry.position, v_entry.place, v_entry.bytes, null, v_entry.attempt, v_entry.count, v_entry.priority, v_entry.type,
        v_entry.keyed, v_entry.ready_at, v_entry.lost
      )::jobtree.queue_entry], array[((~B'0'::bit(128) << (128 - p_pick.count)) >> p_pick.first)::bit(128)]);
    end if;
  end if;
  if v_entry.started_at is null then
    insert into jobtree.progress_delta (root_id, job_id, started) values (v_entry.root_id, v_entry.job_id, true);
  end if;

  v_lease := row(
    jobtree.new_lease_id(coalesce(p_claim_id, jobtree.new_id())), p_pick.request, v_entry.job_id, v_entry.root_id, v_entry.type,
    v_entry.position + p_pick.first, v_entry.attempt, p_worker, v_entry.heartbeat_interval_ms, v_now,
    v_now + 3 * v_entry.heartbeat_interval_ms * interval '1 millisecond', v_entry.priority, v_entry.place + p_pick.first,
    p_pick.first + p_pick.count < v_entry.count, null, null,
    -- An item that is due but not promoted has been ready since its run_at.
    coalesce(v_entry.run_at, v_entry.ready_at), case when v_entry.attempt > v_entry.max_failures_per_item then
      jobtree.last_attempts(v_entry.job_id, v_entry.position + p_pick.first, p_pick.count, v_entry.attempt, v_entry.max_failures_per_item)
    end, v_entry.keyed, v_entry.lost, p_kind
  )::jobtree.claimed_lease;
  insert into jobtree.lease (
    id, job_id, claim_id, position, claimed_at, heartbeat_at, check_at, attempt, count, priority, open, worker, keyed, waiting, lost,
    limited_type
  )
  values (
    v_lease.lease_id, v_entry.job_id, p_claim_id, v_lease.first_position, v_now, v_now, v_lease.deadline_at, v_entry.attempt, p_pick.count,
    v_entry.priority, (~B'0'::bit(128)) << (128 - p_pick.count), p_worker, v_entry.keyed,
    jobtree.waiting_bits(p_pick.count, p_starts, v_entry.lost), v_entry.lost, case when p_is_limited then v_entry.type end
  );
  if p_pick.count = 1 then
    select i.payload::text into v_lease.payloads from jobtree.job_item i where i.job_id = v_entry.job_id and i.position = v_lease.first_position;
  else
    select string_agg(i.payload::text, E'\x1e') into v_lease.payloads
    from (
      select i.payload from jobtree.job_item i
      where i.job_id = v_entry.job_id and i.position >= v_lease.first_position and i.position < v_lease.first_position + p_pick.count
      order by i.position
    ) i;
  end if;
  return v_lease;
end
$$;
