drop routine jobtree.start_operation(text,jsonb,json);

-- AlterTable
ALTER TABLE "jobtree"."operation" ADD COLUMN     "requested_by" TEXT;

alter table "jobtree"."api_key" drop constraint "api_key_roles_check";
alter table "jobtree"."api_key" add constraint "api_key_roles_check"
  check (cardinality("roles") > 0 and "roles" <@ '{admin,operator,producer,worker,watcher}');

set local check_function_bodies = off;

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

-- The initial state of the operation that a filter describes.
--
-- p_kind, p_filter, p_payload   as start_operation takes them
-- returns    a row that is not in the table yet
-- errors     those of start_operation
create or replace function jobtree.operation_of(p_kind text, p_filter jsonb, p_payload json default null)
returns jobtree.operation
language plpgsql volatile
set jit = off
set enable_seqscan = off
as $$
declare
  v_filter constant jsonb := jsonb_strip_nulls(case jsonb_typeof(p_filter) when 'object' then p_filter else '{}' end);
  v_unknown constant text := (
    select min(k) from jsonb_object_keys(v_filter) k
    where k <> all (array['tenant', 'jobId', 'types', 'codes', 'dedupeKeys', 'items'] || case
      when p_kind in ('CANCEL', 'PROMOTE') then array['statuses', 'addedFrom', 'addedUntil']
      else array['groupIds', 'diedFrom', 'diedUntil']
    end)
  );
  v_operation jobtree.operation;
begin
  if v_filter - 'tenant' = '{}' then
    raise exception 'filter is empty, and would match everything: set at least one of its fields.' using errcode = 'JT002', column = 'filter';
  elsif v_unknown is not null then
    raise exception 'filter has an unknown key: %.', v_unknown using errcode = 'JT002', column = 'filter.' || v_unknown;
  elsif p_kind is null or p_kind not in ('REPLAY', 'DISCARD', 'CANCEL', 'PROMOTE') then
    raise exception 'kind must be REPLAY, DISCARD, CANCEL or PROMOTE.' using errcode = 'JT002', column = 'kind';
  elsif jsonb_path_exists(
    v_filter,
    '$.statuses[*] ? (!(@ == "WAITING" || @ == "BLOCKED" || @ == "SCHEDULED" || @ == "RETRYING" || @ == "READY" || @ == "RUNNING"))'
  ) then
    raise exception 'filter.statuses must be WAITING, BLOCKED, SCHEDULED, RETRYING, READY or RUNNING: no other item is pending.'
      using errcode = 'JT002', column = 'filter.statuses';
  elsif p_kind = 'PROMOTE' and jsonb_path_exists(v_filter, '$.statuses[*] ? (!(@ == "SCHEDULED" || @ == "RETRYING"))') then
    raise exception 'filter.statuses must be RETRYING or SCHEDULED: other items do not wait for a time.'
      using errcode = 'JT002', column = 'filter.statuses';
  elsif p_payload is not null and (p_kind <> 'REPLAY' or jsonb_array_length(coalesce(v_filter -> 'items', '[]')) <> 1) then
    raise exception 'payload is for one item only: replay it with a filter that names it.' using errcode = 'JT002', column = 'payload';
  elsif v_filter ? 'jobId' and not exists (select from jobtree.job j where j.id = (v_filter ->> 'jobId')::uuid) then
    raise exception 'There is no job %.', v_filter ->> 'jobId' using errcode = 'JT001', column = 'filter.jobId';
  end if;
  select jobtree.new_id(), p_kind, clock_timestamp(), f."jobId", f.types, f.codes, f."groupIds", f."diedFrom", f."diedUntil",
    f."dedupeKeys", i.job_ids, i.positions, case when p_kind = 'PROMOTE' then coalesce(f.statuses, '{RETRYING}') else f.statuses end,
    f."addedFrom", f."addedUntil", least(1024 * (s.last_value + 1), (select max(u) + 1 from unnest(i.positions) u)), p_payload, 0, 0, '00000000-0000-0000-0000-000000000000', -1, false, null, null, f.tenant, null
  into v_operation
  from jsonb_to_record(v_filter) f(
    "jobId" uuid, types text[], codes text[], "groupIds" uuid[], "diedFrom" timestamptz, "diedUntil" timestamptz, "dedupeKeys" text[],
    items jsonb, statuses text[], "addedFrom" timestamptz, "addedUntil" timestamptz, tenant text
  )
  cross join jobtree.block_seq s
  cross join lateral (
    select array_agg((e ->> 'jobId')::uuid) as job_ids, array_agg((e ->> 'position')::bigint) as positions
    from jsonb_array_elements(f.items) e
  ) i;
  return v_operation;
end
$$;

-- Begins to replay or discard dead letters, to cancel pending items, or to make scheduled ones ready before their time: those that meet every
-- condition of the filter. run_operation, called by any server until it is finished, does the work in batches. Items that are added, or fail,
-- later are not affected.
--
-- p_kind     REPLAY, DISCARD, CANCEL or PROMOTE
-- p_filter   {jobId?, types?, codes?, dedupeKeys?, items?: [{jobId, position}]}, for dead letters also {groupIds?, diedFrom?, diedUntil?},
--            for pending items {statuses?, addedFrom?, addedUntil?}; at least one of them. A job includes all jobs below it, and codes are
--            those of the last failure. Statuses are those of pending items: WAITING, BLOCKED, SCHEDULED, RETRYING, READY and
--            RUNNING; PROMOTE takes only RETRYING, the default, and SCHEDULED. In addition {tenant?}: only items of types of this tenant, which
--            owns the operation
-- p_payload  the new payload of a replayed item; only with a filter for a single item
-- p_requested_by   who asks for it, for people
-- returns    the operation, and how many items it selects
-- locks      none
-- errors     JT001 no such job; JT002 an empty filter, or another problem with it; 22P02, 22007 or 22008 for a malformed value
create or replace function jobtree.start_operation(p_kind text, p_filter jsonb, p_payload json default null, p_requested_by text default null)
returns table (operation_id uuid, total bigint)
language plpgsql volatile
as $$
declare
  v_operation jobtree.operation := jobtree.operation_of(p_kind, p_filter, p_payload);
begin
  v_operation.requested_by := p_requested_by;
  v_operation.total := jobtree.operation_total(v_operation);
  insert into jobtree.operation select v_operation.*;
  return query select v_operation.id, v_operation.total;
end
$$;
