-- Begins to delete a tree: cancels what is pending in it and frees its dedupe keys at once. delete_tree, called by any server, then deletes
-- it in batches. Calling it twice does nothing; a tree that is being reaped is deleted without further delay.
--
-- returns    the jobs that have more to cancel: cancel_items
-- locks      the tree's row in tree_deletion, if it is being reaped; those of cancel_job
-- errors     JT001 no such job; JT002 not a root
create or replace function jobtree.delete_job(p_job_id uuid)
returns uuid[]
language plpgsql volatile
-- plans: no seqscan, bitmapscan, hashjoin, mergejoin
as $$
declare
  v_root_id uuid;
  v_cancelling uuid[];
begin
  select j.root_id into v_root_id from jobtree.job j where j.id = p_job_id;
  if v_root_id is null then
    raise exception 'There is no job %.', p_job_id using errcode = 'JT001', column = 'jobId';
  end if;
  if v_root_id <> p_job_id then
    raise exception 'Job % is not a root: only whole trees are deleted.', p_job_id using errcode = 'JT002', column = 'jobId';
  end if;
  -- Before the jobs' rows: the order in which delete_tree locks them.
  update jobtree.tree_deletion d set reaped = false where d.root_id = p_job_id and d.reaped;
  select c.cancelling into v_cancelling from jobtree.cancel_job(p_job_id) c;
  update jobtree.job j set dedupe_key = null where j.root_id = p_job_id and j.dedupe_key is not null;
  insert into jobtree.tree_deletion (root_id, requested_at, item_count)
  select p_job_id, clock_timestamp(), coalesce(sum(p.item_count), 0)
  from jobtree.job j
  join jobtree.job_progress p on p.job_id = j.id
  where j.root_id = p_job_id
  -- This may have waited for the end of the deletion. Without the second condition, the conflict would wait for the batch in progress.
  having count(*) > 0 and not exists (select from jobtree.tree_deletion d where d.root_id = p_job_id)
  on conflict (root_id) do nothing;
  return v_cancelling;
end
$$;
