-- Replaces the text of an API key. The previous text remains valid for p_keep_previous_ms; older ones are invalid.
--
-- p_hash     SHA-256 of the new text
-- p_tenant   only a key of this tenant; null for any
-- errors     JT001 no such key, or it is revoked
create or replace function jobtree.rotate_api_key(p_id uuid, p_hash bytea, p_keep_previous_ms bigint, p_tenant text default null)
returns void
language plpgsql volatile
as $$
begin
  update jobtree.api_key k
  set hash = p_hash, previous_hash = k.hash, previous_until = clock_timestamp() + p_keep_previous_ms * interval '1 millisecond'
  where k.id = p_id and k.revoked_at is null and (p_tenant is null or k.tenant = p_tenant);
  if not found then
    raise exception 'There is no such key, or it is revoked.' using errcode = 'JT001', column = 'id';
  end if;
end
$$;
