-- Accepts outcomes of attempts from servers, which sort them: plain results and failures take the fast path, and only the rest is
-- handled one by one.
--
-- p_lease_ids, p_numbers, p_results
--            assignments that succeeded, and a JSON array of their results
-- p_failed_lease_ids, p_failed_numbers, p_failures
--            assignments that failed, and a JSON array of their failures: {code, message, permanent, retryAfterMs?, stack?}. No assignment
--            is named twice in these two lists
-- p_others   a JSON array of all other reports, as report_outcomes takes them
-- p_wait     whether to wait for rows that another transaction has locked, or to answer BUSY, which means that nothing was done
-- returns    as report_outcomes, with indexes that count the results first, then the failures, then the others; figures of the reports
--            that counted: a list of [type, milliseconds since the claim, succeeded, failed attempts, of these for good], one entry for
--            everything that was claimed at the same time; and failures: a list of [type, job id, position, attempt, worker, code, message,
--            when it is due again or null if it failed for good, how many], one entry for the items of a job with the same code, which
--            describes the first of them
-- locks      as report_each has it
create or replace function jobtree.report_results(
  p_lease_ids uuid[], p_numbers integer[], p_results json,
  p_failed_lease_ids uuid[] default '{}', p_failed_numbers integer[] default '{}', p_failures json default '[]',
  p_others json default null, p_wait boolean default true
)
returns table (root_ids uuid[], ready jsonb, answers json, figures json[], failed json[])
language plpgsql volatile
set plan_cache_mode = force_generic_plan
as $$
declare
  v_count constant integer := cardinality(p_numbers);
  v_roots uuid[];
  v_ready jsonb;
  v_figures json[];
  v_failed json[];
  v_answers jsonb;
  -- Which results and failures counted, from 1; null for all.
  v_accepted integer[];
  v_done record;
  v_ns integer[];
  v_lease_ids uuid[];
  v_numbers integer[];
  v_reports json[];
begin
  -- A call that locks free rows first and then waits could deadlock: with p_wait all rows are locked in order, in report_each.
  if p_wait then
    v_accepted := '{}';
  elsif v_count > 0 then
    select a.root_ids, a.ready, a.accepted, a.figures into v_roots, v_ready, v_accepted, v_figures
    from jobtree.accept_results(p_lease_ids, p_numbers, p_results, false) a;
    if v_accepted is not null then
      select f.root_ids, f.ready, f.accepted, f.figures into v_done from jobtree.feed_results(p_lease_ids, p_numbers, p_results) f;
      v_roots := v_roots || v_done.root_ids;
      v_figures := v_figures || v_done.figures;
      v_ready := jobtree.add_up(v_ready, v_done.ready);
      v_accepted := v_accepted || v_done.accepted;
    end if;
  end if;
  if not p_wait and cardinality(p_failed_numbers) > 0 then
    select * into v_done
    from jobtree.fail_attempts(p_failed_lease_ids, p_failed_numbers, array(select f from json_array_elements(p_failures) f), false);
    v_roots := v_roots || v_done.root_ids;
    v_figures := v_figures || v_done.figures;
    v_failed := v_done.failed;
    v_ready := jobtree.add_up(v_ready, v_done.ready);
    select jsonb_agg(jsonb_build_object('index', v_count + u.n - 1, 'status', 'ACCEPTED', 'retryAt', u.retry_at)) into v_answers
    from unnest(v_done.accepted, v_done.retries) u(n, retry_at)
    where u.retry_at is not null;
    if v_accepted is not null or cardinality(v_done.accepted) < cardinality(p_failed_numbers) then
      v_accepted := coalesce(v_accepted, array(select generate_series(1, v_count))) || array(select v_count + n from unnest(v_done.accepted) n);
    end if;
  end if;
  if p_others is null and (v_accepted is null or cardinality(v_accepted) = v_count + cardinality(p_failed_numbers)) then
    return query select v_roots, v_ready, v_answers::json, v_figures, v_failed;
    return;
  end if;

  select array_agg(u.n), array_agg(u.lease_id), array_agg(u.number), array_agg(u.report)
  into v_ns, v_lease_ids, v_numbers, v_reports
  from (
    select u.n::integer - 1 as n, u.lease_id, u.number, json_build_object('result', u.result) as report
    from rows from (unnest(p_lease_ids), unnest(p_numbers), json_array_elements(p_results)) with ordinality u(lease_id, number, result, n)
    where v_accepted is not null and u.n <> all (v_accepted)
    union all
    select v_count + u.n::integer - 1, u.lease_id, u.number, json_build_object('failure', u.failure)
    from rows from (unnest(p_failed_lease_ids), unnest(p_failed_numbers), json_array_elements(p_failures))
      with ordinality u(lease_id, number, failure, n)
    where v_count + u.n <> all (v_accepted)
    union all
    select v_count + cardinality(p_failed_numbers) + e.n::integer - 1, jobtree.lease_id(a.id), jobtree.assignment_number(a.id), e.value
    from json_array_elements(p_others) with ordinality e(value, n)
    cross join lateral (select (e.value ->> 'assignmentId')::uuid as id) a
  ) u;
  select * into v_done from jobtree.report_each(v_ns, v_lease_ids, v_numbers, v_reports, p_wait);
  return query select
    (select array_agg(distinct r) from unnest(v_roots || v_done.root_ids) r), jobtree.add_up(v_ready, v_done.ready),
    (coalesce(v_answers, '[]') || coalesce(v_done.answers::jsonb, '[]'))::json, v_figures || v_done.figures, v_failed || v_done.failed;
end
$$;
