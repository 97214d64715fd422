-- The tenant that a name belongs to; an empty text for a name without a tenant.
create or replace function jobtree.tenant_of(p_name text)
returns text
language sql immutable parallel safe
as $$
  select rtrim(jobtree.tenant_beginning(p_name), '/')
$$;
