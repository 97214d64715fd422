-- The value that a path of a feed leads to: payload, result or element, followed by keys or list positions, separated by dots; null if it
-- leads nowhere. Each path is looked up in its own root: an object of all three would be copied for every element of a list.
--
-- returns    any JSON
create or replace function jobtree.feed_value(p_path text, p_payload json, p_result json, p_element json)
returns json
language sql immutable
as $$
  select coalesce(
    case split_part(p_path, '.', 1) when 'payload' then p_payload when 'result' then p_result when 'element' then p_element end
      #> (string_to_array(p_path, '.'))[2:],
    'null'
  )
$$;
