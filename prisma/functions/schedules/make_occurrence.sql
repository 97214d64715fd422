-- Creates the tree of an occurrence, and records it in the given schedule. If create_job no longer accepts the template, that is recorded
-- instead, and affects no other occurrence or schedule.
--
-- p_schedule the row, locked by the caller, who writes it back
-- p_at       the occurrence
-- returns    the row with the outcome: last_root_id, open_root_ids, last_occurrence_at; or failed_at and error
-- locks      those of create_job
-- errors     whatever may pass when it is tried again: a lock, a full disk, the end of the session
create or replace function jobtree.make_occurrence(p_schedule jobtree.schedule, p_at timestamptz)
returns jobtree.schedule
language plpgsql volatile
-- plans: no seqscan
as $$
declare
  v_root_id uuid;
begin
  begin
    select c.job_id into v_root_id from jobtree.create_job(p_schedule.template) c;
    update jobtree.job j set schedule_name = p_schedule.name, occurrence_at = p_at where j.id = v_root_id;
  exception when others then
    if left(sqlstate, 2) in ('08', '25', '40', '53', '55', '57', '58', 'XX') then
      raise;
    end if;
    p_schedule.failed_at := p_at;
    p_schedule.error := left(sqlerrm, 1000);
    return p_schedule;
  end;
  p_schedule.last_root_id := v_root_id;
  p_schedule.last_occurrence_at := p_at;
  p_schedule.open_root_ids := p_schedule.open_root_ids || v_root_id;
  p_schedule.failed_at := null;
  p_schedule.error := null;
  return p_schedule;
end
$$;
