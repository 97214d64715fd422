-- Refuses new items that are not what insert_items takes. Each gets a first look that costs next to nothing; what it
-- does not tell, priorities and instants and how long a key is, is for the casts and the table's checks.
--
-- p_items    as insert_items has it
-- p_field    what the list is called in the error: items
-- errors     JT002, with the field in the error's column
create or replace function jobtree.check_items(p_items jsonb, p_field text)
returns void
language plpgsql stable
set plan_cache_mode = force_generic_plan
as $$
declare
  v_problem record;
begin
  if jsonb_typeof(p_items) is distinct from 'array' then
    raise exception '% must be a list.', p_field using errcode = 'JT002', column = p_field;
  end if;
  for v_problem in
    select format('%s[%s]', p_field, e.n - 1) || coalesce('.' || nullif(p.field, ''), '') as field, p.message
    from jsonb_array_elements(p_items) with ordinality e(value, n)
    cross join lateral jobtree.input_problem(e.value, '{payload,dedupeKey,priority,runAt}') p
    where case
      when jsonb_typeof(e.value) <> 'object' then true
      when e.value - 'payload' = '{}' then false
      else e.value - '{payload,dedupeKey,priority,runAt}'::text[] <> '{}'
        or jsonb_typeof(e.value -> 'dedupeKey') <> 'string'
    end
    limit 1
  loop
    raise exception '% %.', v_problem.field, v_problem.message using errcode = 'JT002', column = v_problem.field;
  end loop;
end
$$;
