-- Ends attempts that failed: the failure goes to the item, and the item back into the queue, to wait out its backoff,
-- or to the failed ones once it has failed more than maxFailuresPerItem times, or for good.
--
-- p_ids      unfinished assignments that this transaction has locked
-- p_failures what went wrong, in the same order: {code, message, permanent?}
-- p_outcome  'failed' for a worker's report, 'lost' for a hold that nobody kept up
-- returns    per assignment its type and when the item is due again: null if it is not
-- locks      the items, which belong to the assignments
create or replace function jobtree.fail_assignments(p_ids uuid[], p_failures jsonb[], p_outcome text)
returns table (assignment_id uuid, root_id uuid, type text, retry_at timestamptz)
language plpgsql volatile
set enable_seqscan = off
set enable_hashjoin = off
set enable_mergejoin = off
set enable_bitmapscan = off
set enable_material = off
set plan_cache_mode = force_generic_plan
as $$
#variable_conflict use_column
declare
  v_now constant timestamptz := clock_timestamp();
begin
  return query
  with ended as (
    update jobtree.assignment a
    set held_item_id = null, finished_at = v_now, outcome = p_outcome
    from unnest(p_ids, p_failures) g(id, failure)
    where a.id = g.id
    returning a.id, a.item_id, a.job_id, a.root_id, a.attempt, a.worker, g.failure
  ), judged as materialized (
    select e.*, j.type,
      coalesce((e.failure ->> 'permanent')::boolean, false) or e.attempt > j.max_failures_per_item as is_dead,
      v_now + (1 + j.backoff_jitter * random()) * interval '1 millisecond'
        * coalesce(j.backoff_ms[least(e.attempt, cardinality(j.backoff_ms))], 0) as due_at
    from ended e
    join jobtree.job j on j.id = e.job_id
  ), failed as (
    update jobtree.job_item i
    set failed_at = case when d.is_dead then v_now end,
      failures = i.failures || jsonb_build_object(
        'attempt', d.attempt, 'code', d.failure -> 'code', 'message', d.failure -> 'message',
        'worker', d.worker, 'at', v_now, 'assignmentId', d.id, 'retryAt', case when not d.is_dead then d.due_at end
      )
    from judged d
    where i.id = d.item_id
    returning i.id as item_id, i.priority, i.payload_bytes
  ), queued as (
    insert into jobtree.queue_entry (item_id, root_id, job_id, type, priority, position, run_at, attempt, payload_bytes)
    select d.item_id, d.root_id, d.job_id, d.type, f.priority, nextval('jobtree.job_item_position_seq'),
      case when d.due_at > v_now then d.due_at end, d.attempt + 1, f.payload_bytes
    from judged d
    join failed f on f.item_id = d.item_id
    where not d.is_dead
  ), counted as (
    insert into jobtree.progress_delta (root_id, job_id, failed)
    select d.root_id, d.job_id, count(*) from judged d where d.is_dead group by d.root_id, d.job_id
  )
  select d.id, d.root_id, d.type, case when not d.is_dead then d.due_at end from judged d;
end
$$;
