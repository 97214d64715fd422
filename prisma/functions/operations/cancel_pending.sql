-- Cancels pending items. Waiting items leave the queue or the line of their key; held ones end, which their workers learn from the next
-- heartbeat or report. Serialize keys that they had pass to the next items.
--
-- p_ranges   the items (matching_pending)
-- p_now      whether the next items proceed at once, as free_keys has it
-- returns    how many items were cancelled: locked ones are left; the trees that changed; and the types that got ready items, and how many
-- locks      blocked items, queue entries, leases and those of promote_next, skipping locked ones
create or replace function jobtree.cancel_pending(p_ranges jobtree.pending_range[], p_now boolean)
returns table (done bigint, root_ids uuid[], ready jsonb)
language plpgsql volatile
-- plans: no seqscan, bitmapscan, hashjoin, mergejoin; generic
as $$
declare
  v_blocked jobtree.item_range[];
  v_waiting jobtree.item_range[];
  v_held jobtree.item_range[];
begin
  with picked as materialized (
    select b.ctid as tid, b.job_id, b.position
    from unnest(p_ranges) r
    join jobtree.blocked_item b on b.job_id = r.job_id and b.position = r.position
    where r.blocked
    order by b.job_id, b.position
    for update of b skip locked
  ), gone as (
    delete from jobtree.blocked_item b where b.ctid = any (array(select p.tid from picked p))
  )
  select array_agg(row(p.job_id, p.position, 1, false)::jobtree.item_range) into v_blocked from picked p;

  select array_agg(row(e.job_id, e.position + r."from", r.count, e.keyed)::jobtree.item_range) into v_waiting
  from jobtree.take_entries(p_ranges) t
  cross join lateral unnest(t.entries, t.taken)
    e(job_id, position, place, bytes, run_at, attempt, count, priority, type, keyed, ready_at, lost, taken)
  cross join lateral jobtree.bit_runs(e.taken, e.count) r;

  with picked as materialized (
    select l.id, l.job_id, l.position, l.count, l.keyed, l.open & r.items as items
    from unnest(p_ranges) r
    join jobtree.lease l on l.id = r.lease_id
    order by l.id
    for update of l skip locked
  ), ended as (
    update jobtree.lease l
    set open = l.open # p.items, check_at = case when l.open <> p.items then l.check_at end
    from picked p
    where l.id = p.id
  )
  select array_agg(row(p.job_id, p.position + r."from", r.count, p.keyed)::jobtree.item_range) into v_held
  from picked p
  cross join lateral jobtree.bit_runs(p.items, p.count) r;

  select coalesce(sum(g.count), 0), array_agg(distinct j.root_id) into done, root_ids
  from unnest(v_blocked || v_waiting || v_held) g
  cross join lateral (select j.root_id from jobtree.job j where j.id = g.job_id offset 0) j;
  ready := jobtree.cancel_ranges(v_blocked || v_waiting || v_held, clock_timestamp(), p_now);
  return next;
end
$$;
