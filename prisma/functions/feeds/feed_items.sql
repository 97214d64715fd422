-- The new items that one success of a parent creates for a child. Plain SQL, so that the planner inlines it, and drops what is not wanted.
--
-- p_feed     {forEach?: path to a list, payload?: a path, or an object whose values are paths, serializeKey?: a path to a text or a number}.
--            A path is payload, result or (with forEach) element, followed by keys or list positions, separated by dots:
--            result.lines.0.amount. Without payload: the element, or the whole result. No path leads nowhere, unless it ends with ? (feed_gap)
-- returns    one item, or one for each element of the list; no row if forEach does not lead to a list. The key is without the tenant of the
--            child's type, which is part of the stored key; null, or a JSON null, for an item without a key
create or replace function jobtree.feed_items(p_feed jsonb, p_payload json, p_result json)
returns table (payload json, key json, n bigint, element json)
language sql immutable
as $$
  select case jsonb_typeof(p_feed -> 'payload')
      when 'object' then (
        select coalesce(json_object_agg(t.key, jobtree.feed_value(t.value, p_payload, p_result, c.element)), '{}')
        from jsonb_each_text(p_feed -> 'payload') t
      )
      else jobtree.feed_value(
        coalesce(p_feed ->> 'payload', case when p_feed ->> 'forEach' is null then 'result' else 'element' end), p_payload, p_result, c.element
      )
    end, jobtree.feed_value(p_feed ->> 'serializeKey', p_payload, p_result, c.element), c.n, c.element
  from (select jobtree.feed_value(p_feed ->> 'forEach', p_payload, p_result, null) as list) f
  cross join lateral (
    select null::json as element, null::bigint as n where p_feed ->> 'forEach' is null
    union all
    select e.value, e.n from json_array_elements(case json_typeof(f.list) when 'array' then f.list else '[]' end) with ordinality e(value, n)
    where p_feed ->> 'forEach' is not null
  ) c
$$;
