-- The schemas of a version of a type, for servers that validate.
--
-- returns    a row, or none if the version was deleted
create or replace function jobtree.read_schema(p_id uuid)
returns table (payload json, result json)
language sql stable
as $$
  select t.payload, t.result from jobtree.type_schema t where t.id = p_id;
$$;
