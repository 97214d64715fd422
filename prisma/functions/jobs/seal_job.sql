-- Declares that a job gets no more items. What open transactions have added still counts, and the job is complete only after they have ended.
-- Sealing a sealed job does nothing.
--
-- locks      the job's row
-- returns    the root of the job's tree
-- errors     JT001 no such job; JT004 the job is fed by its parent, whose completion seals it
create or replace function jobtree.seal_job(p_job_id uuid)
returns uuid
language plpgsql volatile
-- plans: no seqscan; generic
as $$
declare
  v_job jobtree.job;
begin
  select * into v_job from jobtree.job j where j.id = p_job_id for no key update;
  if v_job.id is null then
    raise exception 'There is no job %.', p_job_id using errcode = 'JT001', column = 'jobId';
  end if;
  if v_job.sealed_at is null and v_job.feed is not null then
    raise exception 'Job % is fed by its parent: it is sealed when its parent is complete.', p_job_id
      using errcode = 'JT004', column = 'jobId';
  end if;
  if v_job.sealed_at is null then
    update jobtree.job set sealed_at = clock_timestamp() where id = p_job_id;
    -- An empty delta, which makes the fold examine the job.
    insert into jobtree.progress_delta (root_id, job_id) values (v_job.root_id, v_job.id);
  end if;
  return v_job.root_id;
end
$$;
