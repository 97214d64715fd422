-- Removes an upload: nobody can use it any more, and prune_uploads and lease_removal delete its data.
--
-- returns    REMOVED, GONE if there is no such upload, or USED while a file import reads it
-- locks      the upload's row, exclusively: waits for add_file
create or replace function jobtree.remove_upload(p_id uuid)
returns text
language plpgsql volatile
-- plans: no seqscan
as $$
begin
  perform 1 from jobtree.upload u where u.id = p_id and u.removed_at is null for update;
  if not found then
    return 'GONE';
  end if;
  if exists (select from jobtree.file_import f where f.upload_id = p_id and f.finished_at is null) then
    return 'USED';
  end if;
  update jobtree.upload u set removed_at = clock_timestamp(), expires_at = clock_timestamp() where u.id = p_id;
  return 'REMOVED';
end
$$;
