-- The tenant that a name belongs to, as the beginning that all its names have: `acme//` of `acme//mail`. An empty text for a name of no tenant.
create or replace function jobtree.tenant_beginning(p_name text)
returns text
language sql immutable parallel safe
as $$
  select case when strpos(p_name, '//') between 2 and 41 then coalesce(substring(p_name from '^[a-z0-9-]{1,40}//'), '') else '' end
$$;
