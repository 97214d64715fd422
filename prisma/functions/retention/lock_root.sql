-- Locks a whole tree for a change: no fold, replay or reaping of it is under way until the transaction ends.
--
-- p_job_id   the root
-- returns    the tree
-- locks      the tree
-- errors     JT001 no such job, or it is being deleted; JT002 not a root
create or replace function jobtree.lock_root(p_job_id uuid)
returns jobtree.tree
language plpgsql volatile
-- plans: no seqscan, bitmapscan, hashjoin, mergejoin
as $$
declare
  v_tree jobtree.tree;
  v_root_id uuid;
begin
  -- Waits for no deletion.
  select * into v_tree from jobtree.tree t where t.root_id = p_job_id and t.deletion is null for no key update;
  if not found then
    select j.root_id into v_root_id from jobtree.job j where j.id = p_job_id;
    if v_root_id is null then
      raise exception 'There is no job %.', p_job_id using errcode = 'JT001', column = 'jobId';
    elsif v_root_id <> p_job_id then
      raise exception 'Job % is not a root: this is for whole trees.', p_job_id using errcode = 'JT002', column = 'jobId';
    end if;
    raise exception 'The tree of job % is being deleted.', p_job_id using errcode = 'JT001', column = 'jobId';
  end if;
  return v_tree;
end
$$;
