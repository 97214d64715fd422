-- What is wrong with reports whose successes feed child jobs: a forEach that leads to no list, or new items for a
-- type that is not the type of exactly one fed child.
--
-- p_ids      unfinished assignments
-- p_reports  JSON object of the report that counts for each: report_outcomes
-- returns    the first problem of each report that has one
create or replace function jobtree.feed_problems(p_ids uuid[], p_reports jsonb)
returns table (assignment_id uuid, field text, message text)
language sql stable
as $$
  select distinct on (p.id) p.id, p.field, p.message
  from (
    select a.id, 'result' as field,
      format('%s is not a list, so it can''t feed the job of type %s.', c.feed ->> 'forEach', c.type) as message
    from jobtree.assignment a
    cross join lateral (select p_reports -> a.id::text) r(value)
    join jobtree.job_item i on i.id = a.item_id
    join jobtree.job c on c.parent_id = a.job_id
    where a.id = any (p_ids) and not r.value ? 'failure'
      and c.feed ->> 'source' = 'SUCCESSES' and c.feed ->> 'forEach' is not null
      and jsonb_typeof(
        jsonb_build_object('payload', i.payload, 'result', r.value -> 'result') #> string_to_array(c.feed ->> 'forEach', '.')
      ) is distinct from 'array'
    union all
    select a.id, 'newItems',
      format('The job has %s fed children of type %s; new items need exactly one.', f.children, n.value ->> 'type')
    from jobtree.assignment a
    cross join lateral (select p_reports -> a.id::text) r(value)
    cross join lateral jsonb_array_elements(r.value -> 'newItems') n
    cross join lateral (
      select count(*) as children from jobtree.job c
      where c.parent_id = a.job_id and c.feed is not null and c.type = n.value ->> 'type'
    ) f
    where a.id = any (p_ids) and not r.value ? 'failure' and f.children <> 1
  ) p
  order by p.id
$$;
