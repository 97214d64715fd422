-- Looks whether a claim was carried out before, by a caller that never received the answer: the ids of its leases begin like its id, and they name
-- it. Then returns those of its items that are not finished again, which counts as a heartbeat, since the worker is alive. A repeat that arrives
-- while the claim is still in progress on another server waits for it.
--
-- p_claim_ids, p_workers   of a call's requests; the id is null for a request that can't be repeated
-- returns    the leases as lease_entries has them, in the order of their ids, each with the numbers of its open items; null if none was carried out
-- locks      an advisory lock for each id, in their order; then the claim's leases, in the order of their ids
-- errors     JT002 an id whose time is more than a day away, or the claim was another worker's; JT006 several claims, one of which is repeated
create or replace function jobtree.repeat_claim(p_claim_ids uuid[], p_workers text[])
returns jobtree.claimed_lease[]
language plpgsql volatile
-- plans: no seqscan, bitmapscan, hashjoin, mergejoin; generic
as $$
declare
  v_id uuid;
  v_locked boolean;
  v_leases uuid[];
  -- With the precision of the columns.
  v_now timestamptz(3);
  v_repeated jobtree.claimed_lease[];
begin
  if cardinality(p_claim_ids) > 1 then
    p_claim_ids := array(select distinct c from unnest(p_claim_ids) c order by c);
  end if;
  foreach v_id in array p_claim_ids loop
    continue when v_id is null;
    if abs(('x' || translate(left(v_id::text, 13), '-', ''))::bit(48)::bigint / 1000 - extract(epoch from clock_timestamp())) > 86400 then
      raise exception 'The time in claimId is more than a day away from that of the database.' using errcode = 'JT002', column = 'claimId';
    end if;
    v_locked := pg_advisory_xact_lock(hashtextextended(v_id::text, 0)) is null;
  end loop;
  select array_agg(l.id) into v_leases
  from unnest(p_claim_ids) c(id)
  cross join lateral (
    select l.id from jobtree.lease l
    where l.id between (left(c.id::text, 19) || '0000-000000000000')::uuid and (left(c.id::text, 19) || 'ffff-ffffffffffff')::uuid
      and l.claim_id = c.id
    order by l.id
    for no key update
  ) l;
  if v_leases is null then
    return null;
  elsif cardinality(p_claim_ids) > 1 then
    raise exception 'A repeated claim must be sent alone.' using errcode = 'JT006';
  elsif exists (select from jobtree.lease l where l.id = any (v_leases) and l.worker <> p_workers[1]) then
    raise exception 'claimId belongs to a claim of another worker.' using errcode = 'JT002', column = 'claimId';
  end if;

  v_now := clock_timestamp();
  with kept as (
    update jobtree.lease l
    set heartbeat_at = v_now, deadlines = null
    from (
      select o.id, j.root_id, j.type, j.heartbeat_interval_ms, j.max_failures_per_item from jobtree.lease o
      cross join lateral (select j.* from jobtree.job j where j.id = o.job_id and j.cancelled_at is null offset 0) j
      where o.id = any (v_leases) and o.open <> B'0'::bit(128)
      offset 0
    ) j
    where l.id = j.id
    returning l.*, j.root_id, j.type, j.heartbeat_interval_ms, j.max_failures_per_item
  )
  select coalesce(array_agg(row(
    k.id, 1, k.job_id, k.root_id, k.type, k.position, k.attempt, k.worker, k.heartbeat_interval_ms, k.claimed_at,
    v_now + 3 * k.heartbeat_interval_ms * interval '1 millisecond', k.priority, null, false, i.numbers, i.payloads, null,
    case when k.attempt > k.max_failures_per_item then
      jobtree.last_attempts(k.job_id, k.position, k.count, k.attempt, k.max_failures_per_item)
    end, k.keyed, k.lost, 'REPEATED'
  )::jobtree.claimed_lease order by k.id), '{}')
  into v_repeated
  from kept k
  cross join lateral (
    select array_agg(i.number order by i.number) as numbers, string_agg(i.payload::text, E'\x1e' order by i.number) as payloads
    from (
      select (i.position - k.position)::integer + 1 as number, i.payload from jobtree.job_item i
      where i.job_id = k.job_id and i.position >= k.position and i.position < k.position + k.count
    ) i
    where get_bit(k.open, i.number - 1) = 1
  ) i;
  return v_repeated;
end
$$;
