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
  v_rate constant jsonb := case jsonb_typeof(v_settings) when 'object' then nullif(v_settings -> 'rate', 'null') end;
  v_alert constant jsonb := case jsonb_typeof(v_settings) when 'object' then nullif(v_settings -> 'deadLetterAlert', 'null') end;
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
    limit 1
  ) p;
  if v_field is null and v_rate is not null then
    select concat_ws('.', 'rate', nullif(p.field, '')), p.message into v_field, v_message
    from (
      select p.field, p.message from jobtree.input_problem(v_rate, array['limit', 'intervalMs']) p
      union all
      select k, 'is missing' from unnest(array['limit', 'intervalMs']) k where v_rate ->> k is null
      limit 1
    ) p;
  end if;
  if v_field is null and v_alert is not null then
    select concat_ws('.', 'deadLetterAlert', nullif(p.field, '')), p.message into v_field, v_message
    from (
      select p.field, p.message from jobtree.input_problem(v_alert, array['endpoint', 'count', 'intervalMs']) p
      union all
      select k, 'is missing' from unnest(array['endpoint', 'count', 'intervalMs']) k where v_alert ->> k is null
      limit 1
    ) p;
  end if;
  if v_field is not null then
    raise exception '% %.', coalesce(nullif(v_field, ''), 'The settings'), v_message using errcode = 'JT002', column = v_field;
  end if;
  return v_settings;
end
$$;
