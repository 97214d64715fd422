-- The value that a path of a feed leads to: payload, result or element, followed by keys or list positions, separated by dots. A path that
-- ends with ? is optional. Each path is looked up in its own root: an object of all three would be copied for every element of a list.
--
-- returns    any JSON; for a path that leads nowhere the JSON null if it is optional, else no value
create or replace function jobtree.feed_value(p_path text, p_payload json, p_result json, p_element json)
returns json
language sql immutable
as $$
  select coalesce(
    case split_part(f.path, '.', 1) when 'payload' then p_payload when 'result' then p_result when 'element' then p_element end
      #> (string_to_array(f.path, '.'))[2:],
    case when f.is_optional then json 'null' end
  )
  from (select right(p_path, 1) = '?' as is_optional, case when right(p_path, 1) = '?' then left(p_path, -1) else p_path end as path) f
$$;
