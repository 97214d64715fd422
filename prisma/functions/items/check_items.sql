-- Rejects new items that insert_items can't take. Nearly all items are a payload and nothing else, {"payload": …} without a space, which
-- comparing two lengths shows: an object with further keys is longer than its payload by more than the twelve bytes of the key, the colon
-- and the braces. Only the others are checked one by one. Priorities, instants and the length of dedupe keys are left to casts and the
-- table's constraints.
--
-- p_items    as insert_items takes them
-- p_field    the name of the list in errors: items
-- returns    the texts of the payloads, for insert_payloads, if the items have nothing else; null otherwise, and if there are no items
-- errors     JT002, with the field in the error's column; 22P05 or 22P02 for a character that Postgres can't store
create or replace function jobtree.check_items(p_items json, p_field text)
returns text[]
language plpgsql immutable
set plan_cache_mode = force_generic_plan
as $$
declare
  v_payloads text[];
  v_problem record;
  v_deep text;
begin
  if json_typeof(p_items) is distinct from 'array' then
    raise exception '% must be a list.', p_field using errcode = 'JT002', column = p_field;
  end if;
  -- Of the type jsonb, which rejects what Postgres can't store, \u0000 and half a surrogate pair, where json would have only a later reader
  -- fail. Searching for the escape costs next to nothing; parsing the whole text does not.
  if strpos(p_items::text, '\u') > 0 then
    perform p_items::jsonb;
  end if;
  select case when bool_and(coalesce(octet_length(g.item::text) - octet_length(g.payload) = 12, false)) then array_agg(g.payload) end
  into v_payloads
  from (
    select e.value as item, (e.value -> 'payload')::text as payload from json_array_elements(p_items) e(value) offset 0
  ) g;
  -- Most batches have fewer lists and objects in total than the nesting limit of a single payload.
  if octet_length(p_items::text) - octet_length(replace(replace(p_items::text, '[', ''), '{', '')) > 256 then
    select format('%s[%s].payload', p_field, e.n - 1) into v_deep
    from json_array_elements(p_items) with ordinality e(value, n)
    where json_typeof(e.value) = 'object' and jobtree.is_too_deep((e.value -> 'payload')::text)
    limit 1;
    if v_deep is not null then
      raise exception '% is nested more than 256 levels deep.', v_deep using errcode = 'JT002', column = v_deep;
    end if;
  end if;
  if v_payloads is not null then
    return v_payloads;
  end if;

  for v_problem in
    select format('%s[%s]', p_field, e.n - 1) || coalesce('.' || nullif(p.field, ''), '') as field, p.message
    from json_array_elements(p_items) with ordinality e(json, n)
    cross join lateral (select e.json::jsonb as value) v
    cross join lateral jobtree.input_problem(v.value, '{payload,dedupeKey,priority,runAt,serializeKey}') p
    where case
      when jsonb_typeof(v.value) <> 'object' then true
      when v.value - 'payload' = '{}' then false
      else v.value - '{payload,dedupeKey,priority,runAt,serializeKey}'::text[] <> '{}'
        or jsonb_typeof(v.value -> 'dedupeKey') <> 'string'
        or jsonb_typeof(v.value -> 'serializeKey') <> 'string' or not jobtree.is_name(v.value ->> 'serializeKey', 255)
    end
    limit 1
  loop
    raise exception '% %.', v_problem.field, v_problem.message using errcode = 'JT002', column = v_problem.field;
  end loop;
  return null;
end
$$;
