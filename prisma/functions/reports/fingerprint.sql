-- The group of dead letters that a failure belongs to. "1 cell" and "3 cells" are of one: a plural s after a number doesn't count.
create or replace function jobtree.fingerprint(p_type text, p_code text, p_pattern text) returns uuid
language sql immutable parallel safe
as $$
  select md5(p_type || E'\x1f' || p_code || E'\x1f' || regexp_replace(p_pattern, '(… \w+)s\M', '\1', 'g'))::uuid
$$;
