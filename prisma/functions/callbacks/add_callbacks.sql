-- Stores which endpoints are called when a tree, or each job of it, is complete.
--
-- p_callbacks   up to 10 of {endpoint, on?: TREE|JOB}; TREE by default; duplicates count once
-- errors     JT002, with the field in the error's column, also for an unknown endpoint, and if the tree would have more than 10
create or replace function jobtree.add_callbacks(p_root_id uuid, p_callbacks jsonb)
returns void
language plpgsql volatile
-- plans: no seqscan
as $$
declare
  v_problem record;
begin
  if jsonb_array_length(p_callbacks) > 10 then
    raise exception 'callbacks has % entries; the limit is 10.', jsonb_array_length(p_callbacks) using errcode = 'JT002', column = 'callbacks';
  end if;
  select format('callbacks[%s]', c.n - 1) || coalesce('.' || nullif(p.field, ''), '') as field, p.message into v_problem
  from jsonb_array_elements(p_callbacks) with ordinality c(value, n)
  cross join lateral (
    select i.field, i.message from jobtree.input_problem(c.value, '{endpoint,on}') i
    union all
    select 'on', format('is %s; it must be TREE or JOB', left((c.value -> 'on')::text, 80)) where coalesce(nullif(c.value -> 'on', 'null'), '"TREE"') not in ('"TREE"', '"JOB"')
    union all
    select 'endpoint', 'is missing' where c.value ->> 'endpoint' is null
    union all
    select 'endpoint', format('is %s, but there is no endpoint of that name', c.value ->> 'endpoint')
    where not exists (select from jobtree.callback_endpoint e where e.name = c.value ->> 'endpoint')
    limit 1
  ) p
  order by c.n
  limit 1;
  if found then
    raise exception '% %.', v_problem.field, v_problem.message using errcode = 'JT002', column = v_problem.field;
  end if;

  insert into jobtree.callback (root_id, endpoint, event)
  select p_root_id, c.value ->> 'endpoint', coalesce(c.value ->> 'on', 'TREE')
  from jsonb_array_elements(p_callbacks) c(value)
  on conflict do nothing;
  if (select count(*) from jobtree.callback c where c.root_id = p_root_id) > 10 then
    raise exception 'The tree would have more than 10 callbacks.' using errcode = 'JT002', column = 'callbacks';
  end if;
end
$$;
