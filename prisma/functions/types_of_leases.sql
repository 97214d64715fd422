-- The type of the items of each lease, for servers that validate results.
--
-- returns    no row for an unknown lease
create or replace function jobtree.types_of_leases(p_ids uuid[])
returns table (id uuid, type text)
language sql stable
set jit = off
set enable_seqscan = off
as $$
  select l.id, j.type
  from unnest(p_ids) u(id)
  cross join lateral (select * from jobtree.lease l where l.id = u.id limit 1) l
  cross join lateral (select * from jobtree.job j where j.id = l.job_id limit 1) j;
$$;
