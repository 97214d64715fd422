-- Finds a path of a mapping that leads nowhere though it is not optional, for one success of a parent. forEach is not examined: it has to lead
-- to a list (feed_problem).
--
-- p_feed     as feed_items takes it. The caller has bounded what it would create (feed_size)
-- returns    the path, and the element where it leads nowhere, from 1; no row if each path leads somewhere
create or replace function jobtree.feed_gap(p_feed jsonb, p_payload json, p_result json)
returns table (path text, element bigint)
language sql immutable
as $$
  select t.path, c.n
  from jobtree.feed_items(p_feed, p_payload, p_result) c
  cross join lateral (
    select p_feed ->> 'serializeKey' as path
    union all
    select e.value from jsonb_each_text(case jsonb_typeof(p_feed -> 'payload') when 'object' then p_feed -> 'payload' else '{}' end) e
    union all
    select p_feed ->> 'payload' where jsonb_typeof(p_feed -> 'payload') = 'string'
  ) t
  where t.path is not null and jobtree.feed_value(t.path, p_payload, p_result, c.element) is null
  limit 1
$$;
