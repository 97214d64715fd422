-- Ends failed attempts: stores the failure, and puts the item back into the queue, to wait for the time given in the failure or for its
-- backoff; or fails the item for good, if the failure is permanent or the item has failed more than maxFailuresPerItem times. Failures and
-- the steps of the backoff count from when the item was added or replayed. The first and the last twenty failures of an item are kept.
-- A worker that dies loses all its items, and only one of them may be the cause. So an item that is lost in its last attempt becomes a
-- suspect: it is tried up to three times more, alone, and fails for good if it is lost each time. Not if maxFailuresPerItem is 0: such an item
-- must not be repeated.
--
-- p_lease_ids, p_numbers   assignments, each once
-- p_failures what went wrong, in the same order: {code, message, permanent?, retryAfterMs?, stack?}
-- p_lost     whether the attempts failed because their heartbeats stopped
-- returns    the trees; the types that got ready items, by a retry or because a serialize key was freed, and how many; which failures
--            counted, from 1, and when the item of each of these is due again: null if it is not; and figures and failures, as
--            report_results returns them
-- locks      leases in the order of their ids, skipping locked ones, whose failures don't count, nor do those of items that are not open;
--            then those of promote_next
create or replace function jobtree.fail_attempts(p_lease_ids uuid[], p_numbers integer[], p_failures json[], p_lost boolean)
returns table (root_ids uuid[], ready jsonb, accepted integer[], retries timestamptz[], figures json[], failed json[])
language plpgsql volatile
-- plans: no seqscan, hashjoin, mergejoin, bitmapscan, material; generic
as $$
declare
  v_now constant timestamptz(3) := clock_timestamp();
  v_ended record;
  v_freed jsonb;
begin
  if p_lease_ids is null then
    return;
  end if;

  with ended as materialized (
    select u.lease_id, u.number, u.n, l.job_id, l.position + u.number - 1 as position, l.attempt, l.priority, l.worker, l.keyed, l.claimed_at, l.root_id, l.type,
      u.failure ->> 'code' as code, u.failure ->> 'message' as message, u.failure ->> 'stack' as stack,
      coalesce((u.failure ->> 'permanent')::boolean, false)
        or a.tries > l.max_failures_per_item + case when p_lost and l.max_failures_per_item > 0 then 3 else 0 end as is_final,
      -- The same jitter for all items of a lease, so that items that fail together wait together.
      (v_now + interval '1 millisecond' * coalesce(
        (u.failure ->> 'retryAfterMs')::double precision,
        (1 + l.backoff_jitter * l.draw) * coalesce(l.backoff_ms[least(a.tries, cardinality(l.backoff_ms))], 0)
      ))::timestamptz(3) as due_at
    from (
      select u.lease_id, array_agg(u.number) as numbers, array_agg(u.failure) as failures, array_agg(u.n) as ns, random() as draw
      from unnest(p_lease_ids, p_numbers, p_failures) with ordinality u(lease_id, number, failure, n)
      group by u.lease_id
      order by u.lease_id
    ) g
    cross join lateral (
      select l.*, g.draw, j.root_id, j.type, j.max_failures_per_item, j.backoff_ms, j.backoff_jitter from jobtree.lease l
      cross join lateral (select j.* from jobtree.job j where j.id = l.job_id and j.cancelled_at is null offset 0) j
      where l.id = g.lease_id
      for update of l skip locked
    ) l
    cross join lateral (
      select l.id as lease_id, u.* from unnest(g.numbers, g.failures, g.ns) u(number, failure, n)
      where case when u.number > 0 then get_bit(l.open, u.number - 1) = 1 end
    ) u
    cross join lateral (
      -- An item on its first attempt was never replayed.
      select l.attempt - case
        when l.attempt > 1 then coalesce((
          select r.attempt from jobtree.replay r where r.job_id = l.job_id and r.position = l.position + u.number - 1
        ), 0)
        else 0
      end as tries
      offset 0
    ) a
  ), closed as (
    update jobtree.lease l
    set open = l.open # e.bits, check_at = case when l.open <> e.bits then l.check_at end
    from (select d.lease_id, bit_or(jobtree.bit_at(d.number)) as bits from ended d group by d.lease_id) e
    where l.id = e.lease_id
  ), kept as (
    insert into jobtree.failure (job_id, position, attempt, lease_id, at, retry_at, lost, code, message, worker, stack)
    select e.job_id, e.position, e.attempt, e.lease_id, v_now, case when not e.is_final then e.due_at end, p_lost, e.code, e.message, e.worker, e.stack
    from ended e
  )
  select array_agg(distinct e.root_id) as root_ids,
    jobtree.count_names(array_agg(e.type) filter (where not e.is_final and e.due_at <= v_now)) as ready,
    coalesce(array_agg(e.n::integer order by e.n), '{}') as ns, array_agg(case when not e.is_final then e.due_at end order by e.n) as due,
    array_agg(e.job_id) filter (where not e.is_final) as job_ids, array_agg(e.position) filter (where not e.is_final) as positions,
    array_agg(e.attempt + 1) filter (where not e.is_final) as attempts, array_agg(e.priority) filter (where not e.is_final) as priorities,
    array_agg(case when e.due_at > v_now then e.due_at end) filter (where not e.is_final) as waits,
    array_agg(e.job_id) filter (where e.is_final) as final_job_ids, array_agg(e.position) filter (where e.is_final) as final_positions,
    array_agg(e.lease_id) filter (where e.is_final) as final_lease_ids,
    array_agg(e.code) filter (where e.is_final) as final_codes, array_agg(e.message) filter (where e.is_final) as final_messages,
    bool_or(e.keyed) filter (where e.is_final) as keyed,
    max(e.attempt) as last_attempt,
    (
      select array_agg(t.figure)
      from (
        select jobtree.figure_of(e.type, case when not p_lost then v_now - e.claimed_at end, 0, count(*), count(*) filter (where e.is_final)) as figure
        from ended e
        group by e.type, e.claimed_at
      ) t
    ) as figures,
    (
      select array_agg(t.failed)
      from (
        select distinct on (e.job_id, e.code, e.is_final)
          json_build_array(
            e.type, e.job_id, e.position, e.attempt, e.worker, e.code, left(e.message, 1000), case when not e.is_final then e.due_at end,
            count(*) over (partition by e.job_id, e.code, e.is_final)
          ) as failed
        from ended e
        order by e.job_id, e.code, e.is_final, e.position
      ) t
    ) as failed
  into v_ended
  from ended e;

  if v_ended.final_lease_ids is not null then
    v_freed := jobtree.bury_items(
      v_ended.final_job_ids, v_ended.final_positions, v_ended.final_lease_ids, v_ended.final_codes, v_ended.final_messages, v_ended.keyed
    );
  end if;
  if v_ended.last_attempt > 40 then
    delete from jobtree.failure f where f.ctid = any (array(
      select o.tid from unnest(p_lease_ids, p_numbers) with ordinality u(lease_id, number, n)
      cross join lateral (select l.* from jobtree.lease l where l.id = u.lease_id and l.attempt > 40 offset 0) l
      cross join lateral (
        select f.ctid as tid from jobtree.failure f
        where f.job_id = l.job_id and f.position = l.position + u.number - 1 and f.attempt = l.attempt - 20
        offset 0
      ) o
      where u.n = any (v_ended.ns)
    ));
    perform jobtree.prune_leases(p_lease_ids);
  end if;
  if v_ended.positions is not null then
    perform jobtree.requeue(v_ended.job_ids, v_ended.positions, v_ended.attempts, v_ended.priorities, v_ended.waits, true,
      case when p_lost then array_fill(true, array[cardinality(v_ended.positions)]) end);
  end if;
  return query select v_ended.root_ids, jobtree.add_up(v_ended.ready, v_freed), v_ended.ns, v_ended.due, v_ended.figures, v_ended.failed;
end
$$;
