-- The payloads of the new items that one success of a parent creates for a child.
--
-- p_feed     {forEach?: path to a list, payload?: a path, or an object whose values are paths}. A path is payload, result or (with forEach)
--            element, followed by keys or list positions, separated by dots: result.lines.0.amount. Without payload: the element, or the
--            whole result. No path leads nowhere, unless it ends with ? (feed_gap)
-- returns    one payload, or one for each element of the list; no row if forEach does not lead to a list
create or replace function jobtree.feed_payloads(p_feed jsonb, p_payload json, p_result json)
returns setof json
language sql immutable
as $$
  select case jsonb_typeof(f.template)
    when 'object' then (
      select coalesce(json_object_agg(t.key, jobtree.feed_value(t.value, p_payload, p_result, c.element)), '{}')
      from jsonb_each_text(f.template) t
    )
    else jobtree.feed_value(f.template #>> '{}', p_payload, p_result, c.element)
  end
  from (
    select
      jobtree.feed_value(p_feed ->> 'forEach', p_payload, p_result, null) as list,
      coalesce(p_feed -> 'payload', case when p_feed ->> 'forEach' is null then '"result"' else '"element"' end::jsonb) as template
  ) f
  cross join lateral (
    select null::json as element where p_feed ->> 'forEach' is null
    union all
    select e.value
    from json_array_elements(case json_typeof(f.list) when 'array' then f.list else '[]' end) e
    where p_feed ->> 'forEach' is not null
  ) c
$$;
