-- Puts the rest of entries back into the queue when some of their items are taken out, each in its old place and under the same conditions.
-- The rest of a small entry gets the size of the whole, so that nobody has to measure payloads.
--
-- p_entries, p_taken   the entries, which are deleted, and a bit for each item that is taken
create or replace function jobtree.put_back_rest(p_entries jobtree.queue_entry[], p_taken bit(128)[])
returns void
language plpgsql volatile
-- plans: no seqscan; generic
as $$
begin
  insert into jobtree.queue_entry (job_id, position, place, bytes, run_at, attempt, count, priority, type, keyed, ready_at, lost)
  select e.job_id, e.position + r."from", e.place + r."from",
    case when e.bytes > 100000 then (
      select sum(i.payload_bytes) from jobtree.job_item i
      where i.job_id = e.job_id and i.position >= e.position + r."from" and i.position < e.position + r."from" + r.count
    ) else e.bytes end,
    e.run_at, e.attempt, r.count, e.priority, e.type, e.keyed, e.ready_at, e.lost
  -- Subscripts would read the arrays from their start for each column.
  from unnest(p_entries, p_taken) e(job_id, position, place, bytes, run_at, attempt, count, priority, type, keyed, ready_at, lost, taken)
  cross join lateral jobtree.bit_runs(~e.taken & (~B'0'::bit(128) << (128 - e.count)), e.count) r;
end
$$;
