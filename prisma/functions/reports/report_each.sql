-- Accepts outcomes of attempts of any kind, one by one: the slow path of reporting.
--
-- p_ns, p_lease_ids, p_numbers, p_reports
--            an index for the answer, the assignment, and {result, newItems?}, {failure: {code, message, permanent?, retryAfterMs?, stack?}}
--            or {snoozeMs}; of several for one assignment the first that is valid counts
-- p_wait     whether to wait for rows that another transaction has locked, or to answer BUSY, which means that nothing was done
-- returns    as report_outcomes, with figures and failures as report_results returns them
-- locks      leases in the order of their ids, then the rows of fed children, shared and in the order of their ids, then the keys of
--            what is fed
create or replace function jobtree.report_each(
  p_ns integer[], p_lease_ids uuid[], p_numbers integer[], p_reports json[], p_wait boolean
)
returns table (root_ids uuid[], ready jsonb, answers json, figures json[], failed json[])
language plpgsql volatile
-- plans: no seqscan, bitmapscan, hashjoin, mergejoin, material; generic
as $$
declare
  v_held uuid[];
  v_open record;
  v_roots uuid[];
  v_ready jsonb;
  v_figures json[];
  v_failed json[];
  v_retries jsonb;
  v_left integer[];
  v_due_ns integer[];
  v_done record;
  v_keys text[];
begin
  select k.held, k.keys into v_held, v_keys
  from jobtree.lock_fed_keys(p_lease_ids, p_numbers, p_reports, jobtree.lock_for_report(p_lease_ids, p_wait), p_wait) k;

  -- The reports that can count: their item is open, and nothing is wrong with their content.
  select
    array_agg(o.n) filter (where o.message is null) as ns,
    array_agg(o.n) filter (where o.message is not null) as problem_ns,
    array_agg(o.field) filter (where o.message is not null) as fields,
    array_agg(o.message) filter (where o.message is not null) as messages,
    array_agg(o.lease_id) filter (where o.kind = 'FAILURE' and o.message is null) as failed_leases,
    array_agg(o.number) filter (where o.kind = 'FAILURE' and o.message is null) as failed_numbers,
    array_agg(o.report -> 'failure') filter (where o.kind = 'FAILURE' and o.message is null) as failures,
    array_agg(o.n) filter (where o.kind = 'FAILURE' and o.message is null) as failed_ns,
    array_agg(o.lease_id) filter (where o.kind = 'SNOOZE' and o.message is null) as snoozed_leases,
    array_agg(o.number) filter (where o.kind = 'SNOOZE' and o.message is null) as snoozed_numbers,
    array_agg((o.report ->> 'snoozeMs')::double precision::bigint) filter (where o.kind = 'SNOOZE' and o.message is null) as delays,
    array_agg(o.n) filter (where o.kind = 'SNOOZE' and o.message is null) as snoozed_ns,
    array_agg(o.lease_id order by o.n) filter (where o.kind = 'RESULT' and o.message is null) as leases,
    array_agg(o.number order by o.n) filter (where o.kind = 'RESULT' and o.message is null) as numbers,
    json_agg(o.report -> 'result' order by o.n) filter (where o.kind = 'RESULT' and o.message is null) as results,
    array_agg(o.report -> 'newItems' order by o.n) filter (where o.kind = 'RESULT' and o.message is null and o.feeds_children) as new_items
  into v_open
  from jobtree.open_reports(p_ns, p_lease_ids, p_numbers, p_reports, v_held) o;

  if v_open.leases is not null then
    select a.root_ids, a.ready, a.accepted, a.figures into v_roots, v_ready, v_left, v_figures
    from jobtree.accept_results(v_open.leases, v_open.numbers, v_open.results, false) a;
    if v_left is not null then
      select * into v_done from jobtree.accept_results(v_open.leases, v_open.numbers, v_open.results, true);
      v_roots := v_roots || v_done.root_ids;
      v_figures := v_figures || v_done.figures;
      v_ready := jobtree.add_up(
        jobtree.add_up(v_ready, v_done.ready), jobtree.feed_children(v_done.job_ids, v_done.positions, v_open.new_items)
      );
    end if;
  end if;
  if v_open.failed_leases is not null then
    select * into v_done from jobtree.fail_attempts(v_open.failed_leases, v_open.failed_numbers, v_open.failures, false);
    v_roots := v_roots || v_done.root_ids;
    v_figures := v_figures || v_done.figures;
    v_failed := v_done.failed;
    v_ready := jobtree.add_up(v_ready, v_done.ready);
    select jsonb_object_agg(v_open.failed_ns[r.n], r.retry_at) into v_retries from unnest(v_done.accepted, v_done.retries) r(n, retry_at);
  end if;
  if v_open.snoozed_leases is not null then
    select coalesce(v_retries, '{}') || coalesce(jsonb_object_agg(v_open.snoozed_ns[s.n], s.due_at), '{}') into v_retries
    from jobtree.snooze_attempts(v_open.snoozed_leases, v_open.snoozed_numbers, v_open.delays) c
    cross join lateral unnest(c.accepted, c.due_at) s(n, due_at);
  end if;
  -- The jobs of all others were cancelled just now.
  v_due_ns := v_open.failed_ns || v_open.snoozed_ns;
  if v_due_ns is not null then
    v_open.ns := array(select n from unnest(v_open.ns) n where n <> all (v_due_ns) or v_retries ? n::text);
  end if;
  if v_keys is not null then
    perform jobtree.drop_keys(v_keys);
  end if;

  return query select
    (select array_agg(distinct r) from unnest(v_roots) r), v_ready,
    jobtree.report_answers(
      p_ns, p_lease_ids, p_numbers, p_reports, v_held, v_open.ns, v_retries, v_open.problem_ns, v_open.fields, v_open.messages
    ), v_figures, v_failed;
end
$$;
