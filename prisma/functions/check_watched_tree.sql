-- Rejects jobs that can't have watch tokens, which open whole trees.
--
-- errors  JT001 no such job; JT002 it is not a root
create or replace function jobtree.check_watched_tree(p_job_id uuid)
returns void
language plpgsql stable
as $$
declare
  v_root_id constant uuid := (select j.root_id from jobtree.job j where j.id = p_job_id);
begin
  if v_root_id is null then
    raise exception 'There is no job %.', p_job_id using errcode = 'JT001', column = 'jobId';
  elsif v_root_id <> p_job_id then
    raise exception 'Job % is not a root: watch tokens are for whole trees.', p_job_id using errcode = 'JT002', column = 'jobId';
  end if;
end
$$;
