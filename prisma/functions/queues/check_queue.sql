-- Rejects settings of a type that set_queue can't take.
--
-- returns    the settings
-- errors     JT002, with the field in the error's column
create or replace function jobtree.check_queue(p_type text, p_settings json)
returns jsonb
language plpgsql stable
as $$
declare
  v_settings constant jsonb := p_settings::jsonb;
  v_field text;
  v_message text;
begin
  select p.field, p.message into v_field, v_message
  from (
    select 'type' as field, 'is missing' as message where p_type is null
    union all
    select p.field, p.message from jobtree.input_problem(jsonb_build_object('type', p_type), array['type']) p
    union all
    select p.field, p.message
    from jobtree.input_problem(v_settings, array[
      'paused', 'concurrency', 'rate', 'lifetimeMs', 'priority', 'maxFailuresPerItem', 'backoffMs', 'backoffJitter', 'heartbeatIntervalMs', 'deadLetterAlert'
    ]) p
    union all
    select concat_ws('.', o.key, nullif(p.field, '')), p.message
    from (values ('rate', array['limit', 'intervalMs']), ('deadLetterAlert', array['endpoint', 'count', 'intervalMs'])) o(key, keys)
    cross join lateral (
      select p.field, p.message from jobtree.input_problem(v_settings -> o.key, o.keys) p
      union all
      select k, 'is missing' from unnest(o.keys) k where v_settings -> o.key ->> k is null
    ) p
    where v_settings -> o.key <> 'null'
    union all
    select 'deadLetterAlert.endpoint', format('is %s, but there is no endpoint of that name', v_settings #>> '{deadLetterAlert,endpoint}')
    where v_settings -> 'deadLetterAlert' <> 'null'
      and not exists (select from jobtree.callback_endpoint e where e.name = v_settings #>> '{deadLetterAlert,endpoint}')
    limit 1
  ) p;
  if v_field is not null then
    raise exception '% %.', coalesce(nullif(v_field, ''), 'The settings'), v_message using errcode = 'JT002', column = v_field;
  end if;
  return v_settings;
end
$$;
