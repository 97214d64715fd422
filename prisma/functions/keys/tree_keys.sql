-- The serialize keys of the items that a new tree starts with, except those of jobs that wait for others. Leaves out invalid keys, which
-- check_job rejects.
--
-- p_tree     as create_job takes it
create or replace function jobtree.tree_keys(p_tree json)
returns text[]
language sql immutable
as $$
  select array_agg(i.value ->> 'serializeKey')
  from jobtree.tree_nodes(p_tree) n
  cross join lateral json_array_elements(case json_typeof(n.spec -> 'items') when 'array' then n.spec -> 'items' end) i
  where coalesce(json_array_length(case json_typeof(n.spec -> 'after') when 'array' then n.spec -> 'after' end), 0) = 0
    and jobtree.is_name(i.value ->> 'serializeKey', 255)
$$;
