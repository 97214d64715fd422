-- Cancels a job and all below it. This marks the jobs, which then take no items; cancel_items does the rest, and if nobody
-- calls it to the end, the sweep sees to it. Cancelling twice does nothing.
--
-- returns    the tree's root and the jobs of the subtree
-- locks      the jobs' rows in the order of their ids: waits for who adds or feeds
-- errors     JT001 no such job
create or replace function jobtree.cancel_job(p_job_id uuid)
returns table (root_id uuid, job_ids uuid[])
language plpgsql volatile
as $$
#variable_conflict use_column
declare
  v_jobs uuid[];
  v_root uuid;
begin
  with recursive subtree as (
    select j.id from jobtree.job j where j.id = p_job_id
    union all
    select c.id from jobtree.job c join subtree s on c.parent_id = s.id
  )
  select array_agg(s.id) into v_jobs from subtree s;
  if v_jobs is null then
    raise exception 'There is no job %.', p_job_id using errcode = 'JT001', column = 'jobId';
  end if;
  select j.root_id into v_root from jobtree.job j where j.id = p_job_id;

  perform 1 from jobtree.job j where j.id = any (v_jobs) order by j.id for no key update;
  update jobtree.job j
  set cancelled_at = clock_timestamp(), cancelling = true, sealed_at = coalesce(j.sealed_at, clock_timestamp())
  where j.id = any (v_jobs) and j.cancelled_at is null
    and not exists (select from jobtree.job_progress p where p.job_id = j.id and p.completed_at is not null);
  -- Only for jobs that are still there: this may have waited for delete_tree.
  insert into jobtree.progress_delta (root_id, job_id)
  select j.root_id, j.id from jobtree.job j where j.id = any (v_jobs);
  return query select v_root, v_jobs;
end
$$;
