-- Whether a text is a name of 1 to p_most characters, not counting the prefix of its tenant.
create or replace function jobtree.is_name(p_text text, p_most integer)
returns boolean
language sql immutable parallel safe
as $$
  select length(p_text) - length(jobtree.tenant_beginning(p_text)) between 1 and p_most
$$;
