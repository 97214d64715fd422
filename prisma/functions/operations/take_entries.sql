-- Takes pending items out of their queue entries, and puts back the rest of these. What is locked stays, and what has changed since it was
-- selected: any change removes items from an entry, or puts them back with another attempt number or at another time.
--
-- p_ranges   the items (matching_pending); those that are in no entry are passed by
-- p_scheduled_by   null for any; or only of entries that wait for a time, and have been put there until then
-- returns    the entries as they were, and a bit for each item that was taken
-- locks      queue entries, skipping locked ones
create or replace function jobtree.take_entries(p_ranges jobtree.pending_range[], p_scheduled_by timestamptz default null)
returns table (entries jobtree.queue_entry[], taken bit(128)[])
language plpgsql volatile
-- plans: no seqscan, bitmapscan, hashjoin, mergejoin; generic
as $$
declare
  v_tids tid[];
begin
  select array_agg(w.tid), array_agg(w.entry), array_agg(w.items) into v_tids, entries, taken
  from (
    select q.ctid as tid, q as entry, r.items
    from unnest(p_ranges) r
    join jobtree.queue_entry q on q.job_id = r.job_id and q.position = r.position
    where r.lease_id is null and not r.blocked and q.count = r.count and q.attempt = r.attempt
      -- Written as in no partial index: only the primary key finds a row with one probe.
      and (p_scheduled_by is null or q.ready_at <= p_scheduled_by and coalesce(q.run_at < 'infinity', false))
    order by q.job_id, q.position
    for update of q skip locked
  ) w;
  delete from jobtree.queue_entry q where q.ctid = any (v_tids);
  perform jobtree.put_back_rest(entries, taken);
  return next;
end
$$;
