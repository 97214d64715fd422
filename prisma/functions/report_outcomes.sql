-- Takes the outcomes of attempts: a result, a failure, or a snooze, which gives the item back until later at no cost of an attempt.
-- Each is judged alone:
--   ACCEPTED   it counts, and is durable once this commits
--   DUPLICATE  this assignment has reported the same before: a retried call, nothing changes
--   STALE      the assignment is lost, released or cancelled, or ended otherwise: nothing changes
--   INVALID    what it says can't be taken (report_problem, feed_problem): nothing changes, and the assignment is kept
-- A snooze leaves nothing that would tell a repeated one: that is STALE.
-- An assignment past its deadline that nobody took back still counts: expiry permits taking back, it does not revoke.
--
-- p_reports  JSON array of {assignmentId, result}, {assignmentId, failure: {code, message, permanent?, retryAfterMs?, stack?}} or
--            {assignmentId, snoozeMs}, and with a result newItems?: [{type, payload, dedupeKey?, priority?, runAt?, serializeKey?}] for fed children. Of two reports for
--            one assignment the first is judged first.
-- returns    one row: the roots of the trees that changed, the types that may have got ready items and how many, and the answers, a
--            list of {index, status, retryAt, field, message}: index counts from 0, retryAt is when a failed or snoozed item is due again,
--            and the same for a DUPLICATE of the failure. A report that is not in it is ACCEPTED, with nothing more to say; null if
--            that holds for all.
-- errors     JT002 not a list, an entry without assignmentId; 22P02 an assignmentId that is no id
-- locks      leases in the order of their ids, then fed children's job rows, shared: waits for whoever has them
create or replace function jobtree.report_outcomes(p_reports json)
returns table (root_ids uuid[], ready jsonb, answers json)
language plpgsql volatile
set plan_cache_mode = force_generic_plan
as $$
declare
  v_ids uuid[];
  v_reports json[];
begin
  select array_agg((e.value ->> 'assignmentId')::uuid), array_agg(e.value) into v_ids, v_reports
  from json_array_elements(case json_typeof(p_reports) when 'array' then p_reports else '[null]' end) e(value);
  if p_reports is null or array_position(v_ids, null) is not null then
    raise exception 'reports must be a list of objects with an assignmentId.' using errcode = 'JT002', column = 'reports';
  end if;
  perform jobtree.check_text(p_reports);
  if v_ids is null then
    return query select null::uuid[], null::jsonb, null::json;
    return;
  end if;
  return query
    select r.root_ids, r.ready, r.answers from jobtree.report_each(
      array(select generate_series(0, cardinality(v_ids) - 1)), array(select jobtree.lease_id(u) from unnest(v_ids) u),
      array(select jobtree.assignment_number(u) from unnest(v_ids) u), v_reports, true
    ) r;
end
$$;
