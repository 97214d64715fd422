-- Puts items back into the queue; neighbours that wait under the same conditions share an entry.
--
-- p_items    the items, which are in no entry, and of which those with serialize keys are heads
-- p_last     whether they go to the end of what is ready, or back to their old place
-- locks      none
create or replace function jobtree.requeue(p_items jobtree.waiting_item[], p_last boolean)
returns void
language plpgsql volatile
-- plans: no seqscan, hashjoin, mergejoin; generic
as $$
begin
  insert into jobtree.queue_entry (job_id, position, place, bytes, run_at, attempt, count, priority, type, keyed, lost)
  select r.job_id, r.position, case when p_last then nextval('jobtree.block_seq') * 1024 else r.position end,
    r.bytes, r.run_at, r.attempt, r.count, r.priority, j.type, r.keyed, r.lost
  from (
    select u.job_id, min(u.position) as position, u.attempt, u.priority, u.run_at, u.keyed, u.lost, count(*) as count, sum(u.payload_bytes) as bytes
    from (
      select u.*, u.position - row_number() over (partition by u.job_id, u.attempt, u.priority, u.run_at, u.keyed, u.lost order by u.position) as run,
        jobtree.entry_size(max(u.payload_bytes) over (partition by u.job_id)) as size
      from (
        select u.job_id, u.position, u.attempt, u.priority, u.run_at, coalesce(u.lost, false) as lost, i.payload_bytes,
          i.serialize_key is not null as keyed
        from unnest(p_items) u
        join jobtree.job_item i on i.job_id = u.job_id and i.position = u.position
      ) u
    ) u
    -- Keeps entries small, as insert_items does, however many leases end here.
    group by u.job_id, u.attempt, u.priority, u.run_at, u.keyed, u.lost, u.run, u.position / u.size
  ) r
  join jobtree.job j on j.id = r.job_id
  order by r.position;
end
$$;
