-- Takes outcomes of attempts one by one, whatever they are: the slow half of reporting.
--
-- p_ns, p_lease_ids, p_numbers, p_reports
--            an index for the answer, the assignment, and {result, newItems?} or {failure: {code, message, permanent?}}; of two for
--            one assignment the first is judged first
-- p_wait     whether to wait for what another transaction has locked, or to answer BUSY; then nothing of that report has happened
-- returns    as report_outcomes has it
-- locks      leases in the order of their ids, then the rows of fed children, shared and in the order of their ids
create or replace function jobtree.report_each(
  p_ns integer[], p_lease_ids uuid[], p_numbers integer[], p_reports json[], p_wait boolean
)
returns table (root_ids uuid[], ready jsonb, answers json)
language plpgsql volatile
set enable_seqscan = off
set enable_bitmapscan = off
set enable_hashjoin = off
set enable_mergejoin = off
set enable_material = off
set plan_cache_mode = force_generic_plan
as $$
declare
  v_held uuid[];
  v_open record;
  v_plain record;
  v_fed record;
  v_failed record;
begin
  v_held := jobtree.lock_for_report(p_lease_ids, p_wait);

  -- What can count: the item is open, and nothing is wrong with what the report says.
  select
    array_agg(o.n) filter (where o.message is null) as ns,
    array_agg(o.n) filter (where o.message is not null) as problem_ns,
    array_agg(o.field) filter (where o.message is not null) as fields,
    array_agg(o.message) filter (where o.message is not null) as messages,
    array_agg(o.lease_id) filter (where o.message is null and o.is_failure) as failed_leases,
    array_agg(o.number) filter (where o.message is null and o.is_failure) as failed_numbers,
    array_agg(o.report -> 'failure') filter (where o.message is null and o.is_failure) as failures,
    array_agg(o.n) filter (where o.message is null and o.is_failure) as failed_ns,
    coalesce(array_agg(o.lease_id order by o.n) filter (where o.message is null and not o.is_failure), '{}') as leases,
    coalesce(array_agg(o.number order by o.n) filter (where o.message is null and not o.is_failure), '{}') as numbers,
    coalesce(json_agg(o.report -> 'result' order by o.n) filter (where o.message is null and not o.is_failure), '[]') as results,
    array_agg(o.report -> 'newItems' order by o.n) filter (where o.message is null and not o.is_failure and o.feeds_children) as new_items
  into v_open
  from jobtree.open_reports(p_ns, p_lease_ids, p_numbers, p_reports, v_held) o;

  select * into v_plain from jobtree.accept_results(v_open.leases, v_open.numbers, v_open.results, false);
  select * into v_fed from jobtree.accept_results(v_open.leases, v_open.numbers, v_open.results, true);
  select array_agg(distinct f.root_id) as root_ids, jsonb_object_agg(r.n, f.retry_at) as retries,
    jobtree.count_names(array_agg(f.type) filter (where f.retry_at <= clock_timestamp())) as ready
  into v_failed
  from jobtree.fail_attempts(v_open.failed_leases, v_open.failed_numbers, v_open.failures, false) f
  join unnest(v_open.failed_leases, v_open.failed_numbers, v_open.failed_ns) r(lease_id, number, n)
    on r.lease_id = f.lease_id and r.number = f.number;

  return query select
    (select array_agg(distinct r) from unnest(v_plain.root_ids || v_fed.root_ids || v_failed.root_ids) r),
    jobtree.add_up(jobtree.feed_children(v_fed.job_ids, v_fed.positions, v_open.new_items), v_failed.ready),
    jobtree.report_answers(p_ns, p_lease_ids, p_numbers, p_reports, v_held, v_open.ns, v_failed.retries, v_open.problem_ns, v_open.fields, v_open.messages);
end
$$;
