-- Creates a tree of a schedule now, whatever else of it runs, is queued or paused. Its next occurrence does not change.
--
-- returns    the root, and how many items of each type are ready
-- locks      the schedule's row, exclusively, then those of create_job
-- errors     JT001 no such schedule; JT002 create_job rejects the template
create or replace function jobtree.run_schedule(p_name text)
returns table (root_id uuid, ready jsonb)
language plpgsql volatile
-- plans: no seqscan
as $$
declare
  v_schedule jobtree.schedule;
  v_root_id uuid;
  v_now constant timestamptz(3) := clock_timestamp();
begin
  select * into v_schedule from jobtree.schedule s where s.name = p_name for update;
  if not found then
    raise exception 'There is no schedule %.', p_name using errcode = 'JT001', column = 'name';
  end if;
  select c.job_id into v_root_id from jobtree.create_job(v_schedule.template) c;
  update jobtree.job j set schedule_name = p_name, occurrence_at = v_now where j.id = v_root_id;
  update jobtree.schedule s
  set open_root_ids = jobtree.open_roots(s.open_root_ids) || v_root_id, last_root_id = v_root_id, last_occurrence_at = v_now,
    failed_at = null, error = null
  where s.name = p_name;
  root_id := v_root_id;
  ready := jobtree.ready_items(array[v_root_id]);
  return next;
end
$$;
