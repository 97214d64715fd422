-- A name as those call it who belong to the tenant of another name: `mail` for `acme//mail` beside `acme//hook`. As it is beside a name of no
-- tenant, or of another one.
create or replace function jobtree.name_within(p_name text, p_beside text)
returns text
language sql immutable parallel safe
as $$
  select case when starts_with(p_name, b.beginning) then substr(p_name, length(b.beginning) + 1) else p_name end
  from (select jobtree.tenant_beginning(p_beside) as beginning) b
$$;
