-- Locks a whole tree for a change: no fold, replay or reaping of it is under way until the transaction ends.
--
-- p_job_id   the root
-- returns    the root's progress
-- locks      the root's job_progress row
-- errors     JT001 no such job, or it is being deleted; JT002 not a root
create or replace function jobtree.lock_root(p_job_id uuid)
returns jobtree.job_progress
language plpgsql volatile
-- plans: no seqscan, bitmapscan, hashjoin, mergejoin
as $$
declare
  v_root_id uuid;
  v_progress jobtree.job_progress;
begin
  loop
    select j.root_id into v_root_id from jobtree.job j where j.id = p_job_id;
    if v_root_id is null then
      raise exception 'There is no job %.', p_job_id using errcode = 'JT001', column = 'jobId';
    elsif v_root_id <> p_job_id then
      raise exception 'Job % is not a root: this is for whole trees.', p_job_id using errcode = 'JT002', column = 'jobId';
    end if;
    select * into v_progress from jobtree.job_progress p
    where p.job_id = p_job_id order by p.version desc limit 1 for no key update;
    exit when found;
    -- This has waited for a fold, which has written a new version.
  end loop;
  if exists (select from jobtree.tree_deletion d where d.root_id = p_job_id) then
    raise exception 'The tree of job % is being deleted.', p_job_id using errcode = 'JT001', column = 'jobId';
  end if;
  return v_progress;
end
$$;
