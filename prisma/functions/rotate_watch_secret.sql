-- Stores a new secret that signs watch tokens from now on. Tokens that the previous secret has signed remain valid; those of older ones do
-- not. So two rotations invalidate all tokens.
--
-- p_secret  256 random bits
-- returns   the number of the new secret
-- locks     the table: rotations run one after the other
create or replace function jobtree.rotate_watch_secret(p_secret bytea)
returns integer
language plpgsql volatile
as $$
declare
  v_newest integer;
begin
  lock table jobtree.watch_secret in share row exclusive mode;
  select max(s.id) into v_newest from jobtree.watch_secret s;
  delete from jobtree.watch_secret s where s.id < v_newest;
  insert into jobtree.watch_secret (id, secret, created_at) values (coalesce(v_newest, 0) + 1, p_secret, clock_timestamp());
  return coalesce(v_newest, 0) + 1;
end
$$;
