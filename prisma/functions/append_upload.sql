-- Stores the next bytes of an upload, if they are the next ones: of two who send the same part, one does it.
--
-- p_position how much the caller believes to be stored
-- p_size     how many bytes these are, at least one
-- p_data     the bytes themselves; null for an upload that is in an object store
-- p_object   the object that has them there, which the caller has stored; null otherwise
-- p_digest   the state of the SHA-256 behind them
-- p_length   how large the upload will be, if that is known only now; null leaves what was said before
-- p_lifetime_ms how long it is kept now, in milliseconds
-- returns    whether they were stored; otherwise more or less is stored than the caller believes, or the upload is complete or gone
-- locks      the upload's row
create or replace function jobtree.append_upload(
  p_id uuid, p_position bigint, p_size integer, p_data bytea, p_object text, p_digest bytea, p_length bigint, p_lifetime_ms bigint
)
returns boolean
language plpgsql volatile
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
