-- Notifies who listens on the channel jobtree_progress of new states of jobs: fold_progress says how.
--
-- p_rows     the states, among them that of the root
create or replace function jobtree.tell_progress(p_root_id uuid, p_rows jobtree.job_progress[])
returns void
language plpgsql volatile
set enable_seqscan = off
set enable_hashjoin = off
set enable_mergejoin = off
set plan_cache_mode = force_generic_plan
as $$
declare
  v_open constant integer := (select r.open_jobs from unnest(p_rows) r where r.is_root);
begin
  -- Until a job's end is told it counts as open: whoever has read the messages so far knows of no fewer.
  perform pg_notify('jobtree_progress', jsonb_build_object('root', p_root_id, 'openJobs', v_open + m.later, 'jobs', m.jobs)::text)
  from (
    select jsonb_agg(jsonb_build_object(
      'jobId', p.job_id, 'generation', p.generation, 'itemCount', p.item_count, 'succeeded', p.succeeded,
      'failed', p.failed, 'cancelled', p.cancelled, 'sealed', j.sealed_at is not null,
      'startedAt', floor(extract(epoch from p.started_at) * 1000),
      'completedAt', floor(extract(epoch from p.completed_at) * 1000), 'outcome', p.outcome, 'cancelReason', j.cancel_reason, 'completions', p.completions
    )) as jobs, coalesce(sum(count(p.completed_at)) over (order by p.page rows between 1 following and unbounded following), 0) as later
    from (select r.*, (row_number() over (order by r.job_id) - 1) / 22 as page from unnest(p_rows) r) p
    join jobtree.job j on j.id = p.job_id
    group by p.page
    order by p.page
  ) m;
end
$$;
