-- Creates the trees of a schedule's due occurrences and sets its next occurrence in one transaction, so that each occurrence is created
-- once, however many servers try. If an earlier tree still runs, the schedule decides whether an occurrence is created, skipped or queued.
-- If create_job no longer accepts the template, that is recorded, and affects no other occurrence or schedule.
-- Or creates the first occurrence that it has queued, once all trees that it created before are complete, or may run beside others by now.
--
-- p_expected     the next occurrence as the caller read it; if it has changed, another server was faster. Null for a queued one
-- p_occurrences  the occurrences to create, in order; earlier due ones are missed and left out
-- p_next_at      the next occurrence after these; null if there is none or it can't be computed, which pauses the schedule
-- p_error        why it can't be computed
-- p_refusal      why none of them is created, in which case they have failed; null to create them
-- returns        the new roots, and how many items of each type are ready; no row if there is nothing to create yet, or another server is
--                working on it
-- locks          the schedule's row, skipping it if locked, then those of create_job
-- errors         whatever may pass when it is tried again
create or replace function jobtree.fire_schedule(
  p_name text, p_expected timestamptz default null, p_occurrences timestamptz[] default null, p_next_at timestamptz default null,
  p_error text default null, p_refusal text default null
)
returns table (root_ids uuid[], ready jsonb)
language plpgsql volatile
-- plans: no seqscan
-- In case another client has locked a serialize key: other schedules wait for this one.
set lock_timeout = '100ms'
set plan_cache_mode = force_generic_plan
as $$
declare
  v_is_queued constant boolean := p_expected is null;
  v_schedule jobtree.schedule;
  v_at timestamptz(3);
  v_root_id uuid;
begin
  select * into v_schedule from jobtree.schedule s
  -- The server may have read long ago that a queued one may begin, and a lock is a write.
  where s.name = p_name and case when v_is_queued then s.queued <> '{}' and s.paused_at is null
      and (s.overlap = 'ALLOW' or jobtree.open_roots(s.open_root_ids) = '{}')
    else s.next_at = p_expected and s.next_at <= clock_timestamp() end
  for update skip locked;
  v_schedule.open_root_ids := jobtree.open_roots(v_schedule.open_root_ids);
  -- Another server may have begun one before the lock.
  if v_schedule.name is null or v_is_queued and v_schedule.overlap <> 'ALLOW' and v_schedule.open_root_ids <> '{}' then
    return;
  end if;

  root_ids := '{}';
  if v_is_queued then
    p_occurrences := v_schedule.queued[1:1];
    v_schedule.queued := v_schedule.queued[2:];
  elsif p_expected <> all (p_occurrences) then
    v_schedule.skipped_at := p_expected;
    v_schedule.skip_reason := 'MISSED';
  end if;
  foreach v_at in array p_occurrences loop
    if p_refusal is not null then
      v_schedule.failed_at := v_at;
      v_schedule.error := left(p_refusal, 1000);
    elsif v_is_queued or v_schedule.overlap = 'ALLOW' or v_schedule.open_root_ids = '{}' and v_schedule.queued = '{}' then
      begin
        select c.job_id into v_root_id from jobtree.create_job(v_schedule.template) c;
        update jobtree.job j set schedule_name = p_name, occurrence_at = v_at where j.id = v_root_id;
        v_schedule.last_root_id := v_root_id;
        v_schedule.last_occurrence_at := v_at;
        v_schedule.open_root_ids := v_schedule.open_root_ids || v_root_id;
        v_schedule.failed_at := null;
        v_schedule.error := null;
        root_ids := root_ids || v_root_id;
      exception when others then
        -- What may pass is tried again: a lock, a full disk, the end of the session.
        if left(sqlstate, 2) in ('08', '25', '40', '53', '55', '57', '58', 'XX') then
          raise;
        end if;
        v_schedule.failed_at := v_at;
        v_schedule.error := left(sqlerrm, 1000);
      end;
    elsif v_schedule.overlap = 'QUEUE' and cardinality(v_schedule.queued) < 100 then
      v_schedule.queued := v_schedule.queued || v_at;
    else
      v_schedule.skipped_at := v_at;
      v_schedule.skip_reason := case v_schedule.overlap when 'QUEUE' then 'QUEUE_FULL' else 'OVERLAP' end;
    end if;
  end loop;

  update jobtree.schedule s
  set next_at = case when v_is_queued then s.next_at else p_next_at end,
    paused_at = case when not v_is_queued and p_next_at is null then clock_timestamp() end,
    queued = v_schedule.queued, open_root_ids = v_schedule.open_root_ids, last_root_id = v_schedule.last_root_id,
    last_occurrence_at = v_schedule.last_occurrence_at, skipped_at = v_schedule.skipped_at, skip_reason = v_schedule.skip_reason,
    failed_at = case when p_error is null then v_schedule.failed_at else p_expected end,
    error = coalesce(left(p_error, 1000), v_schedule.error)
  where s.name = p_name;
  ready := jobtree.ready_items(root_ids);
  return next;
end
$$;
