-- Takes the outcomes of attempts: a result, or a failure. Each is judged alone:
--   ACCEPTED   it counts, and is durable once this commits
--   DUPLICATE  this assignment has reported the same before: a retried call, nothing changes
--   STALE      the hold is gone (lost, released, cancelled) or ended otherwise: nothing changes
--   INVALID    what it says can't be taken: nothing changes, and the hold is kept
-- A hold past its deadline that nobody took back still counts: expiry permits taking back, it does not revoke.
--
-- p_reports  JSON array of {assignmentId, result} or {assignmentId, failure: {code, message, permanent?}}, and with a
--            result newItems?: [{type, payload, dedupeKey?, priority?, runAt?}] for fed children. Of two reports for
--            one assignment the first is judged first.
-- returns    a row a report, in order; retry_at says when a failed item is due again, ready_types (the same in each
--            row) which types may have got claimable items
-- locks      assignments in the order of their ids, then items, then children's job rows
create or replace function jobtree.report_outcomes(p_reports jsonb)
returns table (
  index integer, status text, root_id uuid, retry_at timestamptz, field text, message text, ready_types text[]
)
language plpgsql volatile
set enable_seqscan = off
set enable_hashjoin = off
set enable_mergejoin = off
as $$
declare
  v_now constant timestamptz := clock_timestamp();
  v_open uuid[];
  v_may_feed boolean;
  v_problems jsonb := '{}';
  v_succeeded uuid[];
  v_failed uuid[];
  v_failures jsonb[];
  v_retries jsonb := '{}';
  v_ready text[] := '{}';
begin
  -- Locked by primary key, and the state looked at afterwards: no index that the hot path keeps changing is involved.
  select array_agg(l.id) filter (where l.finished_at is null), bool_or(j.feeds_children)
  into v_open, v_may_feed
  from (
    select a.id, a.job_id, a.finished_at from jobtree.assignment a
    where a.id = any (array(select (r ->> 'assignmentId')::uuid from jsonb_array_elements(p_reports) r))
    order by a.id
    for update
  ) l
  join jobtree.job j on j.id = l.job_id;

  if v_may_feed or jsonb_path_exists(p_reports, '$[*].newItems[0]') then
    select coalesce(jsonb_object_agg(p.assignment_id, to_jsonb(p)), '{}') into v_problems
    from jobtree.feed_problems(v_open, p_reports) p;
  end if;

  with first_report as materialized (
    select distinct on (id) (r.value ->> 'assignmentId')::uuid as id, r.value as report
    from jsonb_array_elements(p_reports) with ordinality r
    order by id, r.ordinality
  ), succeeded as (
    update jobtree.assignment a
    set result = coalesce(f.report -> 'result', 'null'), finished_at = v_now, outcome = 'succeeded'
    from first_report f
    where a.id = f.id and a.finished_at is null and not f.report ? 'failure' and not v_problems ? f.id::text
    returning a.id, a.root_id, a.job_id
  ), counted as (
    insert into jobtree.progress_delta (root_id, job_id, succeeded)
    select s.root_id, s.job_id, count(*) from succeeded s group by s.root_id, s.job_id
  ), failed as (
    select f.id, f.report -> 'failure' as failure from first_report f
    join jobtree.assignment a on a.id = f.id
    where a.finished_at is null and f.report ? 'failure'
  )
  select
    (select array_agg(s.id) from succeeded s),
    (select array_agg(f.id) from failed f),
    (select array_agg(f.failure) from failed f)
  into v_succeeded, v_failed, v_failures;

  if v_may_feed and v_succeeded is not null then
    v_ready := jobtree.feed_children(v_succeeded, p_reports);
  end if;
  if v_failed is not null then
    select jsonb_object_agg(e.assignment_id, e.retry_at), v_ready || array_agg(distinct e.type) filter (where e.retry_at <= clock_timestamp())
    into v_retries, v_ready
    from jobtree.fail_assignments(v_failed, v_failures, 'failed') e;
  end if;

  return query
  select (g.ordinality - 1)::integer,
    case
      when g.nth = 1 and v_problems ? g.id::text then 'INVALID'
      when g.nth = 1 and g.id = any (v_open) then 'ACCEPTED'
      when a.outcome = 'succeeded' and not g.report ? 'failure' and a.result = coalesce(g.report -> 'result', 'null') then 'DUPLICATE'
      when a.outcome = 'failed' and g.report ? 'failure' then 'DUPLICATE'
      else 'STALE'
    end,
    a.root_id, (v_retries ->> g.id::text)::timestamptz,
    v_problems #>> array[g.id::text, 'field'], v_problems #>> array[g.id::text, 'message'], v_ready
  from (
    select (r.value ->> 'assignmentId')::uuid as id, r.value as report, r.ordinality,
      row_number() over (partition by (r.value ->> 'assignmentId')::uuid order by r.ordinality) as nth
    from jsonb_array_elements(p_reports) with ordinality r
  ) g
  left join jobtree.assignment a on a.id = g.id
  order by g.ordinality;
end
$$;
