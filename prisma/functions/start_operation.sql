-- Begins to replay or discard dead letters: those that meet all that the filter says. run_operation does it, in batches, called by any
-- server until it is finished.
--
-- p_kind     REPLAY or DISCARD
-- p_filter   {jobId?, types?, codes?, groupIds?, diedFrom?, diedUntil?, dedupeKeys?, items?: [{jobId, position}]}, at least one of
--            them. A job stands for all below it
-- p_payload  what a replayed item gets as its payload; for a filter of one item only
-- returns    the operation, and how many dead letters there are for it
-- locks      none
-- errors     JT001 no such job; JT002 the filter names nothing, or something is wrong with it; 22P02, 22007 or 22008 for a value that
--            is none
create or replace function jobtree.start_operation(p_kind text, p_filter jsonb, p_payload json default null)
returns table (operation_id uuid, total bigint)
language plpgsql volatile
as $$
declare
  v_filter constant jsonb := jsonb_strip_nulls(case jsonb_typeof(p_filter) when 'object' then p_filter else '{}' end);
  v_unknown constant text := (
    select min(k) from jsonb_object_keys(v_filter) k
    where k not in ('jobId', 'types', 'codes', 'groupIds', 'diedFrom', 'diedUntil', 'dedupeKeys', 'items')
  );
  v_operation jobtree.operation;
begin
  if v_filter = '{}' then
    raise exception 'filter names nothing: it would be everything.' using errcode = 'JT002', column = 'filter';
  elsif v_unknown is not null then
    raise exception 'filter has no %.', v_unknown using errcode = 'JT002', column = 'filter.' || v_unknown;
  elsif p_kind is null or p_kind not in ('REPLAY', 'DISCARD') then
    raise exception 'kind must be REPLAY or DISCARD.' using errcode = 'JT002', column = 'kind';
  elsif p_payload is not null and (p_kind <> 'REPLAY' or jsonb_array_length(coalesce(v_filter -> 'items', '[]')) <> 1) then
    raise exception 'payload is for one item that is replayed.' using errcode = 'JT002', column = 'payload';
  elsif v_filter ? 'jobId' and not exists (select from jobtree.job j where j.id = (v_filter ->> 'jobId')::uuid) then
    raise exception 'There is no job %.', v_filter ->> 'jobId' using errcode = 'JT001', column = 'filter.jobId';
  end if;
  insert into jobtree.operation as o (
    id, kind, requested_at, job_id, types, codes, fingerprints, died_from, died_until, dedupe_keys, item_job_ids, item_positions, payload
  )
  select jobtree.new_id(), p_kind, clock_timestamp(), f."jobId", f.types, f.codes, f."groupIds", f."diedFrom", f."diedUntil",
    f."dedupeKeys", i.job_ids, i.positions, p_payload
  from jsonb_to_record(v_filter) f(
    "jobId" uuid, types text[], codes text[], "groupIds" uuid[], "diedFrom" timestamptz, "diedUntil" timestamptz, "dedupeKeys" text[],
    items jsonb
  )
  cross join lateral (
    select array_agg((e ->> 'jobId')::uuid) as job_ids, array_agg((e ->> 'position')::bigint) as positions
    from jsonb_array_elements(f.items) e
  ) i
  returning * into v_operation;
  update jobtree.operation o
  set total = (
    select count(*) from jobtree.matching_dead_letters(v_operation, v_operation.next_job_id, v_operation.next_position, null)
  )
  where o.id = v_operation.id
  returning o.id, o.total into operation_id, total;
  return next;
end
$$;
