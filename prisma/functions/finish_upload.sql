-- Says that all of an upload is stored: it can be imported from now on.
--
-- p_size     how much the caller believes to be stored
-- p_sha256   of all of it
-- returns    whether it is complete now; otherwise more or less is stored than the caller believes, or it is gone
-- locks      the upload's row
create or replace function jobtree.finish_upload(p_id uuid, p_size bigint, p_sha256 bytea, p_lifetime_ms bigint)
returns boolean
language plpgsql volatile
set enable_seqscan = off
as $$
begin
  update jobtree.upload u
  set length = u.size, sha256 = p_sha256, digest_state = null,
    expires_at = clock_timestamp() + p_lifetime_ms * interval '1 millisecond'
  where u.id = p_id and u.size = p_size and u.removed_at is null and (u.sha256 is null or u.sha256 = p_sha256);
  return found;
end
$$;
