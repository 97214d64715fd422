-- Changes the settings of a type for all servers at once: they apply to claims that begin after the commit. A type without settings has no
-- row and costs its claims nothing.
--
-- p_settings JSON {paused?, concurrency?, rate?: {limit, intervalMs}, lifetimeMs?, priority?, maxFailuresPerItem?, backoffMs?,
--            backoffJitter?, heartbeatIntervalMs?, deadLetterAlert?: {endpoint, count, intervalMs}}: missing settings stay as they are, and
--            null removes one. priority to heartbeatIntervalMs are defaults of new jobs; the alert: raise_alerts
-- locks      the type's row of queue: waits for a claim of the type in progress
-- notifies   send_hint, topic work: there may be work of the type again
-- errors     JT002, with the field in the error's column
create or replace function jobtree.set_queue(p_type text, p_settings json)
returns void
language plpgsql volatile
-- plans: no seqscan, hashjoin, mergejoin
as $$
declare
  v_settings jsonb;
  v_old jobtree.queue;
  v_new jobtree.queue;
begin
  v_settings := jobtree.check_queue(p_type, p_settings);
  loop
    insert into jobtree.queue (type) values (p_type) on conflict (type) do nothing;
    select * into v_old from jobtree.queue q where q.type = p_type for update;
    -- The row is missing if another call has just removed the last setting.
    exit when found;
  end loop;

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
    heartbeat_interval_ms = case when v_settings ? 'heartbeatIntervalMs' then s."heartbeatIntervalMs" else q.heartbeat_interval_ms end
  from jsonb_to_record(v_settings) s(
    paused boolean, concurrency integer, rate jsonb, "lifetimeMs" integer, priority smallint, "maxFailuresPerItem" integer,
    "backoffMs" integer[], "backoffJitter" numeric, "heartbeatIntervalMs" integer
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
    q.concurrency, q.rate_limit, q.lifetime_ms, q.priority, q.max_failures_per_item, q.backoff_ms, q.backoff_jitter, q.heartbeat_interval_ms
  ) = 0;
  if v_settings -> 'deadLetterAlert' = 'null' then
    delete from jobtree.dead_letter_alert a where a.type = p_type;
  elsif v_settings ? 'deadLetterAlert' then
    -- An unchanged alert keeps its current spell.
    insert into jobtree.dead_letter_alert as a (type, endpoint, count, interval_ms)
    select p_type, s.endpoint, s.count, s."intervalMs"
    from jsonb_to_record(v_settings -> 'deadLetterAlert') s(endpoint text, count integer, "intervalMs" integer)
    on conflict (type) do update
    set endpoint = excluded.endpoint, count = excluded.count, interval_ms = excluded.interval_ms, spell_at = null, seen_at = null
    where (a.endpoint, a.count, a.interval_ms) is distinct from (excluded.endpoint, excluded.count, excluded.interval_ms);
  end if;
  perform jobtree.wake_workers(p_type, 100);
end
$$;
