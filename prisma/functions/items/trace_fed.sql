-- Assigns fed items to the traces of the items that fed them.
--
-- p_job_ids, p_positions   the feeding items, as feed_children has them
-- p_child_id, p_child_positions   the fed items; null where none was added
-- p_by       for each of these, the number of the item that fed it, from 1
create or replace function jobtree.trace_fed(p_job_ids uuid[], p_positions bigint[], p_child_id uuid, p_child_positions bigint[], p_by integer[])
returns void
language sql volatile
-- plans: no seqscan, bitmapscan, hashjoin, mergejoin
as $$
  insert into jobtree.trace_context (job_id, position, count, traceparent, tracestate)
  select p_child_id, c.position, 1, t.traceparent, t.tracestate
  from unnest(p_child_positions, p_by) c(position, by)
  cross join lateral (
    select x.* from jobtree.trace_context x
    where x.job_id = p_job_ids[c.by] and x.position <= p_positions[c.by]
    order by x.job_id desc, x.position desc
    limit 1
  ) t
  where c.position is not null and t.position + t.count > p_positions[c.by]
$$;
