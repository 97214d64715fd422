-- Accepts outcomes of attempts, whoever reports them: locks their leases, judges what has to be judged, carries out what counts by its kind, and
-- answers the rest.
--
-- p_lease_ids, p_numbers, p_values, p_kinds
--            for each report the assignment, a value in a JSON array, and what this is: a result; a failure, {code, message, permanent?,
--            retryAfterMs?, stack?}; a snooze, {snoozeMs}; or a whole report as report_outcomes takes it. Null if all are results. Results, failures
--            and snoozes have been checked, and no two of them name the same assignment
-- p_wait     whether to wait for rows that another transaction has locked, or to answer BUSY, which means that nothing was done
-- returns    as report_outcomes; figures of the reports that counted: a list of [type, milliseconds since the claim, succeeded, failed attempts,
--            of these for good], one entry for everything that was claimed at the same time; and failures: a list of [type, job id, position,
--            attempt, worker, code, message, when it is due again or null if it failed for good, how many], one entry for the items of a job
--            with the same code, which describes the first of them
-- locks      leases in the order of their ids, then those of lock_fed, then those of promote_next
create or replace function jobtree.report_results(
  p_lease_ids uuid[], p_numbers integer[], p_values json, p_kinds text[] default null, p_wait boolean default true
)
returns table (root_ids uuid[], ready jsonb, answers json, figures json[], failed json[])
language plpgsql volatile
-- plans: no seqscan, bitmapscan, mergejoin; generic
as $$
declare
  v_leases jobtree.reported_lease[];
  v_lease jobtree.reported_lease;
  v_is_fed boolean := false;
  v_is_judged boolean := coalesce('report' = any (p_kinds), false);
  -- What counts, apart from reports on items that are not open.
  v_given jobtree.judged_reports;
  v_keys text[];
  v_done jobtree.ended_attempts;
  v_ended jobtree.ended_attempts;
begin
  if p_numbers = '{}' then
    return next;
    return;
  end if;
  if p_wait then
    perform from jobtree.lease l where l.id = any (p_lease_ids) order by l.id for update;
  end if;
  v_leases := array(
    select row(
      l.id, l.job_id, j.root_id, j.type, l.position, l.open, l.keyed, l.claimed_at, j.feeds_children, j.cancelled_at is not null
    )::jobtree.reported_lease
    from jobtree.lease l
    cross join lateral (select j.root_id, j.type, j.feeds_children, j.cancelled_at from jobtree.job j where j.id = l.job_id offset 0) j
    where l.id = any (case when p_lease_ids[1] = all (p_lease_ids) then p_lease_ids[1:1] else p_lease_ids end)
    order by l.id
    for update of l skip locked
  );
  foreach v_lease in array v_leases loop
    v_is_fed := v_is_fed or v_lease.feeds_children;
  end loop;

  if v_is_fed and (p_kinds is null or p_kinds && '{result,report}') then
    select f.leases, f.keys, v_is_judged or f.is_exacting into v_leases, v_keys, v_is_judged
    from jobtree.lock_fed(v_leases, p_lease_ids, p_numbers, p_values, p_kinds, p_wait) f;
  end if;
  if v_is_judged then
    v_given := jobtree.judge_reports(v_leases, p_lease_ids, p_numbers, p_values, p_kinds);
  else
    v_given.lease_ids := p_lease_ids;
    v_given.numbers := p_numbers;
    v_given.contents := p_values;
    v_given.kinds := p_kinds;
  end if;
  if v_given.kinds is null and v_given.numbers is not null or 'result' = any (v_given.kinds) then
    v_done := jobtree.succeed_attempts(v_leases, v_given.lease_ids, v_given.numbers, v_given.contents, v_given.kinds);
  end if;
  if v_is_fed and v_done.count > 0 then
    v_done.ready := jobtree.add_up(v_done.ready, (
      select jobtree.feed_children(
        array_agg(k.job_id order by u.n), array_agg(k.position + u.number - 1 order by u.n), array_agg(u.new_items order by u.n)
      )
      from unnest(v_given.lease_ids, v_given.numbers, v_given.kinds, v_given.new_items) with ordinality u(lease_id, number, kind, new_items, n)
      join unnest(v_leases) k on k.id = u.lease_id
      where case
        when not k.feeds_children or k.cancelled or u.kind <> 'result' then false
        when u.number > 0 then get_bit(k.open, u.number - 1) = 1
      end
    ));
  end if;
  if 'result' <> any (v_given.kinds) then
    v_ended := (
      select jobtree.fail_attempts(
        array_agg(u.lease_id), array_agg(u.number), array_agg(u.value), false, array_agg(coalesce(v_given.ns[u.n], u.n::integer))
      )
      from rows from (unnest(v_given.lease_ids), unnest(v_given.numbers), json_array_elements(v_given.contents), unnest(v_given.kinds))
        with ordinality u(lease_id, number, value, kind, n)
      where u.kind <> 'result'
    );
    v_done.root_ids := array(select distinct r from unnest(v_done.root_ids || v_ended.root_ids) r);
    v_done.ready := jobtree.add_up(v_done.ready, v_ended.ready);
    answers := (
      select json_agg(json_build_object('index', a.n - 1, 'status', 'ACCEPTED', 'retryAt', a.retry_at))
      from unnest(v_ended.accepted, v_ended.retries) a(n, retry_at)
      where a.retry_at is not null
    );
  end if;
  if v_keys is not null then
    delete from jobtree.serialize_key k where k.key = any (v_keys) and k.job_id is null;
  end if;

  if coalesce(v_done.count, 0) + coalesce(v_ended.count, 0) < cardinality(p_numbers) then
    answers := coalesce(answers::jsonb, '[]') || jobtree.report_answers(
      v_leases, p_lease_ids, p_numbers, p_values, p_kinds,
      case when v_is_judged then coalesce(v_given.ns, '{}') end, v_ended.accepted, v_given.problems
    );
  end if;
  root_ids := v_done.root_ids;
  ready := v_done.ready;
  figures := v_done.figures || v_ended.figures;
  failed := v_ended.failed;
  return next;
end
$$;
