-- Returns the leases of an earlier claim again, to a caller that never received the answer: those of their items that are not finished.
-- Counts as a heartbeat, since the worker is alive.
--
-- returns    as lease_entries, in the order of their ids, each with the numbers of its open items
-- locks      the claim's leases, in the order of their ids
-- errors     JT002 the claim was another worker's
create or replace function jobtree.repeat_claim(p_claim_id uuid, p_worker text)
returns setof jobtree.claimed_lease
language plpgsql volatile
-- plans: no seqscan, bitmapscan, hashjoin, mergejoin; generic
as $$
declare
  -- With the precision of the columns.
  v_now constant timestamptz(3) := clock_timestamp();
  v_ids uuid[];
begin
  select array_agg(l.id) into v_ids
  from (
    select l.id from jobtree.lease l
    where l.claim_id = p_claim_id
      and l.id between (left(p_claim_id::text, 19) || '0000-000000000000')::uuid
        and (left(p_claim_id::text, 19) || 'ffff-ffffffffffff')::uuid
    order by l.id
    for no key update
  ) l;
  if exists (select from jobtree.lease l where l.id = any (v_ids) and l.worker <> p_worker) then
    raise exception 'claimId belongs to a claim of another worker.' using errcode = 'JT002', column = 'claimId';
  end if;

  return query
  with kept as (
    update jobtree.lease l
    set heartbeat_at = v_now, deadlines = null
    from (
      select o.id, j.root_id, j.type, j.heartbeat_interval_ms, j.max_failures_per_item from jobtree.lease o
      cross join lateral (select j.* from jobtree.job j where j.id = o.job_id and j.cancelled_at is null offset 0) j
      where o.id = any (v_ids) and o.open <> B'0'::bit(128)
      offset 0
    ) j
    where l.id = j.id
    returning l.*, j.root_id, j.type, j.heartbeat_interval_ms, j.max_failures_per_item
  )
  select k.id, 1, k.job_id, k.root_id, k.type, k.position, k.attempt, k.worker, k.heartbeat_interval_ms,
    k.claimed_at::timestamptz, v_now + 3 * k.heartbeat_interval_ms * interval '1 millisecond', k.priority, null::bigint, false, i.numbers, i.payloads, null::timestamptz,
    case when k.attempt > k.max_failures_per_item then
      jobtree.last_attempts(k.job_id, k.position, k.count, k.attempt, k.max_failures_per_item)
    end, k.keyed, k.lost, 'REPEATED'
  from kept k
  cross join lateral (
    select array_agg(i.number order by i.number) as numbers, string_agg(i.payload::text, E'\x1e' order by i.number) as payloads
    from (
      select (i.position - k.position)::integer + 1 as number, i.payload from jobtree.job_item i
      where i.job_id = k.job_id and i.position >= k.position and i.position < k.position + k.count
    ) i
    where get_bit(k.open, i.number - 1) = 1
  ) i
  order by k.id;
end
$$;
