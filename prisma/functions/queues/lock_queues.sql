-- Gives a claim the right to decide about limited types: until its transaction ends, no other claim gives out items of them. So no two
-- claims take the same room. Also adds up what has ended since the last claim.
--
-- p_types    the types; the answer leaves out those that are neither paused nor limited
-- returns    for each how many items may be claimed, and when to look again (queue_rooms); and whether its concurrency is limited, so that
--            new leases count. room is null if another claim is deciding, until that one commits
-- locks      the rows of queue that are not paused, skipping locked ones
-- errors     JT002 the transaction would not see what other claims have committed meanwhile
create or replace function jobtree.lock_queues(p_types text[])
returns table (type text, room integer, again_in_ms integer, counts boolean)
language plpgsql volatile
-- plans: no seqscan, bitmapscan, hashjoin, mergejoin; generic
as $$
#variable_conflict use_column
declare
  v_queue record;
  v_locked text[] := '{}';
begin
  if current_setting('transaction_isolation') not in ('read committed', 'read uncommitted') then
    raise exception 'Claims of types with limits need the isolation level READ COMMITTED.' using errcode = 'JT002', column = 'types';
  end if;
  for v_queue in
    select q.type, q.concurrency, q.limited_by, q.limited_by <= pg_snapshot_xmin(pg_current_snapshot()) as is_over from jobtree.queue q
    where q.type = any (p_types) and not q.paused and (q.concurrency is not null or q.rate_limit is not null)
    order by q.type
    for no key update skip locked
  loop
    v_locked := v_locked || v_queue.type;
    continue when v_queue.concurrency is null;
    if v_queue.limited_by is not null then
      perform jobtree.adopt_leases(array[v_queue.type]);
      -- The first look at a new limit notes the next transaction: all before it may have claimed without the limit. Once they have ended, the
      -- limit is no longer new, unless a lease was locked just now.
      update jobtree.queue q set limited_by = case when not v_queue.is_over then pg_snapshot_xmax(pg_current_snapshot()) end
      where q.type = v_queue.type and case when v_queue.is_over then jobtree.uncounted_items(q.type) = 0
        else q.limited_by > pg_snapshot_xmax(pg_current_snapshot()) end;
    end if;
    if (select count(*) from jobtree.held_deltas(v_queue.type)) > 1 then
      with gone as (
        delete from jobtree.held_delta d where d.ctid = any (array(select h.tid from jobtree.held_deltas(v_queue.type) h)) returning d.items
      )
      insert into jobtree.held_delta (type, items, seen) select v_queue.type, sum(g.items), pg_current_snapshot() from gone g;
    end if;
  end loop;

  -- A new statement, which sees what earlier claims have committed; and one only, since a queue may be paused or resumed at any time: of two
  -- looks at it, each could leave it to the other.
  return query
    select r.*, q.concurrency is not null
    from jobtree.queue_rooms(array(
      select q.type from jobtree.queue q where q.type = any (p_types) and (q.paused or q.type = any (v_locked))
    )) r
    cross join lateral (select q.concurrency from jobtree.queue q where q.type = r.type offset 0) q
    union all
    select q.type, null, 0, null from jobtree.queue q
    where q.type = any (p_types) and q.type <> all (v_locked) and not q.paused and (q.concurrency is not null or q.rate_limit is not null);
end
$$;
