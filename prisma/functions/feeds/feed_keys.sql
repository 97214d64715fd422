-- The serialize keys of the new items that one success of a parent creates for a child, in the order of their payloads: feed_payloads.
--
-- p_feed     with serializeKey, a path to a text or a number, without the tenant of the child's type, which is part of the stored key; a
--            null for an item without a key
-- returns    one value for each new item
create or replace function jobtree.feed_keys(p_feed jsonb, p_payload json, p_result json)
returns setof json
language sql immutable
as $$
  select jobtree.feed_value(p_feed ->> 'serializeKey', p_payload, p_result, c.element)
  from (select jobtree.feed_value(p_feed ->> 'forEach', p_payload, p_result, null) as list) f
  cross join lateral (
    select null::json as element where p_feed ->> 'forEach' is null
    union all
    select e.value
    from json_array_elements(case json_typeof(f.list) when 'array' then f.list else '[]' end) e
    where p_feed ->> 'forEach' is not null
  ) c
$$;
