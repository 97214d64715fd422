-- Sends hints on the topic progress about new states of jobs: fold_trees describes the messages.
--
-- p_rows     the states, of one or several trees, including that of each root
create or replace function jobtree.tell_progress(p_rows jobtree.job_progress[])
returns void
language plpgsql volatile
-- plans: no seqscan, hashjoin, mergejoin; generic
as $$
begin
  -- A job counts as open until the message with its completion, so that openJobs matches the messages read so far.
  perform jobtree.send_hints('progress', array(
    select jsonb_build_object('root', m.root_id, 'openJobs', m.open_jobs + m.later, 'jobs', m.jobs)::text
    from (
      select p.root_id, max(p.tree_open_jobs) as open_jobs, jsonb_agg(jsonb_build_object(
        'jobId', p.job_id, 'generation', p.generation, 'itemCount', p.item_count, 'succeeded', p.succeeded,
        'failed', p.failed, 'cancelled', p.cancelled, 'sealed', p.sealed_at is not null,
        'startedAt', floor(extract(epoch from p.started_at) * 1000),
        'completedAt', floor(extract(epoch from p.completed_at) * 1000), 'outcome', p.outcome, 'cancelReason', p.cancel_reason, 'completions', p.completions
      )) as jobs, coalesce(
        sum(count(p.completed_at)) over (partition by p.root_id order by p.page rows between 1 following and unbounded following), 0
      ) as later
      from (
        select r.*, j.root_id, j.sealed_at, j.cancel_reason, max(r.open_jobs) over (partition by j.root_id) as tree_open_jobs,
          (row_number() over (partition by j.root_id order by r.job_id) - 1) / 22 as page
        from unnest(p_rows) r
        join jobtree.job j on j.id = r.job_id
      ) p
      group by p.root_id, p.page
      order by p.root_id, p.page
    ) m
  ));
end
$$;
