-- The initial state of the operation that a filter describes, with how many items it selects, and in which jobs, if these are at most 10,000:
-- then it goes through no others. If it selects nothing, it has finished. What it reads depends on what its tenant has, or its types and jobs.
--
-- parameters   those of start_operation
-- returns    a row that is not in the table yet
-- errors     those of start_operation
create or replace function jobtree.operation_of(
  p_kind text, p_filter jsonb, p_payload json default null, p_requested_by text default null, p_payload_patch json default null
)
returns jobtree.operation
language plpgsql volatile
-- plans: no seqscan
as $$
declare
  v_filter constant jsonb := jsonb_strip_nulls(case jsonb_typeof(p_filter) when 'object' then p_filter else '{}' end);
  v_unknown constant text := (
    select min(k) from jsonb_object_keys(v_filter) k
    where k <> all (array['tenant', 'jobId', 'types', 'codes', 'dedupeKeys', 'items'] || case
      when p_kind in ('CANCEL', 'PROMOTE') then array['statuses', 'addedFrom', 'addedUntil']
      else array['groupIds', 'diedFrom', 'diedUntil']
    end)
  );
  v_empty constant text := (select min(e.key) from jsonb_each(v_filter) e where e.value = '[]');
  -- The field, and what is wrong with it.
  v_problem constant text[] := case
    when v_filter - 'tenant' = '{}' then array['filter', 'filter is empty, and would match everything: set at least one of its fields.']
    when v_unknown is not null then array['filter.' || v_unknown, format('filter has an unknown key: %s.', v_unknown)]
    when v_empty is not null then array['filter.' || v_empty, format('filter.%s is empty.', v_empty)]
    when p_kind is null or p_kind not in ('REPLAY', 'DISCARD', 'CANCEL', 'PROMOTE') then array['kind', 'kind must be REPLAY, DISCARD, CANCEL or PROMOTE.']
    when jsonb_path_exists(v_filter, '$.statuses[*] ? (!(@ == "WAITING" || @ == "BLOCKED" || @ == "SCHEDULED" || @ == "RETRYING" || @ == "READY" || @ == "RUNNING"))')
      then array['filter.statuses', 'filter.statuses must be WAITING, BLOCKED, SCHEDULED, RETRYING, READY or RUNNING: no other item is pending.']
    when p_kind = 'PROMOTE' and jsonb_path_exists(v_filter, '$.statuses[*] ? (!(@ == "SCHEDULED" || @ == "RETRYING"))')
      then array['filter.statuses', 'filter.statuses must be RETRYING or SCHEDULED: other items do not wait for a time.']
    when p_payload is not null and (p_kind <> 'REPLAY' or jsonb_array_length(coalesce(v_filter -> 'items', '[]')) <> 1)
      then array['payload', 'payload is for one item only: replay it with a filter that names it.']
    when p_payload_patch is not null and (p_kind <> 'REPLAY' or p_payload is not null or json_typeof(p_payload_patch) <> 'object')
      then array['payloadPatch', 'payloadPatch must be an object, for a replay without payload.']
  end;
  v_operation jobtree.operation;
begin
  if v_problem is not null then
    raise exception '%', v_problem[2] using errcode = 'JT002', column = v_problem[1];
  elsif v_filter ? 'jobId' and not exists (select from jobtree.job j where j.id = (v_filter ->> 'jobId')::uuid) then
    raise exception 'There is no job %.', v_filter ->> 'jobId' using errcode = 'JT001', column = 'filter.jobId';
  end if;
  v_operation := jsonb_populate_record(null::jobtree.operation, jsonb_build_object(
    'id', jobtree.new_id(), 'kind', p_kind, 'requested_at', clock_timestamp(), 'requested_by', p_requested_by, 'tenant', v_filter -> 'tenant',
    'job_id', v_filter -> 'jobId', 'types', v_filter -> 'types', 'codes', v_filter -> 'codes', 'dedupe_keys', v_filter -> 'dedupeKeys',
    'fingerprints', v_filter -> 'groupIds', 'died_from', v_filter -> 'diedFrom', 'died_until', v_filter -> 'diedUntil',
    'statuses', coalesce(v_filter -> 'statuses', case p_kind when 'PROMOTE' then '["RETRYING"]'::jsonb end),
    'added_from', v_filter -> 'addedFrom', 'added_until', v_filter -> 'addedUntil',
    'done', 0, 'skipped', 0, 'was_busy', false, 'next_job_id', '00000000-0000-0000-0000-000000000000', 'next_position', -1
  ));
  v_operation.payload := p_payload;
  v_operation.payload_patch := p_payload_patch;
  select i.job_ids, i.positions, least(1024 * (s.last_value + 1), i.last + 1)
  into v_operation.item_job_ids, v_operation.item_positions, v_operation.before_position
  from jobtree.block_seq s
  cross join (
    select array_agg((e ->> 'jobId')::uuid) as job_ids, array_agg((e ->> 'position')::bigint) as positions, max((e ->> 'position')::bigint) as last
    from jsonb_array_elements(v_filter -> 'items') e
  ) i;
  with selected as materialized (
    select m.job_id, sum(m.items) as items
    from (
      select m.job_id, bit_count(m.items) as items from jobtree.matching_pending(v_operation) m where p_kind in ('CANCEL', 'PROMOTE')
      union all
      select m.job_id, 1 from jobtree.matching_dead_letters(v_operation, null) m where p_kind in ('REPLAY', 'DISCARD')
    ) m
    group by m.job_id
  )
  select coalesce(sum(s.items), 0), case when count(*) between 1 and 10000 then array(select s.job_id from selected s) end,
    case when count(*) = 0 then v_operation.requested_at end
  into v_operation.total, v_operation.selected_job_ids, v_operation.finished_at
  from selected s;
  return v_operation;
end
$$;
