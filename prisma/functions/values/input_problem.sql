-- Finds what is wrong with an object that a caller sent: an unknown key, or an invalid value. A key with null counts as
-- missing.
--
-- p_input    the object: a job, an item, a report, a failure
-- p_keys     the keys that it may have
-- returns    the first problem: the key, with the place in its list, and what is to be said of it (value_problem); no row if there is none
create or replace function jobtree.input_problem(p_input jsonb, p_keys text[])
returns table (field text, message text)
language plpgsql stable
as $$
declare
  v_value jsonb;
begin
  if jsonb_typeof(p_input) is distinct from 'object' then
    return query select ''::text, 'must be an object';
    return;
  end if;

  for field, v_value in select e.key, e.value from jsonb_each(p_input) e loop
    continue when v_value = 'null';
    if field <> all (p_keys) then
      message := 'is not known';
    else
      message := jobtree.value_problem(case when field = 'intervalMs' and 'count' = any (p_keys) then 'alert.intervalMs' else field end, v_value);
    end if;
    if message is null and field in ('after', 'backoffMs') then
      select format('%s[%s]', field, e.n - 1), e.problem into field, message
      from (
        select s.n, jobtree.value_problem(field || '[]', s.value) as problem from jsonb_array_elements(v_value) with ordinality s(value, n)
      ) e
      where e.problem is not null
      order by e.n
      limit 1;
    end if;
    if message is not null then
      return next;
      return;
    end if;
  end loop;
end
$$;
