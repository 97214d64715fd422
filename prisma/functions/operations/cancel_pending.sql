-- Cancels the pending items that an operation selects in the next part of those that it goes through. Waiting items leave the queue or the
-- line of their key; held ones end, which their workers learn from the next heartbeat or report. Serialize keys that they had pass to the
-- next items.
--
-- p_last_job_id, p_last_position   the end of the part (pending_window)
-- returns    how many items were cancelled; whether some were left because they were locked; the trees that changed; and the types that got
--            ready items, and how many
-- locks      blocked items, queue entries, leases and those of promote_next, skipping locked ones
create or replace function jobtree.cancel_pending(p_operation jobtree.operation, p_last_job_id uuid, p_last_position bigint)
returns table (cancelled bigint, was_busy boolean, root_ids uuid[], ready jsonb)
language plpgsql volatile
-- plans: no seqscan, bitmapscan, hashjoin, mergejoin; generic
as $$
declare
  v_found record;
  v_blocked record;
  v_waiting record;
  v_held record;
  v_gone record;
begin
  select coalesce(sum(bit_count(m.matching)), 0) as items, array_agg(m.job_id) as job_ids, array_agg(m.position) as positions,
    array_agg(m.count) as counts, array_agg(m.attempt) as attempts, array_agg(m.lease_id) as lease_ids, array_agg(m.blocked) as blocked,
    array_agg(m.matching) as matching
  into v_found
  from jobtree.matching_pending(p_operation, p_last_job_id, p_last_position) m;
  cancelled := 0;
  was_busy := false;
  if v_found.items = 0 then
    return next;
    return;
  end if;

  with picked as materialized (
    select b.ctid as tid, b.job_id, b.position
    from unnest(v_found.job_ids, v_found.positions, v_found.blocked) f(job_id, position, blocked)
    join jobtree.blocked_item b on b.job_id = f.job_id and b.position = f.position
    where f.blocked
    order by b.job_id, b.position
    for update of b skip locked
  ), gone as (
    delete from jobtree.blocked_item b where b.ctid = any (array(select p.tid from picked p))
  )
  select array_agg(p.job_id) as job_ids, array_agg(p.position) as positions, array_agg(1::smallint) as counts,
    array_agg(jobtree.bit_at(1)) as taken, array_agg(false) as keyed
  into v_blocked
  from picked p;

  -- Only unchanged entries: any change removes items from an entry, or puts them back with another attempt number.
  select array_agg(w.tid) as tids, array_agg(w.entry) as entries, array_agg(w.job_id) as job_ids, array_agg(w.position) as positions,
    array_agg(w.count) as counts, array_agg(w.matching) as taken, array_agg(w.keyed) as keyed
  into v_waiting
  from (
    select q.ctid as tid, q as entry, q.job_id, q.position, q.count, q.keyed, f.matching
    from unnest(v_found.job_ids, v_found.positions, v_found.counts, v_found.attempts, v_found.lease_ids, v_found.blocked, v_found.matching)
      f(job_id, position, count, attempt, lease_id, blocked, matching)
    join jobtree.queue_entry q on q.job_id = f.job_id and q.position = f.position
    where f.lease_id is null and not f.blocked and q.count = f.count and q.attempt = f.attempt
    order by q.job_id, q.position
    for update of q skip locked
  ) w;
  delete from jobtree.queue_entry q where q.ctid = any (v_waiting.tids);
  perform jobtree.put_back_rest(v_waiting.entries, v_waiting.taken);

  with picked as materialized (
    select l.id, l.job_id, l.position, l.count, l.keyed, l.open & f.matching as ended
    from unnest(v_found.lease_ids, v_found.matching) f(lease_id, matching)
    join jobtree.lease l on l.id = f.lease_id
    order by l.id
    for update of l skip locked
  ), ended as (
    update jobtree.lease l
    set open = l.open # p.ended, check_at = case when l.open <> p.ended then l.check_at end
    from picked p
    where l.id = p.id
  )
  select array_agg(p.job_id) as job_ids, array_agg(p.position) as positions, array_agg(p.count) as counts, array_agg(p.ended) as taken,
    array_agg(p.keyed) as keyed
  into v_held
  from picked p;

  select coalesce(sum(r.count), 0) as items, array_agg(t.job_id) as job_ids, array_agg(t.position + r."from") as positions,
    array_agg(r.count::bigint) as counts, array_agg(t.keyed) as keyed
  into v_gone
  from unnest(
    v_blocked.job_ids || v_waiting.job_ids || v_held.job_ids, v_blocked.positions || v_waiting.positions || v_held.positions,
    v_blocked.counts || v_waiting.counts || v_held.counts, v_blocked.taken || v_waiting.taken || v_held.taken,
    v_blocked.keyed || v_waiting.keyed || v_held.keyed
  ) t(job_id, position, count, taken, keyed)
  cross join lateral jobtree.bit_runs(t.taken, t.count) r;
  perform jobtree.cancel_ranges(v_gone.job_ids, v_gone.positions, v_gone.counts, clock_timestamp());
  cancelled := v_gone.items;
  root_ids := array(select distinct j.root_id from unnest(v_gone.job_ids) u(id) join jobtree.job j on j.id = u.id);
  was_busy := cancelled < v_found.items;
  -- With a filter by statuses, an item that became ready now would no longer have the status by which it was selected: promote_blocked does it later.
  select jobtree.free_keys(array_agg(g.job_id), array_agg(g.position + n), p_operation.statuses is null) into ready
  from unnest(v_gone.job_ids, v_gone.positions, v_gone.counts, v_gone.keyed) g(job_id, position, count, keyed)
  cross join lateral generate_series(0, g.count - 1) n
  where g.keyed
  having count(*) > 0;
  return next;
end
$$;
