-- Finds what is wrong with a success whose job feeds child jobs: a forEach that does not lead to a list, a path that leads nowhere, new items
-- of a type that is not the type of exactly one fed child, more than 1,000 new items, more than 20 MB of them by mappings (a report of a few
-- kilobytes could create gigabytes), an invalid serialize key or one of a tenant that the child's type does not belong to, or a payload that
-- is nested too deeply once a mapping wraps it in an object. The mappings of cancelled children don't matter.
--
-- p_job_id   the job of the item
-- p_payload  the item's payload
-- p_report   {result, newItems?}
-- returns    the first problem: the field, and a sentence about it; no row if there is none
create or replace function jobtree.feed_problem(p_job_id uuid, p_payload json, p_report json)
returns table (field text, message text)
language sql stable
as $$
  with child as (
    select c.type, c.feed from jobtree.job c
    where c.parent_id = p_job_id and c.feed ->> 'source' = 'SUCCESSES' and c.cancelled_at is null
  )
  select p.field, p.message
  from (
    select coalesce(p_report -> 'result', 'null') as result, case json_typeof(p_report -> 'newItems') when 'array' then p_report -> 'newItems' end as new_items
  ) r
  cross join lateral (
    select 'result' as field, format('%s is not a list, so it can''t feed the job of type %s.', c.feed ->> 'forEach', c.type) as message
    from child c
    cross join lateral (select json_typeof(jobtree.feed_value(c.feed ->> 'forEach', p_payload, r.result, null)) as kind) l
    where c.feed ->> 'forEach' is not null and l.kind is distinct from 'array' and not (c.feed ->> 'forEach' like '%?' and l.kind = 'null')
    union all
    select 'newItems', format('The job has %s fed children of type %s; new items need exactly one.', f.children, n.value ->> 'type')
    from json_array_elements(r.new_items) n
    cross join lateral (
      select count(*) as children from jobtree.job c
      where c.parent_id = p_job_id and c.feed is not null and c.type = n.value ->> 'type'
    ) f
    where f.children <> 1
    union all
    select 'result',
      case when m.items > 1000 then format('The report would create %s new items; the limit is 1000.', m.items)
        else format('The report would create about %s MB of new items; the limit is 20 MB.', ceil(m.bytes / 1e6)) end
    from (
      select coalesce(sum(z.items), 0) + coalesce(json_array_length(r.new_items), 0) as items, coalesce(sum(z.bytes), 0) as bytes
      from child c
      cross join lateral jobtree.feed_size(c.feed, p_payload, r.result) z
    ) m
    where m.items > 1000 or m.bytes > 20e6
    union all
    select 'result', format('%s leads nowhere%s, so it can''t feed the job of type %s. If it may be missing, the mapping says %1$s?',
      g.path, case when g.element is not null then format(' in element %s of %s', g.element, c.feed ->> 'forEach') else '' end, c.type)
    from child c
    cross join lateral jobtree.feed_gap(c.feed, p_payload, r.result) g
    union all
    select 'result', format('%s is neither a text of 1 to 255 characters nor a number, so it can''t be the serialize key of a new item of type %s.',
      c.feed ->> 'serializeKey', c.type)
    from child c
    cross join lateral jobtree.feed_items(c.feed, p_payload, r.result) i
    where c.feed ? 'serializeKey' and (json_typeof(i.key) not in ('null', 'string', 'number')
      or json_typeof(i.key) <> 'null' and length(i.key #>> '{}') not between 1 and 255)
    union all
    select 'result', format('%s is a name of a tenant, so it can''t be the serialize key of a new item of type %s.', c.feed ->> 'serializeKey', c.type)
    from child c
    cross join lateral jobtree.feed_items(c.feed, p_payload, r.result) i
    where c.feed ? 'serializeKey' and jobtree.tenant_of(c.type) = '' and jobtree.tenant_of(i.key #>> '{}') <> ''
    union all
    select 'result', format('New items of type %s would be nested more than 256 levels deep.', c.type)
    from child c
    cross join lateral jsonb_each_text(case jsonb_typeof(c.feed -> 'payload') when 'object' then c.feed -> 'payload' else '{}' end) t(key, path)
    -- An element has fewer levels than the list that it comes from.
    where t.path !~ '^element' and jobtree.is_too_deep(jobtree.feed_value(t.path, p_payload, r.result, null)::text, 255)
    limit 1
  ) p
$$;
