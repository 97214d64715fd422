-- Adds items to a job that is not sealed, and with p_seal seals it in the same transaction.
--
-- p_items    as insert_items has it; may be empty
-- returns    the tree's root, the job's type, and what insert_items returns
-- locks      the job's row: shared, so that adders run side by side while seal_job and cancel_job wait for them;
--            exclusively where it will be sealed, because two that held it shared would then wait for each other
-- errors     JT001 no such job, JT002 items that are none (check_items; 22003, 22007, 22008, 22P02 or 23514 for a value out of
--            bounds), JT003 the job is sealed (or cancelled), JT004 p_seal on a job that its parent seals
create or replace function jobtree.add_items(p_job_id uuid, p_items json, p_seal boolean default false)
returns table (root_id uuid, type text, positions bigint[], added boolean[])
language plpgsql volatile
set enable_seqscan = off
set plan_cache_mode = force_generic_plan
as $$
declare
  v_payloads json[];
  v_job jobtree.job;
begin
  v_payloads := jobtree.check_items(p_items, 'items');
  if p_seal then
    select * into v_job from jobtree.job j where j.id = p_job_id for no key update;
  else
    select * into v_job from jobtree.job j where j.id = p_job_id for share;
  end if;
  if v_job.id is null then
    raise exception 'There is no job %.', p_job_id using errcode = 'JT001', column = 'jobId';
  end if;
  if v_job.sealed_at is not null then
    raise exception 'Job % is sealed: it takes no more items.', p_job_id using errcode = 'JT003', column = 'jobId';
  end if;

  if v_payloads is not null then
    return query select v_job.root_id, v_job.type, jobtree.insert_payloads(v_job, v_payloads), null::boolean[];
  elsif json_array_length(p_items) > 0 then
    return query select v_job.root_id, v_job.type, i.* from jobtree.insert_items(v_job, p_items) i;
  else
    return query select v_job.root_id, v_job.type, '{}'::bigint[], '{}'::boolean[];
  end if;

  if p_seal then
    perform jobtree.seal_job(p_job_id);
  end if;
end
$$;
