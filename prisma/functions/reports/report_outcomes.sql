-- Accepts the outcomes of attempts: a result, a failure, or a snooze, which gives the item back until later and costs no attempt.
-- Each is judged on its own:
--   ACCEPTED   it counts, and is durable once this commits
--   DUPLICATE  this assignment has reported the same before: a retried call, nothing changes
--   STALE      the assignment is lost, released or cancelled, or ended otherwise: nothing changes
--   BUSY       nothing changes, since the results before it would feed about 20 MB already: report it again
--   INVALID    its content is invalid (report_problem, feed_problem): nothing changes, and the worker keeps the assignment
-- A snooze leaves no trace by which to recognize a repeated one, which is therefore STALE.
-- A report on an assignment past its deadline still counts until a sweep takes the item back.
--
-- p_reports  JSON array of {assignmentId, result}, {assignmentId, failure: {code, message, permanent?, retryAfterMs?, stack?}} or
--            {assignmentId, snoozeMs}, and with a result newItems?: [{type, payload, dedupeKey?, priority?, runAt?, serializeKey?}] for fed
--            children. Of several reports for one assignment the first that is valid counts.
-- returns    one row: the roots of the trees that changed; the types that may have got ready items, and how many; and the answers, a
--            list of {index, status, retryAt, field, message}: index counts from 0, retryAt is when a failed or snoozed item is due again,
--            also for a DUPLICATE of the failure. Reports that are not in the list are simply ACCEPTED; null if that holds for all.
-- errors     JT002 not a list, an entry without assignmentId; 22P02 an assignmentId that is not an id
-- locks      those of report_results; waits for locked ones
create or replace function jobtree.report_outcomes(p_reports json)
returns table (root_ids uuid[], ready jsonb, answers json)
language plpgsql volatile
set plan_cache_mode = force_generic_plan
as $$
declare
  v_ids uuid[];
begin
  select array_agg((e.value ->> 'assignmentId')::uuid) into v_ids
  from json_array_elements(case json_typeof(p_reports) when 'array' then p_reports else '[null]' end) e(value);
  if p_reports is null or array_position(v_ids, null) is not null then
    raise exception 'reports must be a list of objects with an assignmentId.' using errcode = 'JT002', column = 'reports';
  end if;
  if strpos(p_reports::text, '\u') > 0 then
    -- As in check_items.
    perform p_reports::jsonb;
  end if;
  return query
    select nullif(r.root_ids, '{}'), r.ready, r.answers
    from jobtree.report_results(
      array(select jobtree.lease_id(u) from unnest(v_ids) u), array(select jobtree.assignment_number(u) from unnest(v_ids) u),
      p_reports, array_fill('report'::text, array[coalesce(cardinality(v_ids), 0)])
    ) r;
end
$$;
