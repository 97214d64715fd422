-- Returns what a watch token for a tree is made of: the secret that signs it, and the time. Writes nothing.
--
-- p_job_id  the root of the tree
-- returns   the newest secret with its number, and the time in milliseconds
-- errors    JT001 no such job; JT002 it is not a root
create or replace function jobtree.new_watch_token(p_job_id uuid)
returns table (secret_id integer, secret bytea, now_ms double precision)
language plpgsql stable
as $$
begin
  perform jobtree.check_watched_tree(p_job_id);
  return query
  select s.id, s.secret, floor(extract(epoch from clock_timestamp()) * 1000)::double precision
  from jobtree.watch_secret s order by s.id desc limit 1;
end
$$;
