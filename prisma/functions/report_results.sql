-- Takes outcomes of attempts for servers, which sort them: plain results go first and fast, and only what is left is looked at
-- one by one.
--
-- p_lease_ids, p_numbers, p_results
--            assignments that succeeded, each named once, and a JSON array of their results
-- p_others   a JSON array of all other reports, as report_outcomes has it
-- p_wait     whether to wait for what another transaction has locked, or to answer BUSY; then nothing of that report has happened
-- returns    as report_outcomes has it; an index counts the results first, then the others
-- locks      as report_each has it
create or replace function jobtree.report_results(
  p_lease_ids uuid[], p_numbers integer[], p_results json, p_others json default null, p_wait boolean default true
)
returns table (root_ids uuid[], ready jsonb, answers json)
language plpgsql volatile
set plan_cache_mode = force_generic_plan
as $$
declare
  v_roots uuid[];
  v_ready jsonb;
  v_accepted integer[];
  v_fed_roots uuid[];
  v_fed integer[] := '{}';
  v_ns integer[];
  v_lease_ids uuid[];
  v_numbers integer[];
  v_reports json[];
  v_each record;
begin
  -- What takes what is free, and then waits, could be waited for: who waits takes all in order.
  if p_wait then
    v_accepted := '{}';
  elsif cardinality(p_numbers) > 0 then
    select a.root_ids, a.accepted into v_roots, v_accepted from jobtree.accept_results(p_lease_ids, p_numbers, p_results, false) a;
    if v_accepted is not null then
      select f.root_ids, f.ready, f.accepted into v_fed_roots, v_ready, v_fed
      from jobtree.feed_results(p_lease_ids, p_numbers, p_results) f;
      v_roots := v_roots || v_fed_roots;
    end if;
  end if;
  if p_others is null and (v_accepted is null or cardinality(v_accepted) + cardinality(v_fed) = cardinality(p_numbers)) then
    return query select v_roots, v_ready, null::json;
    return;
  end if;

  select array_agg(u.n), array_agg(u.lease_id), array_agg(u.number), array_agg(u.report)
  into v_ns, v_lease_ids, v_numbers, v_reports
  from (
    select u.n::integer - 1 as n, u.lease_id, u.number, json_build_object('result', u.result) as report
    from rows from (unnest(p_lease_ids), unnest(p_numbers), json_array_elements(p_results)) with ordinality u(lease_id, number, result, n)
    where v_accepted is not null and u.n <> all (v_accepted || v_fed)
    union all
    select cardinality(p_numbers) + e.n::integer - 1, jobtree.lease_id(a.id), jobtree.assignment_number(a.id), e.value
    from json_array_elements(p_others) with ordinality e(value, n)
    cross join lateral (select (e.value ->> 'assignmentId')::uuid as id) a
  ) u;
  select * into v_each from jobtree.report_each(v_ns, v_lease_ids, v_numbers, v_reports, p_wait);
  return query select
    (select array_agg(distinct r) from unnest(v_roots || v_each.root_ids) r), jobtree.add_up(v_ready, v_each.ready), v_each.answers;
end
$$;
