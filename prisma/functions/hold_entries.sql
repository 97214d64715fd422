-- Turns queue entries into assignments. The second half of claim_items and claim_item.
--
-- p_tids     where the entries are: rows that this transaction has locked
-- p_workers  who gets them, in the same order
-- p_claim_ids, p_offsets
--            the claim that each belongs to, and what makes its place its number there: the two give the assignment's id
-- returns    a row for each job that they belong to; items has a list for each field, of which the entries with the same
--            index belong together: n (the place in p_tids, from 1), id (of the assignment), itemId, attempt, priority,
--            position and payload
-- locks      none new; deletes the entries, inserts assignments, and a delta for a job that had not started
create or replace function jobtree.hold_entries(p_tids tid[], p_workers text[], p_claim_ids uuid[], p_offsets integer[])
returns table (
  job_id uuid, root_id uuid, type text, heartbeat_interval_ms integer, claimed_at timestamptz, deadline_at timestamptz,
  items json
)
language plpgsql volatile
set enable_seqscan = off
set enable_bitmapscan = off
set enable_hashjoin = off
set enable_mergejoin = off
set enable_material = off
set plan_cache_mode = force_generic_plan
as $$
declare
  -- As the columns keep it.
  v_now constant timestamptz(3) := clock_timestamp();
begin
  return query
  with taken as (
    delete from jobtree.queue_entry q
    using unnest(p_tids, p_workers, p_claim_ids, p_offsets) with ordinality p(tid, worker, claim_id, "offset", n)
    where q.ctid = p.tid
    returning jobtree.assignment_id(p.claim_id, p.n + p."offset") as id, p.n, p.worker, q.*
  ), grouped as (
    select t.job_id, t.root_id, t.type, array_agg(t.n) as ns, array_agg(t.id) as ids, array_agg(t.item_id) as item_ids,
      array_agg(t.attempt) as attempts, array_agg(t.worker) as workers, array_agg(t.priority) as priorities,
      array_agg(t.position) as positions, array_agg(i.payload) as payloads
    from taken t
    join jobtree.job_item i on i.id = t.item_id
    group by t.job_id, t.root_id, t.type
  ), held as materialized (
    select g.*, j.heartbeat_interval_ms as interval_ms,
      v_now + 3 * j.heartbeat_interval_ms * interval '1 millisecond' as deadline
    from grouped g
    join jobtree.job j on j.id = g.job_id
  ), assigned as (
    insert into jobtree.assignment (
      id, root_id, job_id, item_id, held_item_id, attempt, worker, claimed_at, heartbeat_at, deadline_at
    )
    select u.id, h.root_id, h.job_id, u.item_id, u.item_id, u.attempt, u.worker, v_now, v_now, h.deadline
    from held h
    cross join lateral unnest(h.ids, h.item_ids, h.attempts, h.workers) u(id, item_id, attempt, worker)
  ), started as (
    insert into jobtree.progress_delta (root_id, job_id, started)
    select h.root_id, h.job_id, true
    from held h
    join jobtree.job_progress p on p.job_id = h.job_id
    where p.started_at is null
  )
  select h.job_id, h.root_id, h.type, h.interval_ms, v_now, h.deadline,
    json_build_object(
      'n', h.ns, 'id', h.ids, 'itemId', h.item_ids, 'attempt', h.attempts, 'priority', h.priorities,
      'position', h.positions, 'payload', h.payloads
    )
  from held h;
end
$$;
