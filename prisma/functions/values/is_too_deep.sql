-- Whether lists and objects of a JSON text are nested more than p_most levels deep: thousands of levels exhaust the stack of any code that
-- writes or inspects the value. For nearly all texts two counts are enough to tell, and cost next to nothing.
--
-- p_json     JSON that is known to be storable
-- p_most     the maximum number of levels; a list of numbers has 1
create or replace function jobtree.is_too_deep(p_json text, p_most integer default 256)
returns boolean
language sql immutable
as $$
  select case
    when octet_length(p_json) <= 2 * p_most then false
    when octet_length(p_json) - octet_length(replace(replace(p_json, '[', ''), '{', '')) <= p_most then false
    else jsonb_path_exists(p_json::jsonb, format('strict $.**{%s} ? (@.type() == "array" || @.type() == "object")', p_most)::jsonpath)
  end
$$;
