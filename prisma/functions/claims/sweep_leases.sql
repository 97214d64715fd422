-- Takes items back from workers that have fallen silent: in leases past their deadline, the attempts at items whose own deadline is
-- over fail with the code HEARTBEAT_LOST. Items that their worker had not started, as far as it told, are given back instead, which costs
-- no attempt. It may have started one just before it fell silent, without telling; so the next worker tells before it starts them. Call it
-- again at once as long as a batch was full.
--
-- Heartbeats change no index: a lease that got some is found at its first deadline, too, and then moves on to its present one.
--
-- p_resumed_at   what noteSweep returned: nothing is taken back until a full lease time after it
-- p_within   looks only at deadlines that passed within this time, past the dead rows of older leases; null for all, which is needed now
--            and then for leases that were locked or committed late. Soon after an outage all are examined, since they are long overdue
-- returns    how many attempts failed; how many leases were examined; the trees that changed; the types that got ready items by failed attempts, and how many;
--            of what was given back [type, priority, first place, how many items] for each type and priority; and figures, without times, and failures, as report_results returns them
-- locks      leases, skipping locked ones
create or replace function jobtree.sweep_leases(
  p_resumed_at timestamptz default '-infinity', p_limit integer default 1000, p_within interval default null
)
returns table (lost integer, leases integer, root_ids uuid[], ready jsonb, given_back json, figures json[], failed json[])
language plpgsql volatile
-- plans: no seqscan, bitmapscan, hashjoin, mergejoin; generic
as $$
declare
  v_now constant timestamptz(3) := clock_timestamp();
  v_from constant timestamptz := case
    when p_within is null or p_resumed_at > v_now - interval '5 minutes' then '-infinity' else v_now - p_within
  end;
  v_leases uuid[];
  v_lost_leases uuid[];
  v_numbers integer[];
  v_waiting uuid[];
  v_given_back json;
begin
  select array_agg(k.id) into v_leases
  from (
    select l.id from jobtree.lease l
    cross join lateral (
      select j.heartbeat_interval_ms from jobtree.job j where j.id = l.job_id and j.cancelled_at is null offset 0
    ) j
    where l.check_at >= v_from and l.check_at <= v_now and p_resumed_at + 3 * j.heartbeat_interval_ms * interval '1 millisecond' <= v_now
    order by l.check_at
    limit p_limit
    for update of l skip locked
  ) k;
  if v_leases is null then
    return query select 0, 0, null::uuid[], null::jsonb, null::json, null::json[], null::json[];
    return;
  end if;

  with due as materialized (
    select l.id, n, coalesce(l.deadlines[n], l.heartbeat_at + 3 * j.heartbeat_interval_ms * interval '1 millisecond') as deadline,
      coalesce(get_bit(l.waiting, n - 1) = 1, false) as waits
    from jobtree.lease l
    cross join lateral (select j.heartbeat_interval_ms from jobtree.job j where j.id = l.job_id offset 0) j
    cross join lateral generate_series(1, l.count) n
    where l.id = any (v_leases) and get_bit(l.open, n - 1) = 1
  ), moved as (
    update jobtree.lease l set check_at = d.next
    from (select d.id, min(d.deadline) as next from due d where d.deadline > v_now group by d.id) d
    where l.id = d.id
  )
  select array_agg(d.id order by d.id, d.n) filter (where not d.waits), array_agg(d.n order by d.id, d.n) filter (where not d.waits),
    array_agg(jobtree.assignment_id(d.id, d.n)) filter (where d.waits)
  into v_lost_leases, v_numbers, v_waiting
  from due d
  where d.deadline <= v_now;
  if v_waiting is not null then
    select json_agg(json_build_array(b.type, b.priority, b.place, b.count)) into v_given_back
    from (
      select r.type, r.priority, min(r.place) as place, count(*) as count
      from jobtree.release_assignments(v_waiting, true) r
      where r.status = 'RELEASED'
      group by r.type, r.priority
    ) b;
  end if;

  -- No item is lost if all leases have moved on, or the silent items were reported meanwhile.
  return query
    select coalesce(cardinality(f.accepted), 0), cardinality(v_leases), f.root_ids, f.ready, v_given_back, f.figures, f.failed
    from (select) o
    left join jobtree.fail_attempts(
      v_lost_leases, v_numbers,
      array_fill('{"code": "HEARTBEAT_LOST", "message": "The worker''s heartbeat was lost."}'::json, array[coalesce(cardinality(v_numbers), 0)]),
      true
    ) f on true;
end
$$;
