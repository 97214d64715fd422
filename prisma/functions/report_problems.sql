-- What is wrong with reports that are more than a result: a key that is not known, a failure without its code or message,
-- new items that are none. (Where all of a batch have a result alone and feed nothing, nobody looks for unknown keys.)
--
-- p_ids      unfinished assignments
-- p_reports  JSON object of the report that counts for each: report_outcomes
-- returns    the first problem of each report that has one
create or replace function jobtree.report_problems(p_ids uuid[], p_reports jsonb)
returns table (assignment_id uuid, field text, message text)
language sql stable
as $$
  select r.id, p.field, p.field || ' ' || p.message || '.'
  from unnest(p_ids) with ordinality o(id, n)
  cross join lateral (select o.id, p_reports -> o.id::text as value) r
  cross join lateral (
    select i.field, i.message from jobtree.input_problem(r.value, '{assignmentId,result,failure,newItems}') i
    union all
    select 'failure', 'must stand alone: a report has a result (null is one) or a failure'
    where (r.value ->> 'failure' is not null) = (r.value ? 'result')
      or r.value ->> 'failure' is not null and r.value ->> 'newItems' is not null
    union all
    select 'failure' || coalesce('.' || nullif(i.field, ''), ''), i.message
    from jobtree.input_problem(r.value -> 'failure', '{code,message,permanent}') i
    where r.value ->> 'failure' is not null
    union all
    select 'failure', 'must have a code and a message'
    where r.value ->> 'failure' is not null and (r.value #>> '{failure,code}' is null or r.value #>> '{failure,message}' is null)
    union all
    select format('newItems[%s]', e.n - 1) || coalesce('.' || nullif(i.field, ''), ''), i.message
    from jsonb_array_elements(case jsonb_typeof(r.value -> 'newItems') when 'array' then r.value -> 'newItems' end)
      with ordinality e(value, n)
    cross join lateral jobtree.input_problem(e.value, '{type,payload,dedupeKey,priority,runAt}') i
    limit 1
  ) p
  where r.value - '{assignmentId,result}'::text[] <> '{}' or not r.value ? 'result'
$$;
