-- Puts all given schedules, or none on an error, and optionally deletes others.
--
-- p_schedules  a list of what put_schedule takes, no name twice
-- p_prefix     also deletes every other schedule whose name begins with this (all others for an empty text); null deletes none
-- returns      the names of the new, the changed and the deleted schedules
-- locks        the rows of the schedules, exclusively, in the order of their names
-- errors       those of put_schedule
create or replace function jobtree.sync_schedules(p_schedules json, p_prefix text default null)
returns table (created text[], changed text[], deleted text[])
language plpgsql volatile
-- plans: no seqscan
as $$
declare
  v_schedule record;
  v_put record;
  v_message text;
  v_field text;
begin
  if json_typeof(p_schedules) is distinct from 'array' then
    raise exception 'schedules must be a list.' using errcode = 'JT002', column = 'schedules';
  end if;
  select format('schedules[%s].name', max(e.n) - 1) into v_field
  from json_array_elements(p_schedules) with ordinality e(value, n)
  group by e.value ->> 'name'
  having count(*) > 1
  limit 1;
  if v_field is not null then
    raise exception '% is given twice.', v_field using errcode = 'JT002', column = v_field;
  end if;

  created := '{}';
  changed := '{}';
  if p_prefix is not null then
    with doomed as materialized (
      select s.name from jobtree.schedule s
      where starts_with(s.name, p_prefix)
        and not exists (select from json_array_elements(p_schedules) e(value) where e.value ->> 'name' = s.name)
      order by s.name
      for update
    ), gone as (
      delete from jobtree.schedule s using doomed d where s.name = d.name returning s.name
    )
    select array_agg(g.name order by g.name) into deleted from gone g;
  end if;
  deleted := coalesce(deleted, '{}');

  for v_schedule in
    select e.value, e.n from json_array_elements(p_schedules) with ordinality e(value, n) order by e.value ->> 'name'
  loop
    begin
      select * into v_put from jobtree.put_schedule(v_schedule.value);
    exception when sqlstate 'JT002' then
      get stacked diagnostics v_message = message_text, v_field = column_name;
      v_field := rtrim(format('schedules[%s].', v_schedule.n - 1) || v_field, '.');
      raise exception '%: %', v_field, v_message using errcode = 'JT002', column = v_field;
    end;
    if v_put.created then
      created := created || (v_schedule.value ->> 'name');
    elsif v_put.changed then
      changed := changed || (v_schedule.value ->> 'name');
    end if;
  end loop;
  return next;
end
$$;
