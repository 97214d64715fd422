-- Turns one queue entry, or a part of it, into a lease. For claim_item, and for claim_items if one entry is enough, as for most claims: a
-- few small statements cost less than the large one of lease_entries.
--
-- p_tid      where the entry is: a row that this transaction has locked
-- p_from, p_count   the items: the first one in the entry, from 0, and how many
-- p_request, p_worker, p_claim_id, p_starts   whose lease it is; p_claim_id is null for a claim that can't be repeated;
--            and how many of its items it starts at once, as claim_items has it
-- p_kind     the kind of the row that it returns
-- p_is_limited   whether it counts against a concurrency limit (note_claims)
-- returns    as lease_entries; no row if the job was cancelled, in which case all items of the entry count as cancelled
-- locks      none new
create or replace function jobtree.lease_entry(
  p_tid tid, p_from integer, p_count integer, p_request integer, p_worker text, p_claim_id uuid, p_starts integer,
  p_kind text default null, p_is_limited boolean default false
)
returns setof jobtree.claimed_lease
language plpgsql volatile
-- plans: no seqscan, bitmapscan; generic
as $$
declare
  v_now constant timestamptz(3) := clock_timestamp();
  v_entry record;
  v_is_shortened boolean;
  v_job record;
  v_lease jobtree.claimed_lease;
begin
  -- The first part of a small entry is cut off in place; put_back handles all other rests.
  update jobtree.queue_entry q
  set position = q.position + p_count, place = q.place + p_count, count = q.count - p_count
  where q.ctid = p_tid and p_from = 0 and q.count > p_count and q.bytes <= 100000
  returning q.job_id, q.position - p_count as position, q.place - p_count as place, q.bytes, q.attempt, (q.count + p_count)::smallint as count,
    q.priority, q.type, q.keyed, q.run_at, q.ready_at, q.lost
  into v_entry;
  v_is_shortened := found;
  if not v_is_shortened then
    delete from jobtree.queue_entry q where q.ctid = p_tid returning * into v_entry;
  end if;
  select j.root_id, j.heartbeat_interval_ms, j.max_failures_per_item, j.cancelled_at, p.started_at into v_job
  from jobtree.job j
  join jobtree.job_progress p on p.job_id = j.id
  where j.id = v_entry.job_id
  order by p.version desc
  limit 1;
  if v_job.cancelled_at is not null then
    perform jobtree.cancel_ranges(array[v_entry.job_id], array[v_entry.position], array[v_entry.count::bigint], v_job.cancelled_at);
    if v_entry.keyed then
      perform jobtree.free_keys(array_fill(v_entry.job_id, array[v_entry.count]),
        array(select generate_series(v_entry.position, v_entry.position + v_entry.count - 1)), false);
    end if;
    if v_is_shortened then
      delete from jobtree.queue_entry q where q.job_id = v_entry.job_id and q.position = v_entry.position + p_count;
    end if;
    return;
  end if;
  if v_job.started_at is null then
    insert into jobtree.progress_delta (root_id, job_id, started) values (v_job.root_id, v_entry.job_id, true);
  end if;
  if p_count < v_entry.count and not v_is_shortened then
    perform jobtree.put_back(v_entry.job_id, v_entry.position, v_entry.place, v_entry.bytes, v_entry.attempt, v_entry.count,
      v_entry.priority, v_entry.type, v_entry.keyed, v_entry.ready_at, v_entry.lost, p_from, p_count);
  end if;

  v_lease := row(
    jobtree.new_lease_id(coalesce(p_claim_id, jobtree.new_id())), p_request, v_entry.job_id, v_job.root_id, v_entry.type,
    v_entry.position + p_from, v_entry.attempt, p_worker, v_job.heartbeat_interval_ms, v_now,
    v_now + 3 * v_job.heartbeat_interval_ms * interval '1 millisecond', v_entry.priority, v_entry.place + p_from,
    p_from + p_count < v_entry.count, null, null,
    -- An item that is due but not promoted has been ready since its run_at.
    coalesce(v_entry.run_at, v_entry.ready_at), case when v_entry.attempt > v_job.max_failures_per_item then
      jobtree.last_attempts(v_entry.job_id, v_entry.position + p_from, p_count, v_entry.attempt, v_job.max_failures_per_item)
    end, v_entry.keyed, v_entry.lost, p_kind
  )::jobtree.claimed_lease;
  insert into jobtree.lease (
    id, job_id, claim_id, position, claimed_at, heartbeat_at, check_at, attempt, count, priority, open, worker, keyed, waiting, lost,
    limited_type
  )
  values (
    v_lease.lease_id, v_entry.job_id, p_claim_id, v_lease.first_position, v_now, v_now, v_lease.deadline_at, v_entry.attempt, p_count,
    v_entry.priority, (~B'0'::bit(128)) << (128 - p_count), p_worker, v_entry.keyed,
    jobtree.waiting_bits(p_count, p_starts, v_entry.lost), v_entry.lost, case when p_is_limited then v_entry.type end
  );
  if p_count = 1 then
    select i.payload::text into v_lease.payloads from jobtree.job_item i where i.job_id = v_entry.job_id and i.position = v_lease.first_position;
    return next v_lease;
    return;
  end if;
  select string_agg(i.payload::text, E'\x1e') into v_lease.payloads
  from (
    select i.payload from jobtree.job_item i
    where i.job_id = v_entry.job_id and i.position >= v_lease.first_position and i.position < v_lease.first_position + p_count
    order by i.position
  ) i;
  return next v_lease;
end
$$;
