-- A name as members of another name's tenant see it: `mail` for `acme//mail` next to `acme//hook`. Unchanged if the other name has another
-- tenant, or none.
create or replace function jobtree.name_within(p_name text, p_beside text)
returns text
language sql immutable parallel safe
as $$
  select case when starts_with(p_name, b.beginning) then substr(p_name, length(b.beginning) + 1) else p_name end
  from (select jobtree.tenant_beginning(p_beside) as beginning) b
$$;
