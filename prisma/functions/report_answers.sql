-- What report_outcomes answers to a batch of which not every report was an accepted success.
--
-- p_reports  as report_outcomes has it
-- p_accepted JSON object of the assignments whose report counted, each with when its item is due again, if it is
-- p_problems JSON object of what is wrong with the report of an assignment: {field, message}
-- returns    as report_outcomes has it
create or replace function jobtree.report_answers(p_reports jsonb, p_accepted jsonb, p_problems jsonb)
returns json
language plpgsql stable
set enable_seqscan = off
set enable_bitmapscan = off
set enable_hashjoin = off
set enable_mergejoin = off
set enable_material = off
set plan_cache_mode = force_generic_plan
as $$
begin
  return (
    select json_agg(json_build_object(
      'index', j.n - 1, 'status', j.status, 'retryAt', coalesce(p_accepted -> j.key, j.first_retry),
      'field', p_problems #> array[j.key, 'field'], 'message', p_problems #> array[j.key, 'message']
    ))
    from (
      select g.n, g.id::text as key,
        case
          when g.nth = 1 and p_accepted ? g.id::text then 'ACCEPTED'
          when g.nth = 1 and p_problems ? g.id::text then 'INVALID'
          when a.outcome = 'succeeded' and g.report ->> 'failure' is null
            and a.result = coalesce(g.report -> 'result', 'null') then 'DUPLICATE'
          when a.outcome = 'failed' and g.report ->> 'failure' is not null then 'DUPLICATE'
          else 'STALE'
        end as status,
        -- What the report was answered the first time, kept with the failure.
        case when a.outcome = 'failed' and g.report ->> 'failure' is not null then (
          select f.value -> 'retryAt'
          from jobtree.job_item i
          cross join lateral jsonb_array_elements(i.failures) f
          where i.id = a.item_id and f.value ->> 'assignmentId' = a.id::text
        ) end as first_retry
      from (
        select r.*, row_number() over (partition by r.id order by r.n) as nth
        from (
          select (e.value ->> 'assignmentId')::uuid as id, e.value as report, e.n
          from jsonb_array_elements(p_reports) with ordinality e(value, n)
        ) r
      ) g
      left join jobtree.assignment a on a.id = g.id
    ) j
    where j.status <> 'ACCEPTED' or p_accepted ->> j.key is not null
  );
end
$$;
