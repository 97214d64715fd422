-- The jobs of a new tree. In the order of their paths, which is that of the document, parents come before their children.
--
-- p_tree     as create_job takes it; no more than one level below the deepest that create_job accepts is read
-- returns    for each job where it stands, the place of each ancestor and of itself among its siblings, from 1; and what is given for it
create or replace function jobtree.tree_nodes(p_tree json)
returns table (path integer[], spec json)
language sql immutable
as $$
  with recursive node as (
    select array[]::integer[] as path, p_tree as spec
    union all
    select n.path || c.ordinality::integer, c.value
    from node n
    cross join lateral json_array_elements(
      case json_typeof(n.spec -> 'children') when 'array' then n.spec -> 'children' end
    ) with ordinality c
    where cardinality(n.path) <= 32
  )
  select n.path, n.spec from node n
$$;
