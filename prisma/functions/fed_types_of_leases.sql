-- The types of the jobs that successes under each lease feed by mappings, for servers that validate the resulting payloads.
--
-- returns    no row for an unknown lease, and an empty list if nothing is fed
create or replace function jobtree.fed_types_of_leases(p_ids uuid[])
returns table (id uuid, type text[])
language sql stable
set jit = off
set enable_seqscan = off
as $$
  select l.id, array(
    select c.type from jobtree.job c
    where c.parent_id = l.job_id and c.feed ->> 'source' = 'SUCCESSES'
  )
  from unnest(p_ids) u(id)
  cross join lateral (select * from jobtree.lease l where l.id = u.id limit 1) l;
$$;
