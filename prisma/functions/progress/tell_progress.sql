-- Tells servers the new states of jobs, times in milliseconds: {root, openJobs, jobs}, up to 22 jobs a message, so that it stays below the
-- 8,000 bytes of NOTIFY. openJobs is 0 only in the last message: jobs whose completion is in a later message count as open.
--
-- p_rows     the states, of one or several trees, including that of each root
-- notifies   send_hints, topic progress
create or replace function jobtree.tell_progress(p_rows jobtree.job_progress[])
returns void
language plpgsql volatile
-- plans: no seqscan, hashjoin, mergejoin; generic
as $$
begin
  -- Of json, which takes a fraction of the time of jsonb.
  perform jobtree.send_hints('progress', array(
    select to_json(m)::text
    from (
      select p.root_id as root, max(p.tree_open_jobs) + coalesce(
        sum(count(p.completed_at)) over (partition by p.root_id order by p.page rows between 1 following and unbounded following), 0
      ) as "openJobs", json_agg(p.state) as jobs
      from (
        select j.root_id, r.completed_at, s as state, max(r.open_jobs) over (partition by j.root_id) as tree_open_jobs,
          (row_number() over (partition by j.root_id order by r.job_id) - 1) / 22 as page
        from unnest(p_rows) r
        join jobtree.job j on j.id = r.job_id
        cross join lateral (
          select r.job_id as "jobId", r.generation, r.item_count as "itemCount", r.succeeded, r.failed, r.cancelled,
            r.sealed, floor(extract(epoch from r.started_at) * 1000) as "startedAt",
            floor(extract(epoch from r.completed_at) * 1000) as "completedAt", r.outcome, j.cancel_reason as "cancelReason", r.completions
        ) s
      ) p
      group by p.root_id, p.page
      order by p.root_id, p.page
    ) m
  ));
end
$$;
