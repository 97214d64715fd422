-- Begins to cancel or delete trees: those that meet some conditions, and exist by now. run_tree_operation does the work in batches, of trees that
-- a server selects: the conditions are its.
--
-- p_kind     CANCEL_TREES or DELETE_TREES
-- p_conditions   those of a list of trees; {types?} is also what callers with a scope see the operation by
-- p_total    how many trees meet them
-- p_tenant   who owns it; null for none
-- p_scope    the types that the caller may see; null for all
-- p_requested_by   who asks for it, for people
-- returns    the operation
-- locks      none
-- errors     JT002 an unknown kind
create or replace function jobtree.start_tree_operation(
  p_kind text, p_conditions jsonb, p_total bigint, p_tenant text default null, p_scope text[] default null, p_requested_by text default null
)
returns uuid
language plpgsql volatile
as $$
declare
  v_id constant uuid := jobtree.new_id();
begin
  if p_kind is null or p_kind not in ('CANCEL_TREES', 'DELETE_TREES') then
    raise exception 'kind must be CANCEL_TREES or DELETE_TREES.' using errcode = 'JT002', column = 'kind';
  end if;
  insert into jobtree.operation (id, kind, requested_at, types, before_position, total, tenant, requested_by, conditions, scope)
  values (
    v_id, p_kind, clock_timestamp(),
    case jsonb_typeof(p_conditions -> 'types') when 'array' then array(select jsonb_array_elements_text(p_conditions -> 'types')) end,
    0, p_total, p_tenant, p_requested_by, p_conditions, p_scope
  );
  return v_id;
end
$$;
