-- Has servers add the lines of an upload to a job that exists, behind what it has, and seal the job at the end of the file.
--
-- p_file     as add_file has it
-- returns    the tree's root
-- locks      those of lock_open_job, and of add_file
-- errors     those of lock_open_job and add_file; JT004 its parent feeds it
create or replace function jobtree.import_file(p_job_id uuid, p_file jsonb)
returns uuid
language plpgsql volatile
-- plans: no seqscan
as $$
declare
  v_job constant jobtree.job := jobtree.lock_open_job(p_job_id, false);
begin
  if v_job.feed is not null then
    raise exception 'Job % is fed by its parent, which seals it.', p_job_id using errcode = 'JT004', column = 'jobId';
  end if;
  perform jobtree.add_file(p_job_id, v_job.type, p_file);
  return v_job.root_id;
end
$$;
