-- What report_each answers, after all that counts has been done.
--
-- p_ns … p_reports   as report_each has them
-- p_held     the leases that were locked for it
-- p_counted  the indexes of the reports that counted
-- p_retries  when the items of counted failures are due again: {index: instant, or null}
-- p_problem_ns, p_fields, p_messages   what is wrong with reports
-- returns    as report_outcomes has it
create or replace function jobtree.report_answers(
  p_ns integer[], p_lease_ids uuid[], p_numbers integer[], p_reports json[], p_held uuid[], p_counted integer[], p_retries jsonb,
  p_problem_ns integer[], p_fields text[], p_messages text[]
)
returns json
language plpgsql stable
set enable_seqscan = off
set enable_hashjoin = off
set enable_mergejoin = off
set plan_cache_mode = force_generic_plan
as $$
begin
  return (
    select json_agg(json_build_object('index', a.n, 'status', a.status, 'retryAt', a.retry_at, 'field', a.field, 'message', a.message))
    from (
      select u.n, p.field, p.message,
        case
          when u.n = any (p_counted) then 'ACCEPTED'
          when p.n is not null then 'INVALID'
          when l.id is not null and u.lease_id <> all (p_held) then 'BUSY'
          when o.lease_id = u.lease_id and not o.failed and u.report ->> 'failure' is null
            and o.result::jsonb = coalesce(u.report -> 'result', 'null')::jsonb then 'DUPLICATE'
          when f.lease_id = u.lease_id and not f.lost and f.code = u.report #>> '{failure,code}' then 'DUPLICATE'
          else 'STALE'
        end as status,
        -- What the report was answered the first time, kept with the failure.
        case when u.n = any (p_counted) then p_retries -> u.n::text
          when f.lease_id = u.lease_id and not f.lost and f.code = u.report #>> '{failure,code}' then to_jsonb(f.retry_at) end as retry_at
      from unnest(p_ns, p_lease_ids, p_numbers, p_reports) u(n, lease_id, number, report)
      left join jobtree.lease l on l.id = u.lease_id
      left join jobtree.outcome o on o.job_id = l.job_id and o.position = l.position + u.number - 1
      left join jobtree.failure f on f.job_id = l.job_id and f.position = l.position + u.number - 1 and f.attempt = l.attempt
      left join unnest(p_problem_ns, p_fields, p_messages) p(n, field, message) on p.n = u.n
    ) a
    where a.status <> 'ACCEPTED' or coalesce(a.retry_at, 'null') <> 'null'
  );
end
$$;
