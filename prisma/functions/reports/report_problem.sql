-- Finds what is wrong with a report, regardless of its job: an unknown key, a failure without a code or message, a time out of bounds, or
-- invalid new items.
--
-- p_report   as report_outcomes has it
-- returns    the first problem: the field, and a sentence about it; no row if there is none
create or replace function jobtree.report_problem(p_report jsonb)
returns table (field text, message text)
language sql stable
as $$
  select p.field, p.field || ' ' || p.message || '.'
  from (
    select i.field, i.message
    from jobtree.input_problem(p_report, '{assignmentId,result,failure,snoozeMs,newItems}') i
    union all
    select 'result', 'is nested more than 256 levels deep' where jobtree.is_too_deep((p_report -> 'result')::text)
    union all
    select 'failure', 'must be alone: a report has either a result (which may be null), a failure or snoozeMs'
    where (p_report ->> 'failure' is not null)::integer + (p_report ->> 'snoozeMs' is not null)::integer + (p_report ? 'result')::integer <> 1
      or not p_report ? 'result' and p_report ->> 'newItems' is not null
    union all
    select 'failure' || coalesce('.' || nullif(i.field, ''), ''), i.message
    from jobtree.input_problem(p_report -> 'failure', '{code,message,permanent,retryAfterMs,stack}') i
    where p_report ->> 'failure' is not null
    union all
    select 'failure', 'must have a code and a message'
    where p_report ->> 'failure' is not null and (p_report #>> '{failure,code}' is null or p_report #>> '{failure,message}' is null)
    union all
    select 'failure.retryAfterMs', 'can''t be combined with permanent: the item is not tried again'
    where (p_report #> '{failure,permanent}') = 'true' and p_report #>> '{failure,retryAfterMs}' is not null
    union all
    select format('newItems[%s]', e.n - 1) || coalesce('.' || nullif(i.field, ''), ''), i.message
    from jsonb_array_elements(case jsonb_typeof(p_report -> 'newItems') when 'array' then p_report -> 'newItems' end)
      with ordinality e(value, n)
    cross join lateral (
      select i.field, i.message from jobtree.input_problem(e.value, '{type,payload,dedupeKey,priority,runAt,serializeKey}') i
      union all
      select 'payload', 'is nested more than 256 levels deep' where jobtree.is_too_deep((e.value -> 'payload')::text)
    ) i
    limit 1
  ) p
  -- A quick check first: most reports are a valid result or a valid failure.
  where (case
    when p_report ? 'result' then p_report - '{assignmentId,result}'::text[] = '{}'
      and (pg_column_size(p_report) <= 512 or not jobtree.is_too_deep((p_report -> 'result')::text))
    else p_report - '{assignmentId,failure}'::text[] = '{}' and jsonb_typeof(p_report -> 'failure') = 'object'
      and (p_report -> 'failure') - '{code,message,permanent,stack}'::text[] = '{}'
      and jsonb_typeof(p_report #> '{failure,code}') = 'string' and length(p_report #>> '{failure,code}') between 1 and 200
      and jsonb_typeof(p_report #> '{failure,message}') = 'string' and length(p_report #>> '{failure,message}') <= 10000
      and coalesce(jsonb_typeof(p_report #> '{failure,permanent}'), 'boolean') = 'boolean'
      and coalesce(jsonb_typeof(p_report #> '{failure,stack}'), 'string') = 'string'
      and coalesce(length(p_report #>> '{failure,stack}'), 0) <= 4096
  end) is not true
$$;
