-- Revokes an API key permanently. Servers notice within seconds (`check_api_keys`). Revoking it twice changes nothing.
--
-- p_tenant   only a key of this tenant; null for any
-- returns    whether it was not revoked before
-- errors     JT001 no such key
create or replace function jobtree.revoke_api_key(p_id uuid, p_tenant text default null)
returns boolean
language plpgsql volatile
as $$
begin
  update jobtree.api_key k set revoked_at = clock_timestamp() where k.id = p_id and k.revoked_at is null and (p_tenant is null or k.tenant = p_tenant);
  if found then
    return true;
  end if;
  if not exists (select from jobtree.api_key k where k.id = p_id and (p_tenant is null or k.tenant = p_tenant)) then
    raise exception 'There is no such key.' using errcode = 'JT001', column = 'id';
  end if;
  return false;
end
$$;
