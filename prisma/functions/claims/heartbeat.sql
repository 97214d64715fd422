-- Keeps assignments alive: the deadline of each moves to three heartbeat intervals from now. All of them count as started.
--
-- returns    for each assignment HELD, FINISHED (its outcome was reported), CANCELLED, or LOST (unknown, released or taken back); unless it
--            is HELD, the worker must stop working on it
-- locks, durability   those of keep_leases
create or replace function jobtree.heartbeat(p_ids uuid[])
returns table (assignment_id uuid, status text)
language plpgsql volatile
set plan_cache_mode = force_generic_plan
as $$
begin
  return query
  with given as materialized (
    select u.id, u.n, jobtree.lease_id(u.id) as lease_id, jobtree.assignment_number(u.id) as number
    from unnest(p_ids) with ordinality u(id, n)
  ), leases as (
    select array_agg(l.lease_id) as ids, array_agg(l.named) as named
    from (
      select g.lease_id, bit_or(jobtree.bit_at(g.number)) as named from given g where g.number > 0 group by g.lease_id
    ) l
  ), ended as materialized (
    select k.* from leases l cross join lateral jobtree.keep_leases(l.ids, l.named, l.named) k
  )
  select g.id, case when g.number = 0 then 'LOST' else coalesce(e.status, 'HELD') end
  from given g
  left join ended e on e.lease_id = g.lease_id and e.number = g.number
  order by g.n;
end
$$;
