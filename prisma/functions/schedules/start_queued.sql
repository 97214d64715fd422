-- Creates the tree of the first occurrence that a schedule has queued, once all trees that it created before are complete.
--
-- returns    the new root, and how many items of each type are ready; no row if there is nothing to create yet, or another server is
--            working on it
-- locks      the schedule's row, once there is something to create, skipping it if locked; then those of create_job
create or replace function jobtree.start_queued(p_name text)
returns table (root_id uuid, ready jsonb)
language plpgsql volatile
-- plans: no seqscan
-- As fire_schedule.
set lock_timeout = '100ms'
set plan_cache_mode = force_generic_plan
as $$
declare
  v_schedule jobtree.schedule;
  v_at timestamptz(3);
begin
  -- Checked without a lock first: servers ask many times before there is something to create, and a lock is a write.
  if not exists (
    select from jobtree.schedule s
    where s.name = p_name and s.queued <> '{}' and s.paused_at is null and jobtree.open_roots(s.open_root_ids) = '{}'
  ) then
    return;
  end if;
  select * into v_schedule from jobtree.schedule s where s.name = p_name for update skip locked;
  if not found or v_schedule.queued = '{}' or v_schedule.paused_at is not null or jobtree.open_roots(v_schedule.open_root_ids) <> '{}' then
    return;
  end if;

  v_at := v_schedule.queued[1];
  v_schedule.open_root_ids := '{}';
  v_schedule := jobtree.make_occurrence(v_schedule, v_at);
  update jobtree.schedule s
  set queued = v_schedule.queued[2:], open_root_ids = v_schedule.open_root_ids, last_root_id = v_schedule.last_root_id,
    last_occurrence_at = v_schedule.last_occurrence_at, failed_at = v_schedule.failed_at, error = v_schedule.error
  where s.name = p_name;
  if v_schedule.failed_at is distinct from v_at then
    root_id := v_schedule.last_root_id;
    ready := jobtree.ready_items(array[root_id]);
    return next;
  end if;
end
$$;
