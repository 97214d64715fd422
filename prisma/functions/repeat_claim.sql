-- Gives the holds again that a claim got, for a caller that never saw the answer: those that are not finished. Counts as
-- a heartbeat, since the worker is there.
--
-- returns    as hold_entries has it, in the order in which they were given out, without positions: they left the queue
-- locks      the claim's assignments, in the order of their ids
-- errors     JT002 the claim was another worker's
create or replace function jobtree.repeat_claim(p_claim_id uuid, p_worker text)
returns table (
  job_id uuid, root_id uuid, type text, heartbeat_interval_ms integer, claimed_at timestamptz, deadline_at timestamptz,
  items json
)
language plpgsql volatile
set enable_seqscan = off
set enable_bitmapscan = off
set enable_hashjoin = off
set enable_mergejoin = off
set plan_cache_mode = force_generic_plan
as $$
declare
  -- As the columns keep it.
  v_now constant timestamptz(3) := clock_timestamp();
  v_ids uuid[];
  v_open uuid[];
begin
  select array_agg(c) into v_ids from jobtree.claimed_ids(p_claim_id) c;
  if exists (select from jobtree.assignment a where a.id = any (v_ids) and a.worker <> p_worker) then
    raise exception 'claimId belongs to a claim of another worker.' using errcode = 'JT002', column = 'claimId';
  end if;
  select array_agg(l.id) filter (where l.finished_at is null) into v_open
  from (
    select a.id, a.finished_at from jobtree.assignment a where a.id = any (v_ids) order by a.id for no key update
  ) l;

  return query
  with kept as (
    update jobtree.assignment a
    set heartbeat_at = v_now, deadline_at = v_now + 3 * j.heartbeat_interval_ms * interval '1 millisecond'
    from jobtree.job j
    where a.id = any (v_open) and j.id = a.job_id
    returning a.*, j.type, j.heartbeat_interval_ms
  )
  select k.job_id, k.root_id, k.type, k.heartbeat_interval_ms, k.claimed_at, k.deadline_at,
    json_build_object(
      'n', array_agg(k.n), 'id', array_agg(k.id), 'itemId', array_agg(k.item_id), 'attempt', array_agg(k.attempt),
      'payload', array_agg(i.payload)
    )
  from (select row_number() over (order by kept.id) as n, kept.* from kept) k
  join jobtree.job_item i on i.id = k.item_id
  group by k.job_id, k.root_id, k.type, k.heartbeat_interval_ms, k.claimed_at, k.deadline_at;
end
$$;
