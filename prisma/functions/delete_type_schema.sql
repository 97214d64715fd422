-- Removes a version of a type's schemas. From now on, data that fits no other version is rejected; without any version the type accepts
-- everything. What was added before stays.
--
-- returns    whether there was such a version
create or replace function jobtree.delete_type_schema(p_type text, p_version integer)
returns boolean
language sql volatile
as $$
  with deleted as (delete from jobtree.type_schema t where t.type = p_type and t.version = p_version returning t.id)
  select exists (select from deleted);
$$;
