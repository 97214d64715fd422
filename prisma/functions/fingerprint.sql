-- The group of dead letters that a failure belongs to.
create or replace function jobtree.fingerprint(p_type text, p_code text, p_pattern text) returns uuid
language sql immutable parallel safe
as $$
  select md5(p_type || E'\x1f' || p_code || E'\x1f' || p_pattern)::uuid
$$;
