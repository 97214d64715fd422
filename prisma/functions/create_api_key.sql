-- Creates an API key.
--
-- p_hash      SHA-256 of the key, which is not stored
-- p_roles     at least one of admin, operator, producer, worker, watcher; admin can't be combined with p_types or p_root_ids
-- p_types     the job types that it is valid for: names, or prefixes of names followed by a star; empty for all
-- p_root_ids  the trees that it is valid for; empty for all
-- p_tenant    the tenant of its callers and of p_types; null for callers that see all tenants
-- p_limits    limits that replace the servers' settings: requestsPerSecond, costPerSecond, connections, subscriptions, storedItems,
--             storedBytes; each a whole number, at least 1
-- returns     its id
-- errors      JT002, with the field in the error's column
create or replace function jobtree.create_api_key(
  p_name text, p_hash bytea, p_roles text[], p_types text[], p_root_ids uuid[], p_expires_at timestamptz, p_created_by text,
  p_tenant text default null,
  p_limits jsonb default '{}'
)
returns uuid
language plpgsql volatile
as $$
declare
  v_id constant uuid := gen_random_uuid();
begin
  if length(p_name) between 1 and 200 is not true then
    raise exception 'name must be a text of 1 to 200 characters.' using errcode = 'JT002', column = 'name';
  end if;
  if (cardinality(p_roles) > 0 and p_roles <@ '{admin,operator,producer,worker,watcher}') is not true then
    raise exception 'roles must be one or more of admin, operator, producer, worker and watcher.' using errcode = 'JT002', column = 'roles';
  end if;
  if 'admin' = any (p_roles) and (cardinality(p_types) > 0 or cardinality(p_root_ids) > 0) then
    raise exception 'A key with the role admin can''t be limited to types or trees.' using errcode = 'JT002', column = 'roles';
  end if;
  if p_expires_at <= clock_timestamp() then
    raise exception 'expiresAt has already passed.' using errcode = 'JT002', column = 'expiresAt';
  end if;
  if p_tenant !~ '^[a-z0-9-]{1,40}$' then
    raise exception 'tenant must be 1 to 40 of the characters a to z, 0 to 9 and -.' using errcode = 'JT002', column = 'tenant';
  end if;
  if exists (
    select from jsonb_each(p_limits) l
    where l.key not in ('requestsPerSecond', 'costPerSecond', 'connections', 'subscriptions', 'storedItems', 'storedBytes')
      or (l.value #>> '{}') !~ '^[1-9][0-9]{0,15}$'
  ) then
    raise exception 'limits must be an object of known limits, each a whole number from 1 to 9999999999999999.' using errcode = 'JT002', column = 'limits';
  end if;
  insert into jobtree.api_key (id, name, hash, roles, types, root_ids, created_at, created_by, expires_at, tenant, limits)
  values (v_id, p_name, p_hash, p_roles, p_types, p_root_ids, clock_timestamp(), p_created_by, p_expires_at, p_tenant, p_limits);
  return v_id;
end
$$;
