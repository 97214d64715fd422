-- Has servers add the lines of an upload to a job, and seal the job at the end of the file: leaseImports.
--
-- p_type     the type of the job
-- p_file     {source: {uploadId}, format, encoding?, delimiter?, quote?, header?}; servers validate the values
-- locks      the upload's row, shared
-- errors     JT001 no such upload; JT002 the upload is not complete, or the job has a file
create or replace function jobtree.add_file(p_job_id uuid, p_type text, p_file jsonb)
returns void
language plpgsql volatile
-- plans: no seqscan
as $$
declare
  v_upload jobtree.upload;
begin
  if p_file #>> '{source,uploadId}' !~* '^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$' then
    raise exception 'file.source.uploadId is not the id of an upload.' using errcode = 'JT002', column = 'file.source.uploadId';
  end if;
  select * into v_upload from jobtree.upload u where u.id = (p_file #>> '{source,uploadId}')::uuid and u.removed_at is null for share;
  if v_upload.id is null then
    raise exception 'There is no upload %.', p_file #>> '{source,uploadId}' using errcode = 'JT001', column = 'file.source.uploadId';
  end if;
  if v_upload.sha256 is null then
    raise exception 'Upload % is not complete: % bytes of it are stored.', v_upload.id, v_upload.size using errcode = 'JT002', column = 'file.source.uploadId';
  end if;
  insert into jobtree.file_import (job_id, type, upload_id, options, size, created_at)
  values (p_job_id, p_type, v_upload.id, jsonb_strip_nulls(p_file - 'source'), v_upload.size, clock_timestamp())
  on conflict do nothing;
  if not found then
    raise exception 'Job % has a file.', p_job_id using errcode = 'JT002', column = 'file';
  end if;
end
$$;
