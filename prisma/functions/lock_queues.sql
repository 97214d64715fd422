-- Gives a claim the right to decide about limited types: until its transaction ends, no other claim gives out items of them. So no two
-- claims take the same room, and there is no counter that could go wrong: the leases say what runs.
--
-- p_types    the types; the answer leaves out those that are neither paused nor limited
-- returns    for each how many items may be claimed, and when to look again (queue_rooms). room is null if another claim is deciding, until
--            that one commits
-- locks      the rows of queue that are not paused, skipping locked ones
-- errors     JT002 the transaction would not see what other claims have committed meanwhile
create or replace function jobtree.lock_queues(p_types text[])
returns table (type text, room integer, again_in_ms integer)
language plpgsql volatile
set jit = off
set enable_seqscan = off
set enable_bitmapscan = off
set enable_hashjoin = off
set enable_mergejoin = off
set plan_cache_mode = force_generic_plan
as $$
#variable_conflict use_column
declare
  v_now constant timestamptz := clock_timestamp();
  v_queue record;
  v_locked text[] := '{}';
  v_ended bigint;
  v_first bigint;
begin
  if current_setting('transaction_isolation') not in ('read committed', 'read uncommitted') then
    raise exception 'Claims of types with limits need the isolation level READ COMMITTED.' using errcode = 'JT002', column = 'types';
  end if;
  for v_queue in
    select q.type, q.concurrency, q.limited_at, q.first_lease from jobtree.queue q
    where q.type = any (p_types) and not q.paused and (q.concurrency is not null or q.rate_limit is not null)
    order by q.type
    for no key update skip locked
  loop
    v_locked := v_locked || v_queue.type;
    continue when v_queue.concurrency is null;
    if v_queue.limited_at is not null then
      -- Claims that were in progress when the limit was set didn't record their leases; a minute later they are over.
      perform jobtree.adopt_leases(v_queue.type);
      update jobtree.queue q set limited_at = null where q.type = v_queue.type and q.limited_at < v_now - interval '1 minute';
    end if;
    with ended as materialized (
      select k.ctid as tid from jobtree.queue_lease k
      left join lateral (select l.open from jobtree.lease l where l.id = k.lease_id offset 0) l on true
      where k.type = v_queue.type and k.id >= v_queue.first_lease and coalesce(l.open, B'0'::bit(128)) = B'0'::bit(128)
    ), gone as (
      delete from jobtree.queue_lease k where k.ctid = any (array(select e.tid from ended e)) returning k.id
    )
    select max(g.id) into v_ended from gone g;
    -- Before the first one there are only dead rows, which remain as long as an old snapshot is open.
    select min(k.id) into v_first from jobtree.queue_lease k where k.type = v_queue.type and k.id >= v_queue.first_lease;
    update jobtree.queue q set first_lease = coalesce(v_first, v_ended)
    where q.type = v_queue.type and q.first_lease < coalesce(v_first, v_ended) - 1000;
  end loop;

  -- New statements, which see what earlier claims have committed.
  return query
    select r.* from jobtree.queue_rooms(array(
      select q.type from jobtree.queue q where q.type = any (p_types) and (q.paused or q.type = any (v_locked))
    )) r;
  return query
    select q.type, null::integer, 0 from jobtree.queue q
    where q.type = any (p_types) and q.type <> all (v_locked) and not q.paused and (q.concurrency is not null or q.rate_limit is not null);
end
$$;
