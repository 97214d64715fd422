-- Begins to delete a tree: cancels what is pending in it and frees its dedupe keys at once. delete_trees, called by any server, then deletes
-- it in batches. Calling it twice does nothing; a tree that is being reaped is deleted without further delay.
--
-- returns    the jobs that have more to cancel: cancel_items
-- locks      the tree, unless it is being deleted already; those of cancel_job
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
  perform 1 from jobtree.tree t where t.root_id = p_job_id and t.deletion is distinct from 'REQUESTED' for no key update;
  select c.cancelling into v_cancelling from jobtree.cancel_job(p_job_id) c;
  update jobtree.job j set dedupe_key = null where j.root_id = p_job_id and j.dedupe_key is not null;
  update jobtree.tree t
  set deletion = 'REQUESTED', deletion_requested_at = coalesce(t.deletion_requested_at, clock_timestamp()),
    item_count = coalesce(t.item_count, (
      select sum(p.item_count) from jobtree.job j join jobtree.job_progress p on p.job_id = j.id where j.root_id = p_job_id
    ))
  where t.root_id = p_job_id and t.deletion is distinct from 'REQUESTED';
  return v_cancelling;
end
$$;
