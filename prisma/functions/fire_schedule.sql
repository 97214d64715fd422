-- Makes the trees of a schedule's due occurrences, and moves it on to its next one, in one transaction: that is what makes each occurrence
-- once, however many servers try. An occurrence while an earlier tree runs is made, left out or queued, as the schedule says.
--
-- p_expected     the next occurrence as the caller read it: if it is another one by now, somebody else was here
-- p_occurrences  which to make, in their order; those due before them are missed, and stay out
-- p_next_at      the next occurrence from then on; null if there is none or it can't be worked out, and then the schedule is paused
-- p_error        why it can't be worked out
-- p_refusal      why none of them is made: then they have failed; null to make them
-- returns        the new roots, and how many items of each type are ready; no row if it is not due, or somebody else is at it
-- locks          the schedule's row, skipping it if somebody has it, then those of create_job
create or replace function jobtree.fire_schedule(
  p_name text, p_expected timestamptz, p_occurrences timestamptz[], p_next_at timestamptz, p_error text default null,
  p_refusal text default null
)
returns table (root_ids uuid[], ready jsonb)
language plpgsql volatile
set enable_seqscan = off
-- For a stranger who has locked a serialize key: other schedules wait for this one.
set lock_timeout = '100ms'
set plan_cache_mode = force_generic_plan
as $$
declare
  v_schedule jobtree.schedule;
  v_at timestamptz(3);
begin
  select * into v_schedule from jobtree.schedule s
  where s.name = p_name and s.next_at = p_expected and s.next_at <= clock_timestamp()
  for update skip locked;
  if not found then
    return;
  end if;

  root_ids := '{}';
  v_schedule.open_root_ids := jobtree.open_roots(v_schedule.open_root_ids);
  if p_expected <> all (p_occurrences) then
    v_schedule.skipped_at := p_expected;
    v_schedule.skip_reason := 'MISSED';
  end if;
  foreach v_at in array p_occurrences loop
    if p_refusal is not null then
      v_schedule.failed_at := v_at;
      v_schedule.error := left(p_refusal, 1000);
    elsif v_schedule.overlap = 'ALLOW' or v_schedule.open_root_ids = '{}' and v_schedule.queued = '{}' then
      v_schedule := jobtree.make_occurrence(v_schedule, v_at);
      if v_schedule.failed_at is distinct from v_at then
        root_ids := root_ids || v_schedule.last_root_id;
      end if;
    elsif v_schedule.overlap = 'QUEUE' and cardinality(v_schedule.queued) < 100 then
      v_schedule.queued := v_schedule.queued || v_at;
    else
      v_schedule.skipped_at := v_at;
      v_schedule.skip_reason := case v_schedule.overlap when 'QUEUE' then 'QUEUE_FULL' else 'OVERLAP' end;
    end if;
  end loop;

  update jobtree.schedule s
  set next_at = p_next_at,
    paused_at = case when p_next_at is null then clock_timestamp() end,
    queued = v_schedule.queued, open_root_ids = v_schedule.open_root_ids, last_root_id = v_schedule.last_root_id,
    last_occurrence_at = v_schedule.last_occurrence_at, skipped_at = v_schedule.skipped_at, skip_reason = v_schedule.skip_reason,
    failed_at = case when p_error is null then v_schedule.failed_at else p_expected end,
    error = coalesce(left(p_error, 1000), v_schedule.error)
  where s.name = p_name;
  ready := jobtree.ready_items(root_ids);
  return next;
end
$$;
