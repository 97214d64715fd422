-- Registers the schemas of payloads and results for a version of a type. A version never changes: other schemas make another version. The
-- servers that call this check whether they are valid schemas, and what they cost.
--
-- p_payload, p_result   JSON Schemas; null to accept anything, but not both
-- returns    whether the version is new; false if it exists with these schemas
-- errors     JT002 the version exists with other schemas, the type has ten versions, or there are a thousand in all, or a hundred of a
--            tenant, which concurrent calls may exceed by a few; 23514 a type, a version or schemas out of bounds
create or replace function jobtree.put_type_schema(p_type text, p_version integer, p_payload json, p_result json)
returns boolean
language plpgsql volatile
as $$
declare
  v_old jobtree.type_schema;
  v_most integer;
begin
  select * into v_old from jobtree.type_schema t where t.type = p_type and t.version = p_version;
  if v_old.id is null then
    if (select count(*) from jobtree.type_schema t where t.type = p_type) >= 10 then
      raise exception 'type % has ten versions: remove one that is no longer used.', p_type using errcode = 'JT002', column = 'version';
    end if;
    -- Limited, since every server reads all of them regularly. Each tenant has a limit of its own, so none uses up another's.
    v_most := case jobtree.tenant_beginning(p_type) when '' then 1000 else 100 end;
    if v_most <= (
      select count(*) from jobtree.type_schema t where jobtree.tenant_beginning(t.type) = jobtree.tenant_beginning(p_type)
    ) then
      raise exception 'There are % versions of types: remove some that are no longer used.', v_most
        using errcode = 'JT002', column = 'version';
    end if;
    loop
      insert into jobtree.type_schema (id, type, version, payload, result, created_at)
      values (jobtree.new_id(), p_type, p_version, p_payload, p_result, clock_timestamp())
      on conflict (type, version) do nothing;
      if found then
        return true;
      end if;
      -- Another call has just registered it, unless one has removed it since.
      select * into v_old from jobtree.type_schema t where t.type = p_type and t.version = p_version;
      exit when found;
    end loop;
  end if;
  if v_old.payload::jsonb is distinct from p_payload::jsonb or v_old.result::jsonb is distinct from p_result::jsonb then
    raise exception 'version % of % has other schemas: register these as another version.', p_version, p_type
      using errcode = 'JT002', column = 'version';
  end if;
  return false;
end
$$;
