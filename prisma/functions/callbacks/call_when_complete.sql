-- Adds callbacks to a tree that is not complete. Those for jobs are not sent for jobs that are complete already.
--
-- p_job_id   the root
-- p_callbacks   as add_callbacks has them; a tree has up to 10
-- locks      those of lock_root: the fold that completes the tree comes later, and sends them, or came before, and the call is refused
-- errors     those of lock_root and add_callbacks; JT002 the tree is complete, or would have more than 10
create or replace function jobtree.call_when_complete(p_job_id uuid, p_callbacks jsonb)
returns void
language plpgsql volatile
-- plans: no seqscan, bitmapscan
as $$
declare
  v_progress constant jobtree.job_progress := jobtree.lock_root(p_job_id);
begin
  if v_progress.open_jobs = 0 then
    raise exception 'The tree of job % is complete: nothing would be sent.', p_job_id using errcode = 'JT002', column = 'jobId';
  end if;
  perform jobtree.add_callbacks(p_job_id, p_callbacks);
  if (select count(*) from jobtree.callback c where c.root_id = p_job_id) > 10 then
    raise exception 'The tree would have more than 10 callbacks.' using errcode = 'JT002', column = 'callbacks';
  end if;
end
$$;
