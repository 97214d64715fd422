-- Ends attempts that failed: stores the failure, and puts the item back into the queue, to wait for the time given in the failure or for its
-- backoff; or fails the item for good, if the failure is permanent or the item has failed more than maxFailuresPerItem times. Failures and
-- the steps of the backoff count from when the item was added or replayed. The first and the last twenty failures of an item are kept.
-- A snoozed item is put back, too, but that is not a failure: its next attempt has the number of this one, and nothing remains of it but the
-- lease, for a while (prune_leases). It waits anew from the end of the snooze, and so does its lifetime.
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
    update jobtree.lease l set open = l.open # e.bits, check_at = case when l.open <> e.bits then l.check_at end
    from (select d.id, bit_or(jobtree.bit_at(d.number)) as bits from ended d group by d.id) e
    -- As in succeed_attempts.
    where l.id = any (array[e.id])
  ), kept as (
    insert into jobtree.failure (job_id, position, attempt, lease_id, at, retry_at, lost, code, message, worker, stack)
    select e.job_id, e.item, e.attempt, e.id, v_now, case when not e.is_final then e.due_at end, p_lost, e.code, e.message, e.worker, e.stack
    from ended e where not e.is_snoozed
  ), snoozed as (
    update jobtree.job_item i set run_at = e.due_at
    from ended e where e.is_snoozed and i.job_id = any (array[e.job_id]) and i.position = e.item
  )
  select array_agg(distinct e.root_id) filter (where not e.is_snoozed) as root_ids,
    jobtree.count_names(array_agg(e.type) filter (where not e.is_final and e.due_at <= v_now)) as ready,
    array_agg(e.n) as ns, array_agg(case when not e.is_final then e.due_at end) as due,
    array_agg(row(
      e.job_id, e.item, e.attempt + (not e.is_snoozed)::integer, e.priority, case when e.due_at > v_now then e.due_at end, p_lost
    )::jobtree.waiting_item) filter (where not e.is_final) as waiting,
    array_agg(row(e.job_id, e.item, e.id, e.code, e.message)::jobtree.dead_item) filter (where e.is_final) as dead,
    bool_or(e.keyed) filter (where e.is_final) as keyed, max(e.attempt) > 40 as is_late, bool_or(e.is_snoozed) as is_snoozed,
    (
      select array_agg(json_build_array(t.type, case when not p_lost then round(extract(epoch from v_now - t.claimed_at) * 1000) end, 0, t.failed, t.dead))
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

  if v_ended.dead is not null then
    v_freed := jobtree.bury_items(v_ended.dead, v_ended.keyed);
  end if;
  if v_ended.is_late then
    -- Of each item the failure that is no longer among the last twenty.
    delete from jobtree.failure f where f.ctid = any (array(
      select o.tid from unnest(p_lease_ids, p_numbers) u(lease_id, number)
      cross join lateral (select l.* from jobtree.lease l where l.id = u.lease_id and l.attempt > 40 offset 0) l
      cross join lateral (
        select o.ctid as tid from jobtree.failure n
        join jobtree.failure o on o.job_id = n.job_id and o.position = n.position and o.attempt = n.attempt - 20
        where n.job_id = l.job_id and n.position = l.position + u.number - 1 and n.attempt = l.attempt and n.lease_id = l.id
        limit 1
      ) o
    ));
  end if;
  if v_ended.is_late or v_ended.is_snoozed then
    perform jobtree.prune_leases(p_lease_ids);
  end if;
  if v_ended.waiting is not null then
    perform jobtree.requeue(v_ended.waiting, true);
  end if;
  return row(
    v_ended.root_ids, jobtree.add_up(v_ended.ready, v_freed), cardinality(v_ended.ns), v_ended.ns, v_ended.due, v_ended.figures, v_ended.failed
  )::jobtree.ended_attempts;
end
$$;
