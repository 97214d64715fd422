-- Removes a version of a type: what meets no other one is refused from now on, and without any the type takes everything. What was
-- added stays.
--
-- returns    whether there was such a version
create or replace function jobtree.delete_type_schema(p_type text, p_version integer)
returns boolean
language sql volatile
as $$
  with deleted as (delete from jobtree.type_schema t where t.type = p_type and t.version = p_version returning t.id)
  select exists (select from deleted);
$$;
