-- Creates the secret that signs watch tokens, if there is none yet. Every server calls it when it starts.
--
-- p_secret  256 random bits
create or replace function jobtree.init_watch_secret(p_secret bytea)
returns void
language plpgsql volatile
as $$
begin
  insert into jobtree.watch_secret (id, secret, created_at)
  select 1, p_secret, clock_timestamp() where not exists (select from jobtree.watch_secret)
  on conflict (id) do nothing;
end
$$;
