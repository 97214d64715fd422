-- Passes on serialize keys whose heads have ended but whose next item could not follow at once, because of a lock or because the call left
-- it for later. Looks at p_limit ended heads in the order of their keys: call it again until it returns no key, to go through all of them.
--
-- p_from     the key after which it starts
-- returns    how many heads; the key to continue from, null at the end; and the types that got ready items, and how many
-- locks      ended heads and keys, skipping locked ones, and those of promote_next
create or replace function jobtree.promote_blocked(p_from text default '', p_limit integer default 1000)
returns table (promoted integer, next_from text, ready jsonb)
language plpgsql volatile
-- plans: no seqscan, hashjoin, mergejoin, bitmapscan; generic
as $$
declare
  v_picked record;
  v_ended record;
  v_left record;
begin
  select array_agg(p.tid) as tids, case when count(*) = p_limit then max(p.key) end as next_from into v_picked
  from (
    select e.ctid as tid, e.key from jobtree.ended_head e
    where not e.held and e.key > p_from
    order by e.key
    limit p_limit
  ) p;
  -- Rows of items that were not the head, or whose key has passed to the next item since.
  delete from jobtree.ended_head e
  where e.ctid = any (array(
    select o.ctid from jobtree.ended_head o
    where o.ctid = any (v_picked.tids) and coalesce(not o.held, false)
      and not exists (select from jobtree.serialize_key k where k.key = o.key and k.job_id = o.job_id and k.position = o.position offset 0)
    for update of o skip locked
  ));
  with head as materialized (
    select e.key, e.job_id, e.position from jobtree.ended_head e
    -- Written so that the planner can't use the index of those that are not held, all of which it would read.
    where e.ctid = any (v_picked.tids) and coalesce(not e.held, false)
    for update skip locked
  ), free as materialized (
    select h.* from head h
    join jobtree.serialize_key k on k.key = h.key and k.job_id = h.job_id and k.position = h.position
    for update of k skip locked
  )
  select array_agg(f.key) as keys, array_agg(f.job_id) as job_ids, array_agg(f.position) as positions into v_ended from free f;
  if v_ended.keys is null then
    return query select 0, v_picked.next_from, null::jsonb;
    return;
  end if;
  select * into v_left from jobtree.promote_next(v_ended.keys, v_ended.job_ids, v_ended.positions);
  delete from jobtree.ended_head e
  using (
    select u.job_id, u.position from unnest(v_ended.job_ids, v_ended.positions) u(job_id, position)
    where (u.job_id, u.position) not in (select l.job_id, l.position from unnest(v_left.job_ids, v_left.positions) l(job_id, position))
    offset 0
  ) u
  where e.job_id = u.job_id and e.position = u.position;
  return query select cardinality(v_ended.keys) - coalesce(cardinality(v_left.keys), 0), v_picked.next_from, v_left.ready;
end
$$;
