-- Changes for how long a tree is kept once it is complete, and after how long it is cancelled for being idle. For a complete tree the new
-- retention counts from its completion, so it may be over at once.
--
-- p_settings {retentionSeconds?, idleExpirySeconds?}: whole numbers up to 315,576,000 (ten years), from 0 and from 1, or null for never;
--            what is not there stays as it is
-- locks      the root's job_progress row, so no fold, replay or reaping is under way; the job's row
-- errors     JT001 no such job, or it is being deleted; JT002 not a root, nothing to be changed, or settings that are none
create or replace function jobtree.set_retention(p_job_id uuid, p_settings jsonb)
returns void
language plpgsql volatile
set jit = off
set enable_seqscan = off
set enable_bitmapscan = off
set enable_hashjoin = off
set enable_mergejoin = off
as $$
declare
  v_problem record;
  v_root_id uuid;
  v_progress jobtree.job_progress;
  v_seconds integer;
begin
  select * into v_problem from jobtree.input_problem(p_settings, array['retentionSeconds', 'idleExpirySeconds']) p;
  if v_problem.field is not null then
    raise exception '% %.', coalesce(nullif(v_problem.field, ''), 'The settings'), v_problem.message
      using errcode = 'JT002', column = v_problem.field;
  elsif p_settings = '{}' then
    raise exception 'Nothing is to be changed.' using errcode = 'JT002';
  end if;
  loop
    select j.root_id into v_root_id from jobtree.job j where j.id = p_job_id;
    if v_root_id is null then
      raise exception 'There is no job %.', p_job_id using errcode = 'JT001', column = 'jobId';
    elsif v_root_id <> p_job_id then
      raise exception 'Job % is not a root: only whole trees are kept.', p_job_id using errcode = 'JT002', column = 'jobId';
    end if;
    select * into v_progress from jobtree.job_progress p
    where p.job_id = p_job_id order by p.version desc limit 1 for no key update;
    exit when found;
    -- This has waited for a fold, which has written a new version.
  end loop;
  if exists (select from jobtree.tree_deletion d where d.root_id = p_job_id) then
    raise exception 'The tree of job % is being deleted.', p_job_id using errcode = 'JT001', column = 'jobId';
  end if;

  update jobtree.job j
  set retention_seconds = case when p_settings ? 'retentionSeconds' then coalesce((p_settings ->> 'retentionSeconds')::numeric, -1) else j.retention_seconds end,
    idle_expiry_seconds = case when p_settings ? 'idleExpirySeconds' then coalesce((p_settings ->> 'idleExpirySeconds')::numeric, -1) else j.idle_expiry_seconds end
  where j.id = p_job_id
  returning j.retention_seconds into v_seconds;
  if p_settings ? 'retentionSeconds' and v_progress.open_jobs = 0 then
    update jobtree.job_progress p
    set default_retention = false, reap_at = case when v_seconds >= 0 then (
      select max(c.completed_at) from jobtree.job j
      cross join lateral (select c.completed_at from jobtree.job_progress c where c.job_id = j.id order by c.version desc limit 1) c
      where j.root_id = p_job_id
    ) + v_seconds * interval '1 second' end
    where p.job_id = p_job_id and p.version = v_progress.version;
  end if;
end
$$;
