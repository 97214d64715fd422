-- Does the next batch of an operation that makes scheduled items ready before their time: a number of entries at a time, in the order of their
-- jobs and positions. The items go behind what is ready, in this order, and keep their priorities, attempt numbers and failures. An item with
-- a serialize key is the head of its line already.
--
-- p_until    when to stop; the step that is in progress then is completed
-- p_limit    at how many entries a step looks at most
-- returns    the operation's new state; whether to continue at once; and the types that got ready items, and how many
-- locks      queue entries, skipping locked ones
create or replace function jobtree.promote_matching(
  p_operation jobtree.operation, p_until timestamptz, p_limit integer default 1000
)
returns table (operation jobtree.operation, more boolean, ready jsonb)
language plpgsql volatile
-- plans: no seqscan, bitmapscan, hashjoin, mergejoin; generic
as $$
declare
  v_now constant timestamptz(3) := clock_timestamp();
  v_window record;
  v_found record;
  v_taken record;
begin
  operation := p_operation;
  loop
    select * into v_window from jobtree.pending_window(operation, p_limit, 5120);
    more := found;
    exit when not more;
    operation.next_job_id := v_window.from_job_id;
    operation.next_position := v_window.from_position;

    select coalesce(sum(bit_count(m.matching)), 0) as items, array_agg(m.job_id) as job_ids, array_agg(m.position) as positions,
      array_agg(m.count) as counts, array_agg(m.attempt) as attempts, array_agg(m.matching) as matching
    into v_found
    from jobtree.matching_pending(operation, v_window.last_job_id, v_window.last_position) m;

    -- Only unchanged entries that are still scheduled. Any change removes items from an entry, or puts them back with another attempt number
    -- or at another time.
    select array_agg(w.tid) as tids, array_agg(w.entry) as entries, array_agg(w.matching) as matching,
      coalesce(sum(bit_count(w.matching)), 0) as items
    into v_taken
    from (
      select q.ctid as tid, q as entry, f.matching
      from unnest(v_found.job_ids, v_found.positions, v_found.counts, v_found.attempts, v_found.matching)
        f(job_id, position, count, attempt, matching)
      join jobtree.queue_entry q on q.job_id = f.job_id and q.position = f.position
      where q.count = f.count and q.attempt = f.attempt and q.ready_at <= p_operation.requested_at
        -- Written as in no partial index: only the primary key finds a row with one probe.
        and coalesce(q.run_at < 'infinity', false)
      order by q.job_id, q.position
      for update of q skip locked
    ) w;
    if v_taken.items > 0 then
      delete from jobtree.queue_entry q where q.ctid = any (v_taken.tids);
      perform jobtree.put_back_rest(v_taken.entries, v_taken.matching);
      perform jobtree.put_back_rest(
        array(
          select row(
            e.job_id, e.position, nextval('jobtree.block_seq') * 1024, e.bytes, null, e.attempt, e.count, e.priority, e.type, e.keyed, v_now,
            e.lost
          )::jobtree.queue_entry
          from unnest(v_taken.entries) e
        ),
        array(select ~u from unnest(v_taken.matching) u)
      );
      -- From now on these are due; a lifetime counts from this time.
      update jobtree.job_item i set run_at = v_now
      from unnest(v_taken.entries, v_taken.matching)
        e(job_id, position, place, bytes, run_at, attempt, count, priority, type, keyed, ready_at, lost, matching)
      where i.job_id = e.job_id and i.position >= e.position and i.position < e.position + e.count
        and get_bit(e.matching, (i.position - e.position)::integer) = 1 and i.run_at > v_now;
      ready := jobtree.add_up(ready, (
        select jsonb_object_agg(t.type, t.items)
        from (
          select e.type, sum(bit_count(e.matching)) as items
          from unnest(v_taken.entries, v_taken.matching)
            e(job_id, position, place, bytes, run_at, attempt, count, priority, type, keyed, ready_at, lost, matching)
          group by e.type
        ) t
      ));
    end if;
    operation.done := operation.done + v_taken.items;
    operation.was_busy := operation.was_busy or v_taken.items < v_found.items;
    operation.next_job_id := v_window.last_job_id;
    operation.next_position := v_window.last_position;
    exit when clock_timestamp() > p_until;
  end loop;
  return next;
end
$$;
