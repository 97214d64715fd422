-- Compares what the deltas say with the leases of limited types, and adds the difference, so that no error lasts. Also has leases count
-- that began before the concurrency was limited, and removes the deltas of types that are not limited any more.
--
-- returns    the types whose deltas were wrong, and by how much
-- locks      an advisory lock, without waiting, since two calls would add a difference twice; those of adopt_leases; at the end rows of
--            queue, skipping locked ones
create or replace function jobtree.correct_held()
returns table (type text, items integer)
language plpgsql volatile
-- plans: no seqscan, bitmapscan, mergejoin
as $$
#variable_conflict use_column
declare
  -- The types whose limit is new. One that is limited while this goes on is left to the next call.
  v_new constant text[] := array(select q.type from jobtree.queue q where q.limited_by is not null);
begin
  if not pg_try_advisory_xact_lock(hashtextextended('jobtree.correct_held', 0)) then
    return;
  end if;
  perform jobtree.adopt_leases(array_agg(q.type)) from jobtree.queue q where q.concurrency is not null having count(*) > 0;
  return query
    -- In one snapshot: whatever ends an item changes both.
    with wrong as (
      select q.type, h.items - coalesce(d.items, 0) as items
      from jobtree.queue q
      cross join lateral (
        select coalesce(sum(bit_count(l.open)), 0) as items from jobtree.lease l where l.limited_type = q.type and l.check_at is not null
      ) h
      cross join lateral (select sum(d.items) as items from jobtree.held_delta d where d.type = q.type) d
      where q.concurrency is not null
    )
    insert into jobtree.held_delta (type, items) select w.type, w.items from wrong w where w.items <> 0
    returning held_delta.type, held_delta.items;
  delete from jobtree.held_delta d
  where not exists (select from jobtree.queue q where q.type = d.type and q.concurrency is not null);
  -- Claims need not look any more, even if a transaction from before the limit lasts: the next call adopts what it has claimed.
  update jobtree.queue q set limited_by = null
  where q.ctid = any (array(select q.ctid from jobtree.queue q where q.type = any (v_new) for no key update skip locked));
end
$$;
