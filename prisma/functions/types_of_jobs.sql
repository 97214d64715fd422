-- The type of each job, for servers that validate payloads.
--
-- returns    no row for an unknown job
create or replace function jobtree.types_of_jobs(p_ids uuid[])
returns table (id uuid, type text)
language sql stable
set jit = off
set enable_seqscan = off
as $$
  select j.id, j.type from jobtree.job j where j.id = any (p_ids);
$$;
