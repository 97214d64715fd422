-- Records the outcome of an attempt at a delivery: it is settled, or due again. The waits are 5 s, 1, 5 and 30 min, 1, 2, 4, 8 and 8 h with
-- up to a fifth more, about a day in all, and at least what the receiver asks for, up to a day; after ten attempts the delivery has failed.
--
-- p_attempt  the attempt, as lease_deliveries returned it; once its lease is over and another attempt has begun, only success is recorded
-- p_answer   {at, tookMs, statusCode?, error?, retryAfterMs?, retryAt?}: without an error the message is delivered; after the status code
--            410 the endpoint is no longer called
-- locks      the delivery's row, and after 410 the endpoint's
create or replace function jobtree.note_delivery(p_id uuid, p_attempt integer, p_answer json)
returns void
language plpgsql volatile
-- plans: no seqscan
as $$
declare
  v_now constant timestamptz(3) := clock_timestamp();
  v_waits constant interval[] := '{5s,1min,5min,30min,1h,2h,4h,8h,8h}';
  v_delivery jobtree.callback_delivery;
  v_wait interval;
  v_asked timestamptz;
begin
  select * into v_delivery from jobtree.callback_delivery d where d.id = p_id for update;
  if v_delivery.due_at is null or v_delivery.attempts <> p_attempt and p_answer ->> 'error' is not null then
    return;
  end if;
  v_delivery.history := jobtree.add_attempt(v_delivery.history, json_build_object(
    'at', p_answer -> 'at', 'tookMs', p_answer -> 'tookMs', 'statusCode', p_answer -> 'statusCode', 'error', left(p_answer ->> 'error', 500)
  ));
  v_delivery.due_at := null;
  if p_answer ->> 'error' is null then
    v_delivery.delivered_at := v_now;
  elsif (p_answer ->> 'statusCode')::integer = 410 then
    v_delivery.failed_at := v_now;
    update jobtree.callback_endpoint e set gone_at = v_now where e.name = v_delivery.endpoint and e.gone_at is null;
  else
    v_wait := v_waits[greatest(1, p_attempt - v_delivery.attempts_before)] * (1 + 0.2 * random());
    v_asked := coalesce(v_now + (p_answer ->> 'retryAfterMs')::float8 * interval '1 millisecond', (p_answer ->> 'retryAt')::timestamptz);
    v_delivery.due_at := greatest(v_now + v_wait, case when v_asked is not null then least(v_asked, v_now + interval '1 day') end);
    if v_wait is null then
      v_delivery.due_at := null;
      v_delivery.failed_at := v_now;
    end if;
  end if;
  update jobtree.callback_delivery d
  set due_at = v_delivery.due_at, delivered_at = v_delivery.delivered_at, failed_at = v_delivery.failed_at, history = v_delivery.history
  where d.id = p_id;
end
$$;
