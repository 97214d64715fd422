-- Deletes a tree that is complete, up to p_limit items a call, the jobs with the last of them. A tree at work is
-- cancelled first: cancel_job, cancel_items, fold_progress.
--
-- returns    whether the tree is gone
-- errors     JT001 no such job, JT002 not a root, or not complete
create or replace function jobtree.delete_tree(p_root_id uuid, p_limit integer default 1000)
returns boolean
language plpgsql volatile
set enable_seqscan = off
as $$
declare
  v_root jobtree.job;
  v_items uuid[];
begin
  select * into v_root from jobtree.job j where j.id = p_root_id for update;
  if v_root.id is null then
    raise exception 'There is no job %.', p_root_id using errcode = 'JT001', column = 'jobId';
  end if;
  if v_root.root_id <> v_root.id then
    raise exception 'Job % is not a root: only whole trees are deleted.', p_root_id using errcode = 'JT002', column = 'jobId';
  end if;
  if (select p.open_jobs from jobtree.job_progress p where p.job_id = p_root_id) > 0 then
    raise exception 'The tree of job % is not complete.', p_root_id using errcode = 'JT002', column = 'jobId';
  end if;

  select array_agg(i.id) into v_items
  from (
    select i.id from jobtree.job_item i
    where i.job_id in (select j.id from jobtree.job j where j.root_id = p_root_id)
    limit p_limit
  ) i;
  if v_items is not null then
    delete from jobtree.assignment a where a.held_item_id = any (v_items);
    -- The assignments that failed are named by the failures of their items.
    delete from jobtree.assignment a
    using jobtree.job_item i, jsonb_array_elements(i.failures) f
    where i.id = any (v_items) and a.id = (f.value ->> 'assignmentId')::uuid;
    delete from jobtree.job_item i where i.id = any (v_items);
    return false;
  end if;

  -- In the order in which a fold takes them.
  delete from jobtree.job_progress p where p.root_id = p_root_id;
  delete from jobtree.progress_delta d where d.root_id = p_root_id;
  delete from jobtree.job j where j.root_id = p_root_id;
  return true;
end
$$;
