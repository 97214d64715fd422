-- The answers to reports that did not count, after everything that counts has been done.
--
-- p_leases   the leases that were locked for them
-- p_lease_ids, p_numbers, p_values, p_kinds   as report_results takes them
-- p_ns       the indexes, from 1, of the reports that counted unless their job was cancelled meanwhile; null for all of open items
-- p_ended    those of the failures and snoozes that counted
-- p_problems   what is wrong with invalid reports, as judge_reports returns it
-- returns    as report_outcomes
create or replace function jobtree.report_answers(
  p_leases jobtree.reported_lease[], p_lease_ids uuid[], p_numbers integer[], p_values json, p_kinds text[],
  p_ns integer[], p_ended integer[], p_problems jsonb
)
returns jsonb
language plpgsql stable
-- plans: no seqscan, mergejoin; generic
as $$
begin
  return (
    select jsonb_agg(jsonb_build_object(
      'index', u.n - 1,
      'status', case
        when p_problems ? u.n::text then 'INVALID'
        -- Locked, or put off by judge_reports.
        when l.id is not null and case
          when k.id is null then true
          when u.number > 0 then get_bit(l.open, u.number - 1) = 1 and not k.cancelled
        end then 'BUSY'
        when o.lease_id = u.lease_id and not o.failed and w.report ->> 'failure' is null and w.report ->> 'snoozeMs' is null
          and o.result::jsonb = coalesce(w.report -> 'result', 'null')::jsonb then 'DUPLICATE'
        when f.lease_id is not null then 'DUPLICATE'
        else 'STALE'
      end,
      -- The retryAt of the first answer, which is stored with the failure.
      'retryAt', f.retry_at, 'field', p_problems #>> array[u.n::text, '0'], 'message', p_problems #>> array[u.n::text, '1']
    ))
    from rows from (unnest(p_lease_ids), unnest(p_numbers), json_array_elements(p_values), unnest(p_kinds))
      with ordinality u(lease_id, number, value, kind, n)
    cross join lateral (select jobtree.whole_report(u.value, u.kind) as report) w
    left join unnest(p_leases) k on k.id = u.lease_id
    left join lateral (select l.* from jobtree.lease l where l.id = u.lease_id offset 0) l on true
    left join lateral (
      select o.* from jobtree.outcome o where o.job_id = l.job_id and o.position = l.position + u.number - 1 offset 0
    ) o on true
    left join lateral (
      select f.* from jobtree.failure f
      where f.job_id = l.job_id and f.position = l.position + u.number - 1 and f.attempt = l.attempt
        and f.lease_id = l.id and not f.lost and f.code = w.report #>> '{failure,code}'
      offset 0
    ) f on true
    -- A failure may have ended an attempt whose lease, or a child of its job, could not be locked for a result.
    where (
      u.n = any (p_ended)
      or w.report ->> 'failure' is null and w.report ->> 'snoozeMs' is null
        and case when p_ns is not null then u.n = any (p_ns) when u.number > 0 then get_bit(k.open, u.number - 1) = 1 and not k.cancelled end
    ) is not true
  );
end
$$;
