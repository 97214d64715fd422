-- Stores that items are cancelled, neighbours in one range, and counts them.
--
-- p_job_ids, p_positions, p_counts   ranges of items, none twice, which are no longer in an entry or an open lease
-- p_at       when they were cancelled
-- locks      none
create or replace function jobtree.cancel_ranges(p_job_ids uuid[], p_positions bigint[], p_counts bigint[], p_at timestamptz)
returns void
language sql volatile
-- plans: no seqscan, hashjoin, mergejoin; generic
as $$
  with gone as (
    select u.*, u.position - sum(u.count) over (partition by u.job_id order by u.position) + u.count as run
    from unnest(p_job_ids, p_positions, p_counts) u(job_id, position, count)
  ), kept as (
    insert into jobtree.cancellation (job_id, position, count, cancelled_at)
    select g.job_id, min(g.position), sum(g.count), p_at from gone g group by g.job_id, g.run
    returning job_id, count
  )
  insert into jobtree.progress_delta (root_id, job_id, cancelled)
  select j.root_id, k.job_id, k.count
  from (select k.job_id, sum(k.count) as count from kept k group by k.job_id) k
  cross join lateral (select j.root_id from jobtree.job j where j.id = k.job_id offset 0) j
$$;
