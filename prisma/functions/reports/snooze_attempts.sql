-- Gives items back to be tried later: each is scheduled, and its next attempt has the number of this one. It is not a failure, and nothing
-- remains of it but the lease, for a while (prune_leases).
--
-- p_lease_ids, p_numbers   assignments whose leases this transaction has locked, none twice
-- p_delays   how long each waits, in milliseconds
-- returns    which of them counted, from 1, and when each of these is due; those that are not open, or whose job is cancelled, don't count
-- locks      those of prune_leases
create or replace function jobtree.snooze_attempts(p_lease_ids uuid[], p_numbers integer[], p_delays bigint[])
returns table (accepted integer[], due_at timestamptz[])
language plpgsql volatile
-- plans: no seqscan, bitmapscan, hashjoin, mergejoin; generic
as $$
declare
  v_now constant timestamptz(3) := clock_timestamp();
  v_given record;
begin
  if p_lease_ids is null then
    return;
  end if;

  with given as materialized (
    select u.n::integer as n, l.id as lease_id, u.number, l.job_id, l.position + u.number - 1 as position, l.attempt, l.priority,
      v_now + u.delay * interval '1 millisecond' as due_at
    from unnest(p_lease_ids, p_numbers, p_delays) with ordinality u(lease_id, number, delay, n)
    join jobtree.lease l on l.id = u.lease_id
    join jobtree.job j on j.id = l.job_id
    where case when u.number > 0 then get_bit(l.open, u.number - 1) = 1 end and j.cancelled_at is null
  ), closed as (
    update jobtree.lease l
    set open = l.open # g.bits, check_at = case when l.open <> g.bits then l.check_at end
    from (select g.lease_id, bit_or(jobtree.bit_at(g.number)) as bits from given g group by g.lease_id) g
    where l.id = g.lease_id
  )
  select array_agg(g.n) as ns, array_agg(g.job_id) as job_ids, array_agg(g.position) as positions, array_agg(g.attempt) as attempts,
    array_agg(g.priority) as priorities, array_agg(g.due_at) as due
  into v_given
  from given g;

  perform jobtree.requeue(v_given.job_ids, v_given.positions, v_given.attempts, v_given.priorities, v_given.due, true);
  perform jobtree.prune_leases(p_lease_ids);
  return query select v_given.ns, v_given.due;
end
$$;
