-- Stores bytes of an upload if they continue what is stored: if two callers send the same part, one of them stores it.
--
-- p_position    how many bytes the caller believes to be stored
-- p_size        how many bytes these are, at least one
-- p_data        the bytes; null for an upload in an object store
-- p_object      the object that the caller has stored with the bytes; null for an upload in Postgres
-- p_digest      the state of the SHA-256 after these bytes
-- p_length      the size of the whole upload, in bytes, if it becomes known only now; null leaves the known one
-- p_lifetime_ms how long the upload is kept from now on, in milliseconds
-- returns       whether the bytes were stored; if not, the stored size differs from p_position, or the upload is complete or removed
-- locks         the upload's row
create or replace function jobtree.append_upload(
  p_id uuid, p_position bigint, p_size integer, p_data bytea, p_object text, p_digest bytea, p_length bigint, p_lifetime_ms bigint
)
returns boolean
language plpgsql volatile
set jit = off
set enable_seqscan = off
as $$
declare
  v_tenant text;
begin
  update jobtree.upload u
  set size = u.size + p_size, digest_state = p_digest, length = coalesce(u.length, p_length),
    expires_at = clock_timestamp() + p_lifetime_ms * interval '1 millisecond'
  where u.id = p_id and u.size = p_position and u.sha256 is null and u.removed_at is null and (u.store is null) = (p_object is null)
  returning coalesce(u.tenant, '') into v_tenant;
  if not found then
    return false;
  end if;
  if p_object is null then
    insert into jobtree.upload_chunk (upload_id, position, data) values (p_id, p_position, p_data);
  else
    insert into jobtree.upload_object (upload_id, position, size, name) values (p_id, p_position, p_size, p_object);
  end if;
  insert into jobtree.stored_delta (tenant, items, bytes) values (v_tenant, 0, p_size);
  return true;
end
$$;
