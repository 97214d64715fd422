-- Declares an upload complete: from now on it can be imported.
--
-- p_size     how many bytes the caller believes to be stored
-- p_sha256   of the whole file
-- returns    whether it is complete now; if not, the stored size differs from p_size, or the upload is removed
-- locks      the upload's row
create or replace function jobtree.finish_upload(p_id uuid, p_size bigint, p_sha256 bytea, p_lifetime_ms bigint)
returns boolean
language plpgsql volatile
set jit = off
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
