-- Stores which traces new items belong to, as their caller says.
--
-- p_positions  the items, in the order in which they were given; null where none was added
-- p_traces     JSON array of {traceparent, tracestate?, from?, count?}: a W3C trace context, and the items that belong to it, as the first
--              one (from 0) and a number; all by default. No item belongs to two
-- errors       JT002 an invalid trace context
create or replace function jobtree.trace_items(p_job_id uuid, p_positions bigint[], p_traces json)
returns void
language plpgsql volatile
set plan_cache_mode = force_generic_plan
as $$
begin
  if json_typeof(p_traces) <> 'array' then
    raise exception 'traceContext must be a list.' using errcode = 'JT002', column = 'traceContext';
  end if;
  perform jobtree.check_trace_context(e.value) from json_array_elements(p_traces) e(value);
  insert into jobtree.trace_context (job_id, position, count, traceparent, tracestate)
  select p_job_id, min(p.position), max(p.position) - min(p.position) + 1, t.traceparent, t.tracestate
  from (
    select e.n, e.value ->> 'traceparent' as traceparent, e.value ->> 'tracestate' as tracestate,
      coalesce((e.value ->> 'from')::integer, 0) as skipped, coalesce((e.value ->> 'count')::integer, cardinality(p_positions)) as count
    from json_array_elements(p_traces) with ordinality e(value, n)
  ) t
  cross join lateral (
    select p_positions[k] as position from generate_series(t.skipped + 1, least(t.skipped + t.count, cardinality(p_positions))) k
  ) p
  where p.position is not null
  -- Within a block of positions, the new items of a call are adjacent.
  group by t.n, t.traceparent, t.tracestate, p.position / 1024;
end
$$;
