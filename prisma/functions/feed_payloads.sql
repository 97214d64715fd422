-- The payloads of the new items that one success of a parent makes for a child.
--
-- p_feed     {forEach?: path to a list, payload?: a path, or an object whose values are paths}. A path is payload,
--            result or (with forEach) element, then keys or list positions behind dots: result.lines.0.amount.
--            Without payload: the element, or the whole result. A path to nothing gives null.
-- returns    one payload, or one for each element of the list; with forEach that leads to no list: no row at all
create or replace function jobtree.feed_payloads(p_feed jsonb, p_payload jsonb, p_result jsonb)
returns setof jsonb
language sql immutable
as $$
  select case jsonb_typeof(f.template)
    when 'object' then (
      select coalesce(
        jsonb_object_agg(t.key, coalesce(c.context #> string_to_array(t.value, '.'), 'null')),
        '{}'
      )
      from jsonb_each_text(f.template) t
    )
    else coalesce(c.context #> string_to_array(f.template #>> '{}', '.'), 'null')
  end
  from (
    select
      jsonb_build_object('payload', p_payload, 'result', p_result) as base,
      string_to_array(p_feed ->> 'forEach', '.') as each_path,
      coalesce(p_feed -> 'payload', case when p_feed ->> 'forEach' is null then '"result"' else '"element"' end::jsonb) as template
  ) f
  cross join lateral (
    select f.base as context where f.each_path is null
    union all
    select f.base || jsonb_build_object('element', e.value)
    from jsonb_array_elements(
      case jsonb_typeof(f.base #> f.each_path) when 'array' then f.base #> f.each_path else '[]' end
    ) e
    where f.each_path is not null
  ) c
$$;
