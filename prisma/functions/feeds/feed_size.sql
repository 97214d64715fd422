-- What one success of a parent would create for a child by its mapping, without creating it.
--
-- p_feed     as feed_items takes it
-- returns    how many items, and about how many bytes their payloads have in all: too high if the mapping takes parts of list elements
create or replace function jobtree.feed_size(p_feed jsonb, p_payload json, p_result json)
returns table (items bigint, bytes bigint)
language sql immutable
as $$
  select min(c.items), coalesce(sum(
    case split_part(t.path, '.', 1)
      -- All elements together are no larger than the list.
      when 'element' then pg_column_size(c.list)
      -- The same value for each item.
      else c.items * pg_column_size(jobtree.feed_value(t.path, p_payload, p_result, null))
    end + c.items * length(t.key)
  ), 0)::bigint
  from (
    select l.list,
      case
        when p_feed ->> 'forEach' is null then 1
        when json_typeof(l.list) = 'array' then json_array_length(l.list)
        else 0
      end::bigint as items
    from (select jobtree.feed_value(p_feed ->> 'forEach', p_payload, p_result, null) as list) l
  ) c
  left join lateral (
    select e.key, e.value as path
    from jsonb_each_text(case jsonb_typeof(p_feed -> 'payload') when 'object' then p_feed -> 'payload' else '{}' end) e
    union all
    select '', coalesce(p_feed ->> 'payload', case when p_feed ->> 'forEach' is null then 'result' else 'element' end)
    where jsonb_typeof(p_feed -> 'payload') is distinct from 'object'
  ) t on true
$$;
