-- Passes on serialize keys whose heads have ended but whose next item could not follow at once, because of a lock or because the call left
-- it for later. Call it again at once as long as a batch was full.
--
-- returns    how many heads; and the types that got ready items, and how many
-- locks      ended heads and keys, skipping locked ones, and those of promote_next
create or replace function jobtree.promote_blocked(p_limit integer default 1000)
returns table (promoted integer, ready jsonb)
language plpgsql volatile
set jit = off
set enable_seqscan = off
set enable_hashjoin = off
set enable_mergejoin = off
set enable_bitmapscan = off
set plan_cache_mode = force_generic_plan
as $$
declare
  v_ended record;
  v_promoted record;
begin
  -- Rows of items that were not the head, or whose key has passed to the next item since.
  delete from jobtree.ended_head e
  where e.ctid = any (array(
    select o.ctid from jobtree.ended_head o
    where not o.held
      and not exists (select from jobtree.serialize_key k where k.key = o.key and k.job_id = o.job_id and k.position = o.position offset 0)
    for update of o skip locked
  ));
  select array_agg(f.key) as keys, array_agg(f.job_id) as job_ids, array_agg(f.position) as positions into v_ended
  from (
    select e.* from jobtree.ended_head e
    join jobtree.serialize_key k on k.key = e.key and k.job_id = e.job_id and k.position = e.position
    where not e.held
    order by e.key
    limit p_limit
    for update of e, k skip locked
  ) f;
  if v_ended.keys is null then
    return query select 0, null::jsonb;
    return;
  end if;
  select * into v_promoted from jobtree.promote_next(v_ended.keys, v_ended.job_ids, v_ended.positions);
  delete from jobtree.ended_head e
  using unnest(v_ended.job_ids, v_ended.positions) with ordinality u(job_id, position, n)
  where e.job_id = u.job_id and e.position = u.position and (u.n = any (v_promoted.unpassed)) is not true;
  return query select cardinality(v_ended.keys) - coalesce(cardinality(v_promoted.unpassed), 0), v_promoted.ready;
end
$$;
