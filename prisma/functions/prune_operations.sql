-- Removes finished operations that were requested more than 30 days ago, up to p_limit.
--
-- returns    how many
-- locks      old operations, skipping locked ones
create or replace function jobtree.prune_operations(p_limit integer default 1000)
returns integer
language sql volatile
set jit = off
set enable_seqscan = off
as $$
  with old as (
    select o.id from jobtree.operation o
    -- Their ids begin with the time of their creation.
    where o.id < (lpad(to_hex((extract(epoch from now() - interval '30 days') * 1000)::bigint), 12, '0') || repeat('0', 20))::uuid
      and o.finished_at is not null
    order by o.id
    limit p_limit
    for update skip locked
  ), gone as (
    delete from jobtree.operation o where o.id = any (array(select k.id from old k)) returning o.id
  )
  select count(*)::integer from gone
$$;
