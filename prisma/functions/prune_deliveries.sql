-- Removes settled deliveries that are older than 30 days, up to p_limit.
--
-- returns    how many
-- locks      old deliveries, skipping locked ones
create or replace function jobtree.prune_deliveries(p_limit integer default 1000)
returns integer
language sql volatile
set jit = off
set enable_seqscan = off
as $$
  with old as (
    select d.id from jobtree.callback_delivery d
    -- Their ids begin with the time of their creation.
    where d.id < (lpad(to_hex((extract(epoch from now() - interval '30 days') * 1000)::bigint), 12, '0') || repeat('0', 20))::uuid
      and d.due_at is null
    order by d.id
    limit p_limit
    for update skip locked
  ), gone as (
    delete from jobtree.callback_delivery d where d.id = any (array(select o.id from old o)) returning d.id
  )
  select count(*)::integer from gone
$$;
