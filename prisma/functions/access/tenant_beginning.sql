-- The prefix of all names of the tenant that a name belongs to: `acme//` for `acme//mail`. An empty text for a name without a tenant.
create or replace function jobtree.tenant_beginning(p_name text)
returns text
language sql immutable parallel safe
as $$
  select case when strpos(p_name, '//') between 2 and 41 then coalesce(substring(p_name from '^[a-z0-9-]{1,40}//'), '') else '' end
$$;
