-- Changes for how long a tree is kept once it is complete, and after how long it is cancelled for being idle. For a complete tree the new
-- retention counts from its completion, so it may be over at once.
--
-- p_settings {retentionSeconds?, idleExpirySeconds?}: whole numbers up to 315,576,000 (ten years), from 0 and from 1, or null for never;
--            what is not there stays as it is
-- locks      those of lock_root
-- errors     those of lock_root; JT002 nothing to be changed, or settings that are none
create or replace function jobtree.set_retention(p_job_id uuid, p_settings jsonb)
returns void
language plpgsql volatile
-- plans: no seqscan, bitmapscan, hashjoin, mergejoin
as $$
declare
  v_problem record;
begin
  select * into v_problem from jobtree.input_problem(p_settings, array['retentionSeconds', 'idleExpirySeconds']) p;
  if v_problem.field is not null then
    raise exception '% %.', coalesce(nullif(v_problem.field, ''), 'The settings'), v_problem.message
      using errcode = 'JT002', column = v_problem.field;
  elsif p_settings = '{}' then
    raise exception 'Nothing is to be changed.' using errcode = 'JT002';
  end if;
  perform jobtree.lock_root(p_job_id);
  update jobtree.tree t
  set retention_seconds = case when p_settings ? 'retentionSeconds' then coalesce((p_settings ->> 'retentionSeconds')::numeric, -1) else t.retention_seconds end,
    idle_expiry_seconds = case when p_settings ? 'idleExpirySeconds' then coalesce((p_settings ->> 'idleExpirySeconds')::numeric, -1) else t.idle_expiry_seconds end
  where t.root_id = p_job_id;
end
$$;
