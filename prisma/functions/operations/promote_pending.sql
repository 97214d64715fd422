-- Makes scheduled items ready before their time. They go behind what is ready, in the order of their jobs and positions, and keep their
-- priorities, attempt numbers and failures. An item with a serialize key is the head of its line already.
--
-- p_ranges   the items (matching_pending)
-- p_by       only what has been scheduled until then
-- returns    how many items: locked ones are left; and the types that got ready items, and how many
-- locks      queue entries, skipping locked ones
create or replace function jobtree.promote_pending(p_ranges jobtree.pending_range[], p_by timestamptz)
returns table (done bigint, ready jsonb)
language plpgsql volatile
-- plans: no seqscan, bitmapscan, hashjoin, mergejoin; generic
as $$
declare
  v_now constant timestamptz(3) := clock_timestamp();
  v_taken record;
begin
  select t.* into v_taken from jobtree.take_entries(p_ranges, p_by) t;
  done := 0;
  if v_taken.entries is not null then
    perform jobtree.put_back_rest(
      array(
        select row(
          e.job_id, e.position, nextval('jobtree.block_seq') * 1024, e.bytes, null, e.attempt, e.count, e.priority, e.type, e.keyed, v_now,
          e.lost
        )::jobtree.queue_entry
        from unnest(v_taken.entries) e
      ),
      array(select ~u from unnest(v_taken.taken) u)
    );
    -- From now on these are due; a lifetime counts from this time.
    update jobtree.job_item i set run_at = v_now
    from unnest(v_taken.entries, v_taken.taken)
      e(job_id, position, place, bytes, run_at, attempt, count, priority, type, keyed, ready_at, lost, taken)
    where i.job_id = e.job_id and i.position >= e.position and i.position < e.position + e.count
      and get_bit(e.taken, (i.position - e.position)::integer) = 1 and i.run_at > v_now;
    select sum(t.items), jsonb_object_agg(t.type, t.items) into done, ready
    from (
      select e.type, sum(bit_count(e.taken)) as items
      from unnest(v_taken.entries, v_taken.taken)
        e(job_id, position, place, bytes, run_at, attempt, count, priority, type, keyed, ready_at, lost, taken)
      group by e.type
    ) t;
  end if;
  return next;
end
$$;
