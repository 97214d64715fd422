-- Ends a file import whose file can't be read to its end, and fails its job, which accepts no more items. cancel_items cancels what is
-- pending in it; finished items stay.
--
-- p_lease_id what lease_imports returned
-- p_code, p_message   the reason
-- returns    the tree's root; null if another server has the import, or the tree is gone
-- locks      the import's row, then the job's
create or replace function jobtree.fail_import(p_job_id uuid, p_lease_id uuid, p_code text, p_message text, p_bytes_read bigint)
returns uuid
language plpgsql volatile
set jit = off
set enable_seqscan = off
as $$
declare
  v_now constant timestamptz(3) := clock_timestamp();
  v_job jobtree.job;
begin
  update jobtree.file_import f
  set finished_at = v_now, lease_id = null, leased_until = null, error_code = p_code, error_message = p_message,
    bytes_read = greatest(f.bytes_read, p_bytes_read)
  where f.job_id = p_job_id and f.lease_id = p_lease_id;
  if not found then
    return null;
  end if;
  select * into v_job from jobtree.job j where j.id = p_job_id for no key update;
  if v_job.id is not null and v_job.sealed_at is null then
    update jobtree.job j
    set failed_at = v_now, cancelled_at = v_now, cancel_reason = 'FAILURES', cancelling = true, waits = false, sealed_at = v_now
    where j.id = p_job_id;
    insert into jobtree.progress_delta (root_id, job_id) values (v_job.root_id, p_job_id);
  end if;
  return v_job.root_id;
end
$$;
