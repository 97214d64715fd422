-- Gives items back unfinished, to their old place, where they can be claimed at once. Costs no attempt: a deploy is no failure.
--
-- p_lost     whether their worker has fallen silent before it started them
-- returns    for each assignment RELEASED, or STALE if it holds no item (any more), with the type and the place of what came back
-- locks      the leases, in the order of their ids
create or replace function jobtree.release_assignments(p_ids uuid[], p_lost boolean default false)
returns table (assignment_id uuid, status text, type text, priority smallint, place bigint)
language plpgsql volatile
-- plans: no seqscan, bitmapscan, hashjoin, mergejoin; generic
as $$
#variable_conflict use_column
declare
  v_given record;
begin
  perform from jobtree.lease l where l.id = any (array(select jobtree.lease_id(u) from unnest(p_ids) u)) order by l.id for update;

  with given as materialized (
    select distinct on (l.id, a.number) u.id, a.number, l.id as lease_id, l.job_id, l.position + a.number - 1 as position, l.attempt, l.priority,
      p_lost or l.lost as lost, j.type
    from unnest(p_ids) u(id)
    cross join lateral (select jobtree.assignment_number(u.id) as number) a
    join jobtree.lease l on l.id = jobtree.lease_id(u.id)
    join jobtree.job j on j.id = l.job_id
    where case when a.number > 0 then get_bit(l.open, a.number - 1) = 1 end and j.cancelled_at is null
    order by l.id, a.number
  ), closed as (
    update jobtree.lease l
    set open = l.open # g.bits, check_at = case when l.open <> g.bits then l.check_at end
    from (select g.lease_id, bit_or(jobtree.bit_at(g.number)) as bits from given g group by g.lease_id) g
    where l.id = g.lease_id
  )
  select jsonb_object_agg(g.id, jsonb_build_array(g.type, g.priority, g.position)) as by_id,
    array_agg(row(g.job_id, g.position, g.attempt, g.priority, null, g.lost)::jobtree.waiting_item) as items
  into v_given
  from given g;

  perform jobtree.requeue(v_given.items, false);
  perform jobtree.prune_leases(array(select jobtree.lease_id(u) from unnest(p_ids) u));
  return query
  select u.id, case when g.given is null then 'STALE' else 'RELEASED' end, g.given ->> 0, (g.given ->> 1)::smallint, (g.given ->> 2)::bigint
  from unnest(p_ids) with ordinality u(id, n)
  cross join lateral (select v_given.by_id -> u.id::text as given offset 0) g
  order by u.n;
end
$$;
