-- Creates a schedule, or changes an existing one of that name. Its next occurrence stays unless its times change, so that a deploy may
-- repeat the same definition; whether it is paused stays unless the input says so.
--
-- p_schedule {name, cron | everyMs, timeZone?, startAt?, missed?, overlap?, paused?, template, nextAt}: template is what create_job takes,
--            nextAt the next occurrence by these times, which servers compute
-- returns    whether it is new, and whether anything has changed
-- locks      the schedule's row, exclusively
-- errors     JT002, also for a template that create_job rejects
create or replace function jobtree.put_schedule(p_schedule json)
returns table (created boolean, changed boolean)
language plpgsql volatile
-- plans: no seqscan
as $$
declare
  v_now constant timestamptz(3) := clock_timestamp();
  v_problem record;
  v_new jobtree.schedule;
  v_old jobtree.schedule;
begin
  select * into v_problem from jobtree.schedule_problem(p_schedule::jsonb);
  if v_problem.field is not null then
    raise exception '% %.', coalesce(nullif(v_problem.field, ''), 'The schedule'), v_problem.message
      using errcode = 'JT002', column = v_problem.field;
  end if;
  perform jobtree.try_template(p_schedule -> 'template');

  select s.name, s.cron, case when s.cron is not null then coalesce(s."timeZone", 'UTC') end, s."everyMs", s."startAt",
    coalesce(s.missed, 'RUN_ONCE'), coalesce(s.overlap, 'ALLOW'), p_schedule -> 'template', v_now, v_now,
    case when s.paused then v_now end, case when not coalesce(s.paused, false) then s."nextAt" end
  into v_new.name, v_new.cron, v_new.time_zone, v_new.every_ms, v_new.start_at,
    v_new.missed, v_new.overlap, v_new.template, v_new.created_at, v_new.changed_at,
    v_new.paused_at, v_new.next_at
  from json_to_record(p_schedule) as s(
    name text, cron text, "timeZone" text, "everyMs" bigint, "startAt" timestamptz(3), missed text, overlap text, paused boolean,
    "nextAt" timestamptz(3)
  );
  insert into jobtree.schedule (
    name, cron, time_zone, every_ms, start_at, missed, overlap, template, created_at, changed_at, paused_at, next_at
  )
  values (
    v_new.name, v_new.cron, v_new.time_zone, v_new.every_ms, v_new.start_at, v_new.missed, v_new.overlap, v_new.template, v_now, v_now,
    v_new.paused_at, v_new.next_at
  )
  on conflict (name) do nothing;
  if found then
    return query select true, true;
    return;
  end if;

  select * into v_old from jobtree.schedule s where s.name = v_new.name for update;
  if not found then
    raise exception 'The schedule % was deleted meanwhile.', v_new.name using errcode = '40001';
  end if;
  if p_schedule ->> 'paused' is null or (v_old.paused_at is null) = (v_new.paused_at is null) then
    v_new.paused_at := v_old.paused_at;
  end if;
  v_new.next_at := case
    when v_new.paused_at is not null then null
    when v_old.paused_at is null
      and (v_old.cron, v_old.time_zone, v_old.every_ms, v_old.start_at)
        is not distinct from (v_new.cron, v_new.time_zone, v_new.every_ms, v_new.start_at) then v_old.next_at
    else (p_schedule ->> 'nextAt')::timestamptz(3)
  end;
  if (v_old.cron, v_old.time_zone, v_old.every_ms, v_old.start_at, v_old.missed, v_old.overlap, v_old.template::text, v_old.paused_at)
    is not distinct from
    (v_new.cron, v_new.time_zone, v_new.every_ms, v_new.start_at, v_new.missed, v_new.overlap, v_new.template::text, v_new.paused_at)
  then
    return query select false, false;
    return;
  end if;
  update jobtree.schedule s
  set cron = v_new.cron, time_zone = v_new.time_zone, every_ms = v_new.every_ms, start_at = v_new.start_at, missed = v_new.missed,
    overlap = v_new.overlap, template = v_new.template, changed_at = v_now, paused_at = v_new.paused_at, next_at = v_new.next_at,
    failed_at = null, error = null
  where s.name = v_new.name;
  return query select false, true;
end
$$;
