-- Deletes what is stored of an upload that is removed, or whose time is over while no file import reads it: up to p_limit chunks, and with the
-- last one the upload. Call it again at once while it says so.
--
-- returns    whether it did anything
-- locks      the upload's row, skipping those that somebody else has
create or replace function jobtree.prune_uploads(p_limit integer default 32)
returns boolean
language plpgsql volatile
set enable_seqscan = off
as $$
declare
  v_id uuid;
  v_deleted integer;
begin
  select u.id into v_id from jobtree.upload u
  where u.expires_at <= clock_timestamp()
    and not exists (select from jobtree.file_import f where f.upload_id = u.id and f.finished_at is null)
  order by u.expires_at
  limit 1
  for update skip locked;
  if v_id is null then
    return false;
  end if;
  -- In a statement of its own: an import that somebody began before the lock is seen here.
  if exists (select from jobtree.file_import f where f.upload_id = v_id and f.finished_at is null) then
    return true;
  end if;
  update jobtree.upload u set removing = true where u.id = v_id and not u.removing;
  delete from jobtree.upload_chunk c
  where c.upload_id = v_id and c.position in (
    select o.position from jobtree.upload_chunk o where o.upload_id = v_id order by o.position limit p_limit
  );
  get diagnostics v_deleted = row_count;
  if v_deleted < p_limit then
    delete from jobtree.upload u where u.id = v_id;
  end if;
  return true;
end
$$;
