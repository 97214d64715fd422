-- Ends attempts that failed: stores the failure, and puts the item back into the queue, to wait for the time given in the failure or for its
-- backoff; or fails the item for good, if the failure is permanent or the item has failed more than maxFailuresPerItem times. Failures and
-- the steps of the backoff count from when the item was added or replayed. The first and the last twenty failures of an item are kept.
-- A snoozed item is put back, too, but that is not a failure: its next attempt has the number of this one, and nothing remains of it but the
-- lease, for a while (prune_leases).
-- A worker that dies loses all its items, and only one of them may be the cause. So an item that is lost in its last attempt becomes a
-- suspect: it is tried up to three times more, alone, and fails for good if it is lost each time. Not if maxFailuresPerItem is 0: such an item
-- must not be repeated.
--
-- p_lease_ids, p_numbers   assignments, each once
-- p_failures what went wrong, in the same order: {code, message, permanent?, retryAfterMs?, stack?}, or {snoozeMs}
-- p_lost     whether the attempts failed because their heartbeats stopped
-- p_ns       an index for each; null for 1 and so on
-- returns    among others the indexes of what counted, and when the item of each is due again: null if it is not
-- locks      leases in the order of their ids, skipping locked ones, whose failures don't count, nor do those of items that are not open;
--            then those of promote_next
create or replace function jobtree.fail_attempts(
  p_lease_ids uuid[], p_numbers integer[], p_failures json[], p_lost boolean, p_ns integer[] default null
)
returns jobtree.ended_attempts
language plpgsql volatile
-- plans: no seqscan, mergejoin, bitmapscan, material; generic
-- Unlike in sweep_leases, which calls it: or each assignment would be compared with each lease.
set enable_hashjoin = on
as $$
declare
  v_now constant timestamptz(3) := clock_timestamp();
  v_ended record;
  v_freed jsonb;
begin
  with locked as materialized (
    -- The same draw for all items of a lease, so that items that fail together wait together.
    select l.id, l.job_id, l.position, l.open, l.attempt, l.priority, l.worker, l.keyed, l.claimed_at, j.*, random() as draw from jobtree.lease l
    cross join lateral (
      select j.root_id, j.type, j.max_failures_per_item, j.backoff_ms, j.backoff_jitter
      from jobtree.job j where j.id = l.job_id and j.cancelled_at is null offset 0
    ) j
    where l.id = any (p_lease_ids)
    order by l.id
    for update of l skip locked
  ), ended as materialized (
    select k.*, k.position + u.number - 1 as item, u.number, coalesce(p_ns[u.n], u.n::integer) as n,
      u.failure ->> 'code' as code, u.failure ->> 'message' as message, u.failure ->> 'stack' as stack, s.is_snoozed,
      not s.is_snoozed and (coalesce((u.failure ->> 'permanent')::boolean, false)
        or s.tries > k.max_failures_per_item + case when p_lost and k.max_failures_per_item > 0 then 3 else 0 end) as is_final,
      (v_now + interval '1 millisecond' * coalesce(
        coalesce(u.failure ->> 'snoozeMs', u.failure ->> 'retryAfterMs')::double precision,
        (1 + k.backoff_jitter * k.draw) * coalesce(k.backoff_ms[least(s.tries, cardinality(k.backoff_ms))], 0)
      ))::timestamptz(3) as due_at
    from unnest(p_lease_ids, p_numbers, p_failures) with ordinality u(lease_id, number, failure, n)
    join locked k on k.id = u.lease_id
    cross join lateral (
      -- An item on its first attempt was never replayed.
      select u.failure ->> 'snoozeMs' is not null as is_snoozed, k.attempt - coalesce(case when k.attempt > 1 then (
        select r.attempt from jobtree.replay r where r.job_id = k.job_id and r.position = k.position + u.number - 1
      ) end, 0) as tries
      offset 0
    ) s
    where case when u.number > 0 then get_bit(k.open, u.number - 1) = 1 end
  ), closed as (
    update jobtree.lease l
    set open = l.open # e.bits, check_at = case when l.open <> e.bits then l.check_at end
    from (select d.id, bit_or(jobtree.bit_at(d.number)) as bits from ended d group by d.id) e
    -- As in succeed_attempts.
    where l.id = any (array[e.id])
  ), kept as (
    insert into jobtree.failure (job_id, position, attempt, lease_id, at, retry_at, lost, code, message, worker, stack)
    select e.job_id, e.item, e.attempt, e.id, v_now, case when not e.is_final then e.due_at end, p_lost, e.code, e.message, e.worker, e.stack
    from ended e where not e.is_snoozed
  )
  select array_agg(distinct e.root_id) filter (where not e.is_snoozed) as root_ids,
    jobtree.count_names(array_agg(e.type) filter (where not e.is_final and e.due_at <= v_now)) as ready,
    array_agg(e.n) as ns, array_agg(case when not e.is_final then e.due_at end) as due,
    array_agg(e.job_id) filter (where not e.is_final) as job_ids, array_agg(e.item) filter (where not e.is_final) as positions,
    array_agg(e.attempt + (not e.is_snoozed)::integer) filter (where not e.is_final) as attempts, array_agg(e.priority) filter (where not e.is_final) as priorities,
    array_agg(case when e.due_at > v_now then e.due_at end) filter (where not e.is_final) as waits,
    array_agg(e.job_id) filter (where e.is_final) as final_job_ids, array_agg(e.item) filter (where e.is_final) as final_positions,
    array_agg(e.id) filter (where e.is_final) as final_lease_ids,
    array_agg(e.code) filter (where e.is_final) as final_codes, array_agg(e.message) filter (where e.is_final) as final_messages,
    bool_or(e.keyed) filter (where e.is_final) as keyed, max(e.attempt) > 40 as is_late, bool_or(e.is_snoozed) as is_snoozed,
    (
      select array_agg(jobtree.figure_of(t.type, case when not p_lost then v_now - t.claimed_at end, 0, t.failed, t.dead))
      from (
        select e.type, e.claimed_at, count(*) as failed, count(*) filter (where e.is_final) as dead
        from ended e where not e.is_snoozed group by e.type, e.claimed_at
      ) t
    ) as figures,
    (
      select array_agg(json_build_array(
        t.type, t.job_id, t.item, t.attempt, t.worker, t.code, left(t.message, 1000), case when not t.is_final then t.due_at end, t.count
      ))
      from (
        select distinct on (e.job_id, e.code, e.is_final) e.*, count(*) over (partition by e.job_id, e.code, e.is_final) as count
        from ended e where not e.is_snoozed order by e.job_id, e.code, e.is_final, e.item
      ) t
    ) as failed
  into v_ended
  from ended e;

  if v_ended.final_lease_ids is not null then
    v_freed := jobtree.bury_items(
      v_ended.final_job_ids, v_ended.final_positions, v_ended.final_lease_ids, v_ended.final_codes, v_ended.final_messages, v_ended.keyed
    );
  end if;
  if v_ended.is_late then
    perform jobtree.prune_failures(p_lease_ids, p_numbers);
  end if;
  if v_ended.is_late or v_ended.is_snoozed then
    perform jobtree.prune_leases(p_lease_ids);
  end if;
  if v_ended.positions is not null then
    perform jobtree.requeue(v_ended.job_ids, v_ended.positions, v_ended.attempts, v_ended.priorities, v_ended.waits, true,
      case when p_lost then array_fill(true, array[cardinality(v_ended.positions)]) end);
  end if;
  return row(
    v_ended.root_ids, jobtree.add_up(v_ended.ready, v_freed), cardinality(v_ended.ns), v_ended.ns, v_ended.due, v_ended.figures, v_ended.failed
  )::jobtree.ended_attempts;
end
$$;
