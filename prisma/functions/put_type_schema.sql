-- Registers what payloads and results of a type look like in a version of it. A version never changes: with other schemas it is
-- another version. Whether they are schemas, and what they cost, is for the servers that call this.
--
-- p_payload, p_result   JSON Schemas; null where anything goes, but not both
-- returns    whether the version is new; false if it is there with these schemas
-- errors     JT002 the version is there with others, the type has ten versions, or there are a thousand in all, of a tenant a hundred,
--            which calls at the same time may pass by a few; 23514 a type, a version or schemas out of bounds
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
      raise exception 'type % has ten versions: remove one that nobody sends any more.', p_type using errcode = 'JT002', column = 'version';
    end if;
    -- Every server reads what there is, again and again. What a tenant registers takes nobody else's room.
    v_most := case jobtree.tenant_beginning(p_type) when '' then 1000 else 100 end;
    if v_most <= (
      select count(*) from jobtree.type_schema t where jobtree.tenant_beginning(t.type) = jobtree.tenant_beginning(p_type)
    ) then
      raise exception 'There are % versions of types: remove some that nobody sends any more.', v_most
        using errcode = 'JT002', column = 'version';
    end if;
    insert into jobtree.type_schema (id, type, version, payload, result, created_at)
    values (jobtree.new_id(), p_type, p_version, p_payload, p_result, clock_timestamp())
    on conflict (type, version) do nothing;
    if found then
      return true;
    end if;
    -- Somebody else has just registered it.
    select * into v_old from jobtree.type_schema t where t.type = p_type and t.version = p_version;
  end if;
  if v_old.payload::jsonb is distinct from p_payload::jsonb or v_old.result::jsonb is distinct from p_result::jsonb then
    raise exception 'version % of % has other schemas: register these as another version.', p_version, p_type
      using errcode = 'JT002', column = 'version';
  end if;
  return false;
end
$$;
