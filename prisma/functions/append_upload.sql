-- Stores the next bytes of an upload, if they are the next ones: of two who send the same part, one does it.
--
-- p_position how much the caller believes to be stored
-- p_data     the bytes, at least one
-- p_digest   the state of the SHA-256 behind them
-- p_length   how large the upload will be, if that is known only now; null leaves what was said before
-- p_lifetime_ms how long it is kept now, in milliseconds
-- returns    whether they were stored; otherwise more or less is stored than the caller believes, or the upload is complete or gone
-- locks      the upload's row
create or replace function jobtree.append_upload(
  p_id uuid, p_position bigint, p_data bytea, p_digest bytea, p_length bigint, p_lifetime_ms bigint
)
returns boolean
language plpgsql volatile
set enable_seqscan = off
as $$
begin
  update jobtree.upload u
  set size = u.size + octet_length(p_data), digest_state = p_digest, length = coalesce(u.length, p_length),
    expires_at = clock_timestamp() + p_lifetime_ms * interval '1 millisecond'
  where u.id = p_id and u.size = p_position and u.sha256 is null and not u.removing;
  if found then
    insert into jobtree.upload_chunk (upload_id, position, data) values (p_id, p_position, p_data);
  end if;
  return found;
end
$$;
