-- What is wrong with reports whose successes feed child jobs: a forEach that leads to no list, new items for a type that
-- is not the type of exactly one fed child, more than 1,000 new items, or more than 20 MB of them by mappings: a report
-- of a few kilobytes could name gigabytes.
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
    union all
    select a.id, 'result',
      case when m.items + n.items > 1000 then format('The report would make %s new items; the limit is 1000.', m.items + n.items)
        else format('The report would make about %s MB of new items; the limit is 20 MB.', ceil(m.bytes / 1e6)) end
    from jobtree.assignment a
    cross join lateral (select p_reports -> a.id::text) r(value)
    join jobtree.job_item i on i.id = a.item_id
    cross join lateral (
      select coalesce(sum(z.items), 0) as items, coalesce(sum(z.bytes), 0) as bytes
      from jobtree.job c
      cross join lateral jobtree.feed_size(c.feed, i.payload, coalesce(r.value -> 'result', 'null')) z
      where c.parent_id = a.job_id and c.feed ->> 'source' = 'SUCCESSES' and c.cancelled_at is null
    ) m
    cross join lateral (select coalesce(jsonb_array_length(r.value -> 'newItems'), 0) as items) n
    where a.id = any (p_ids) and not r.value ? 'failure' and (m.items + n.items > 1000 or m.bytes > 20e6)
  ) p
  order by p.id
$$;
