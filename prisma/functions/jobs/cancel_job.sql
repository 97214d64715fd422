-- Cancels a job and all jobs below it. Marks the jobs: from this commit on they accept no items and give none to workers, and what is
-- pending in them counts as cancelled. Up to p_limit ranges of items leave the queue, or their workers, in this call; cancel_items does the
-- rest, and the sweep of any server calls it if nobody else does. Cancelling twice does nothing.
--
-- p_reason   the jobs' cancel_reason: REQUESTED, or IDLE from expire_tree
-- returns    the tree's root, and the jobs of the subtree that have more to cancel
-- locks      the tree's row, shared, unless it is being deleted, so that none of its jobs is just being completed; the jobs' rows in the order of their ids; then those of
--            cancel_items
-- errors     JT001 no such job
create or replace function jobtree.cancel_job(p_job_id uuid, p_limit integer default 10000, p_reason text default 'REQUESTED')
returns table (root_id uuid, cancelling uuid[])
language plpgsql volatile
-- plans: no seqscan, bitmapscan, hashjoin, mergejoin
as $$
#variable_conflict use_column
declare
  v_jobs uuid[];
  v_job_id uuid;
  v_root uuid;
  v_rest uuid[] := '{}';
  v_left integer := p_limit;
  v_step record;
begin
  with recursive subtree as (
    select j.id, j.root_id from jobtree.job j where j.id = p_job_id
    union all
    select c.id, s.root_id from jobtree.job c join subtree s on c.parent_id = s.id
  )
  select array_agg(s.id order by s.id), (array_agg(s.root_id))[1] into v_jobs, v_root from subtree s;
  if v_jobs is null then
    raise exception 'There is no job %.', p_job_id using errcode = 'JT001', column = 'jobId';
  end if;

  perform 1 from jobtree.tree t where t.root_id = v_root and t.deletion is null for share;
  perform 1 from jobtree.job j where j.id = any (v_jobs) order by j.id for no key update;
  update jobtree.job j
  set cancelled_at = clock_timestamp(), cancel_reason = p_reason, cancelling = true, waits = false, sealed_at = coalesce(j.sealed_at, clock_timestamp())
  where j.id = any (v_jobs) and j.cancelled_at is null
    and (select p.completed_at from jobtree.job_progress p where p.job_id = j.id order by p.version desc limit 1) is null;
  -- Only for jobs that still exist: this may have waited for delete_trees.
  insert into jobtree.progress_delta (root_id, job_id)
  select j.root_id, j.id from jobtree.job j where j.id = any (v_jobs);

  for v_job_id in select j.id from jobtree.job j where j.id = any (v_jobs) and j.cancelling order by j.id
  loop
    if v_left > 0 then
      select * into v_step from jobtree.cancel_items(v_job_id, 0, v_left);
      v_left := v_left - v_step.ranges;
      continue when v_step.done;
    end if;
    v_rest := v_rest || v_job_id;
  end loop;
  return query select v_root, v_rest;
end
$$;
