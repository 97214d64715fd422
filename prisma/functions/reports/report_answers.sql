-- The answers of report_each, after everything that counts has been done.
--
-- p_ns … p_reports   as report_each takes them
-- p_held     the leases that were locked for them
-- p_counted  the indexes of the reports that counted
-- p_retries  when the items of counted failures and snoozes are due again: {index: instant, or null}
-- p_problem_ns, p_fields, p_messages   what is wrong with invalid reports
-- returns    as report_outcomes
create or replace function jobtree.report_answers(
  p_ns integer[], p_lease_ids uuid[], p_numbers integer[], p_reports json[], p_held uuid[], p_counted integer[], p_retries jsonb,
  p_problem_ns integer[], p_fields text[], p_messages text[]
)
returns json
language plpgsql stable
-- plans: no seqscan, hashjoin, mergejoin; generic
as $$
begin
  return (
    select json_agg(json_build_object('index', a.n, 'status', a.status, 'retryAt', a.retry_at, 'field', a.field, 'message', a.message))
    from (
      select c as n, 'ACCEPTED' as status, p_retries -> c::text as retry_at, null as field, null as message
      from unnest(p_counted) c
      where coalesce(p_retries -> c::text, 'null') <> 'null'
      union all
      select u.n,
        case
          when p.n is not null then 'INVALID'
          when l.id is not null and u.lease_id <> all (p_held) then 'BUSY'
          when o.lease_id = u.lease_id and not o.failed and u.report ->> 'failure' is null and u.report ->> 'snoozeMs' is null
            and o.result::jsonb = coalesce(u.report -> 'result', 'null')::jsonb then 'DUPLICATE'
          when f.lease_id is not null then 'DUPLICATE'
          else 'STALE'
        end,
        -- The retryAt of the first answer, which is stored with the failure.
        to_jsonb(f.retry_at), p.field, p.message
      from unnest(p_ns, p_lease_ids, p_numbers, p_reports) u(n, lease_id, number, report)
      left join unnest(p_problem_ns, p_fields, p_messages) p(n, field, message) on p.n = u.n
      left join lateral (select l.* from jobtree.lease l where l.id = u.lease_id offset 0) l on true
      left join lateral (
        select o.* from jobtree.outcome o where o.job_id = l.job_id and o.position = l.position + u.number - 1 offset 0
      ) o on true
      left join lateral (
        select f.* from jobtree.failure f
        where f.job_id = l.job_id and f.position = l.position + u.number - 1 and f.attempt = l.attempt
          and f.lease_id = l.id and not f.lost and f.code = u.report #>> '{failure,code}'
        offset 0
      ) f on true
      where p_counted is null or u.n <> all (p_counted)
    ) a
  );
end
$$;
