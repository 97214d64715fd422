-- Changes the settings of a type for all servers at once: they apply to claims that begin after the commit. A type without settings has no
-- row and costs its claims nothing.
--
-- p_settings JSON {paused?, concurrency?, rate?: {limit, intervalMs}, lifetimeMs?, priority?, maxFailuresPerItem?, backoffMs?,
--            backoffJitter?, heartbeatIntervalMs?, deadLetterAlert?: {endpoint, count, intervalMs}}: missing settings stay as they are, and
--            null removes one. priority to heartbeatIntervalMs are defaults of new jobs; the alert: raise_alerts
-- locks      the type's row of queue: waits for a claim of the type in progress
-- notifies   send_hints, topic work: there may be work of the type again
-- errors     JT002, with the field in the error's column
create or replace function jobtree.set_queue(p_type text, p_settings json)
returns void
language plpgsql volatile
-- plans: no seqscan, hashjoin, mergejoin
as $$
declare
  v_settings constant jsonb := p_settings::jsonb;
  v_field text;
  v_message text;
  v_old jobtree.queue;
  v_new jobtree.queue;
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

  insert into jobtree.queue as q (type) values (p_type) on conflict (type) do update set paused = q.paused returning q.* into v_old;
  update jobtree.queue q
  set paused = case when v_settings ? 'paused' then coalesce(s.paused, false) else q.paused end,
    concurrency = case when v_settings ? 'concurrency' then s.concurrency else q.concurrency end,
    rate_limit = case when v_settings ? 'rate' then (s.rate ->> 'limit')::integer else q.rate_limit end,
    rate_interval_ms = case when v_settings ? 'rate' then (s.rate ->> 'intervalMs')::integer else q.rate_interval_ms end,
    lifetime_ms = case when v_settings ? 'lifetimeMs' then s."lifetimeMs" else q.lifetime_ms end,
    priority = case when v_settings ? 'priority' then s.priority else q.priority end,
    max_failures_per_item = case when v_settings ? 'maxFailuresPerItem' then s."maxFailuresPerItem" else q.max_failures_per_item end,
    backoff_ms = case when v_settings ? 'backoffMs' then s."backoffMs" else q.backoff_ms end,
    backoff_jitter = case when v_settings ? 'backoffJitter' then round(s."backoffJitter", 9) else q.backoff_jitter end,
    heartbeat_interval_ms = case when v_settings ? 'heartbeatIntervalMs' then s."heartbeatIntervalMs" else q.heartbeat_interval_ms end,
    alert_endpoint = case when v_settings ? 'deadLetterAlert' then s."deadLetterAlert" ->> 'endpoint' else q.alert_endpoint end,
    alert_count = case when v_settings ? 'deadLetterAlert' then (s."deadLetterAlert" ->> 'count')::integer else q.alert_count end,
    alert_interval_ms = case when v_settings ? 'deadLetterAlert' then (s."deadLetterAlert" ->> 'intervalMs')::integer else q.alert_interval_ms end
  from jsonb_to_record(v_settings) s(
    paused boolean, concurrency integer, rate jsonb, "lifetimeMs" integer, priority smallint, "maxFailuresPerItem" integer,
    "backoffMs" integer[], "backoffJitter" numeric, "heartbeatIntervalMs" integer, "deadLetterAlert" jsonb
  )
  where q.type = p_type
  returning q.* into v_new;

  if v_new.concurrency is null then
    delete from jobtree.held_delta d where d.type = p_type;
  elsif v_old.concurrency is null then
    -- Leases of an earlier limit may still count.
    with gone as (
      delete from jobtree.held_delta d where d.type = p_type
    )
    insert into jobtree.held_delta (type, items, seen)
    select p_type, coalesce(sum(bit_count(l.open)), 0), pg_current_snapshot() from jobtree.lease l
    where l.limited_type = p_type and l.check_at is not null;
    perform jobtree.adopt_leases(array[p_type]);
    -- The leases of claims that are in progress count once these have ended. Which these are is not known before the commit: lock_queues finds out.
    update jobtree.queue q set limited_by = '18446744073709551615' where q.type = p_type;
  end if;
  if v_new.rate_limit is null then
    delete from jobtree.rate_slice s where s.type = p_type;
  end if;
  delete from jobtree.queue q
  where q.type = p_type and not q.paused and num_nonnulls(
    q.concurrency, q.rate_limit, q.lifetime_ms, q.priority, q.max_failures_per_item, q.backoff_ms, q.backoff_jitter, q.heartbeat_interval_ms,
    q.alert_endpoint
  ) = 0;
  -- An unchanged alert keeps its current spell.
  if (v_old.alert_endpoint, v_old.alert_count, v_old.alert_interval_ms)
      is distinct from (v_new.alert_endpoint, v_new.alert_count, v_new.alert_interval_ms) then
    update jobtree.queue q set alert_spell_at = null, alert_seen_at = null where q.type = p_type;
  end if;
  perform jobtree.wake_workers(p_type, 100);
end
$$;
