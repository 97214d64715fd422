-- Turns queue entries into assignments. The second half of claim_items and claim_item.
--
-- p_tids     where the entries are: rows that this transaction has locked
-- p_workers  who gets them, in the same order
-- returns    the assignments with what a worker needs to know, in the order of p_tids
-- locks      none new; deletes the entries, inserts assignments, and a delta for a job that had not started
create or replace function jobtree.hold_entries(p_tids tid[], p_workers text[])
returns table (
  id uuid, item_id uuid, job_id uuid, root_id uuid, type text, priority smallint, "position" bigint, payload jsonb,
  attempt integer, worker text, claimed_at timestamptz, deadline_at timestamptz, heartbeat_interval_ms integer
)
language plpgsql volatile
set enable_seqscan = off
set enable_hashjoin = off
set enable_mergejoin = off
as $$
declare
  v_now constant timestamptz := clock_timestamp();
begin
  return query
  with taken as (
    delete from jobtree.queue_entry q
    using unnest(p_tids, p_workers) with ordinality p(tid, worker, n)
    where q.ctid = p.tid
    returning q.item_id, q.job_id, q.root_id, q.type, q.priority, q.position, q.attempt, p.worker, p.n
  ), held as materialized (
    select jobtree.new_id() as id, t.*, j.heartbeat_interval_ms as interval_ms,
      v_now + 3 * j.heartbeat_interval_ms * interval '1 millisecond' as deadline
    from taken t
    join jobtree.job j on j.id = t.job_id
  ), assigned as (
    insert into jobtree.assignment (
      id, root_id, job_id, item_id, held_item_id, attempt, worker, claimed_at, heartbeat_at, deadline_at
    )
    select h.id, h.root_id, h.job_id, h.item_id, h.item_id, h.attempt, h.worker, v_now, v_now, h.deadline
    from held h
  ), started as (
    insert into jobtree.progress_delta (root_id, job_id, started)
    select distinct h.root_id, h.job_id, true
    from held h
    join jobtree.job_progress p on p.job_id = h.job_id
    where p.started_at is null
  )
  select h.id, h.item_id, h.job_id, h.root_id, h.type, h.priority, h.position, i.payload, h.attempt, h.worker,
    v_now, h.deadline, h.interval_ms
  from held h
  join jobtree.job_item i on i.id = h.item_id
  order by h.n;
end
$$;
