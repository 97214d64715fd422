-- Locks the job that items are added to, and rejects one that accepts none.
--
-- p_seal     whether it will be sealed in the same transaction
-- p_repeats  whether a sealed one will do, since the call may repeat one whose items it has already
-- locks      those of hold_jobs, waiting; and the job's row if it will be sealed, so that two that seal it do so one after the other
-- returns    the job
-- errors     JT001 no such job; JT003 the job is sealed (or cancelled)
create or replace function jobtree.lock_open_job(p_job_id uuid, p_seal boolean, p_repeats boolean default false)
returns jobtree.job
language plpgsql volatile
-- plans: no seqscan; generic
as $$
declare
  v_job jobtree.job;
begin
  perform jobtree.hold_jobs(array[p_job_id], true);
  if p_seal then
    select * into v_job from jobtree.job j where j.id = p_job_id for no key update;
  else
    select * into v_job from jobtree.job j where j.id = p_job_id;
  end if;
  if v_job.id is null then
    raise exception 'There is no job %.', p_job_id using errcode = 'JT001', column = 'jobId';
  end if;
  if v_job.sealed_at is not null and not p_repeats then
    raise exception 'Job % is sealed: it takes no more items.', p_job_id using errcode = 'JT003', column = 'jobId';
  end if;
  return v_job;
end
$$;
