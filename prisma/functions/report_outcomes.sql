-- Takes the outcomes of attempts: a result, or a failure. Each is judged alone:
--   ACCEPTED   it counts, and is durable once this commits
--   DUPLICATE  this assignment has reported the same before: a retried call, nothing changes
--   STALE      the hold is gone (lost, released, cancelled) or ended otherwise: nothing changes
--   INVALID    what it says can't be taken (report_problems, feed_problems): nothing changes, and the hold is kept
-- A hold past its deadline that nobody took back still counts: expiry permits taking back, it does not revoke.
--
-- p_reports  JSON array of {assignmentId, result} or {assignmentId, failure: {code, message, permanent?}}, and with a
--            result newItems?: [{type, payload, dedupeKey?, priority?, runAt?}] for fed children. Of two reports for
--            one assignment the first is judged first.
-- returns    one row: the roots of the trees that changed, the types which may have got claimable items (each as often as
--            it got some), and the answers, a list of {index, status, retryAt, field, message}: index counts from 0,
--            retryAt is when a failed item is due again, and the same for a DUPLICATE of the failure. A report that is not in
--            it is ACCEPTED, with nothing more to say; null if that holds for all.
-- errors     JT002 not a list, an entry without assignmentId; 22P02 an assignmentId that is no id
-- locks      assignments in the order of their ids, then items, then children's job rows
create or replace function jobtree.report_outcomes(p_reports jsonb)
returns table (root_ids uuid[], ready_types text[], answers json)
language plpgsql volatile
set enable_seqscan = off
set enable_bitmapscan = off
set enable_hashjoin = off
set enable_mergejoin = off
set enable_material = off
set plan_cache_mode = force_generic_plan
as $$
declare
  v_now constant timestamptz := clock_timestamp();
  v_ids uuid[];
  v_reports jsonb;
  v_special boolean;
  v_may_feed boolean;
  v_problems jsonb := '{}';
  v_open uuid[];
  v_succeeded uuid[];
  v_roots uuid[];
  v_failed uuid[];
  v_failures jsonb[];
  v_retries jsonb := '{}';
  v_accepted jsonb;
  v_failed_roots uuid[];
  v_failed_ready text[];
  v_ready text[] := '{}';
begin
  -- By their ids, of two for one assignment the first.
  select array_agg(r.id), jsonb_object_agg(r.id, r.report order by r.n desc) filter (where r.id is not null),
    bool_or(r.report ?| '{failure,newItems}' or not r.report ? 'result')
  into v_ids, v_reports, v_special
  from (
    select (e.value ->> 'assignmentId')::uuid as id, e.value as report, e.n
    from jsonb_array_elements(case jsonb_typeof(p_reports) when 'array' then p_reports else '[null]' end)
      with ordinality e(value, n)
  ) r;
  if p_reports is null or array_position(v_ids, null) is not null then
    raise exception 'reports must be a list of objects with an assignmentId.' using errcode = 'JT002', column = 'reports';
  end if;
  select bool_or(j.feeds_children) into v_may_feed
  from (select distinct a.job_id from jobtree.assignment a where a.id = any (v_ids)) h
  join jobtree.job j on j.id = h.job_id;

  if v_special or v_may_feed then
    select array_agg(l.id) into v_open
    from (
      select a.id, a.finished_at from jobtree.assignment a where a.id = any (v_ids) order by a.id for update
    ) l
    where l.finished_at is null;
    select coalesce(jsonb_object_agg(p.assignment_id, to_jsonb(p)), '{}') into v_problems
    from jobtree.report_problems(v_open, v_reports) p;
    select array_agg(o.id) into v_open from unnest(v_open) o(id) where not v_problems ? o.id::text;
    select v_problems || coalesce(jsonb_object_agg(p.assignment_id, to_jsonb(p)), '{}') into v_problems
    from jobtree.feed_problems(v_open, v_reports) p;
    select array_agg(o.id) filter (where o.failure is null),
      array_agg(o.id) filter (where o.failure is not null),
      array_agg(o.failure) filter (where o.failure is not null)
    into v_open, v_failed, v_failures
    from (
      select u.id, nullif(v_reports -> u.id::text -> 'failure', 'null') as failure
      from unnest(v_open) u(id)
      where not v_problems ? u.id::text
    ) o;
  else
    v_open := v_ids;
  end if;

  -- An array of keys is looked up in their order, so this is the lock as well where nothing was to be looked at before.
  -- The state is looked at after the row is found: no index that the hot path keeps changing is involved.
  with succeeded as (
    update jobtree.assignment a
    set result = coalesce(v_reports -> a.id::text -> 'result', 'null'), finished_at = v_now, outcome = 'succeeded'
    where a.id = any (v_open) and a.finished_at is null
    returning a.id, a.root_id, a.job_id
  ), counted as (
    insert into jobtree.progress_delta (root_id, job_id, succeeded)
    select s.root_id, s.job_id, count(*) from succeeded s group by s.root_id, s.job_id
    returning progress_delta.root_id
  )
  select array_agg(s.id), (select array_agg(c.root_id) from counted c) into v_succeeded, v_roots from succeeded s;

  if v_may_feed and v_succeeded is not null then
    v_ready := jobtree.feed_children(v_succeeded, v_reports);
  end if;
  if v_failed is not null then
    select jsonb_object_agg(e.assignment_id, e.retry_at), array_agg(e.root_id),
      array_agg(e.type) filter (where e.retry_at <= clock_timestamp())
    into v_retries, v_failed_roots, v_failed_ready
    from jobtree.fail_assignments(v_failed, v_failures, 'failed') e;
    v_ready := v_ready || v_failed_ready;
  end if;

  select array_agg(distinct r) into v_roots from unnest(v_roots || v_failed_roots) r;

  if cardinality(v_succeeded) = cardinality(v_ids) then
    return query select v_roots, v_ready, null::json;
    return;
  end if;
  select coalesce(jsonb_object_agg(s.id, null), '{}') || v_retries into v_accepted from unnest(v_succeeded) s(id);
  return query select v_roots, v_ready, jobtree.report_answers(p_reports, v_accepted, v_problems);
end
$$;
