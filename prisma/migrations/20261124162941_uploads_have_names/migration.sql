drop routine jobtree.create_upload(bigint,bytea,bigint,text,text,text);

-- AlterTable
ALTER TABLE "jobtree"."upload" ADD COLUMN     "name" TEXT;

set local check_function_bodies = off;

-- Begins an upload: append_upload stores its bytes, and finish_upload declares it complete.
--
-- p_length      its size in bytes; null if not known yet
-- p_sha256      the SHA-256 that the whole file must have; null for any
-- p_lifetime_ms how long it is kept after its last byte, in milliseconds
-- p_store       the object store that gets its bytes; null for upload_chunk
-- p_tenant      the sender's tenant; null for none
-- p_account     the sender; null if it was not authenticated
-- p_name        the name of the file: up to 255 characters; null if the sender gave none
-- returns       its id
create or replace function jobtree.create_upload(
  p_length bigint, p_sha256 bytea, p_lifetime_ms bigint, p_store text, p_tenant text default null, p_account text default null,
  p_name text default null
)
returns uuid
language sql volatile
as $$
  insert into jobtree.upload (id, created_at, expires_at, length, expected_sha256, store, tenant, account, name)
  values (
    jobtree.new_id(), clock_timestamp(), clock_timestamp() + p_lifetime_ms * interval '1 millisecond', p_length, p_sha256, p_store, p_tenant, p_account,
    p_name
  )
  returning id
$$;
