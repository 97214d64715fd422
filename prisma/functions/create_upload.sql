-- Begins an upload: append_upload stores its bytes, finish_upload says that these are all.
--
-- p_length   how large it will be, in bytes; null if that is not known yet
-- p_sha256   what the SHA-256 of all of it must be; null if nobody has said so
-- p_lifetime_ms how long it is kept after its last byte, in milliseconds
-- p_store    the object store that will have its bytes; null for upload_chunk
-- p_tenant   of whoever sends it; null for no tenant
-- returns    its id
create or replace function jobtree.create_upload(p_length bigint, p_sha256 bytea, p_lifetime_ms bigint, p_store text, p_tenant text default null)
returns uuid
language sql volatile
as $$
  insert into jobtree.upload (id, created_at, expires_at, length, expected_sha256, store, tenant)
  values (
    jobtree.new_id(), clock_timestamp(), clock_timestamp() + p_lifetime_ms * interval '1 millisecond', p_length, p_sha256, p_store, p_tenant
  )
  returning id
$$;
