-- Sets the dead letter alert of a type. An unchanged alert keeps its current spell.
--
-- p_alert    {endpoint, count, intervalMs}, as check_queue has checked it; null for no alert
-- errors     JT002 no such endpoint
create or replace function jobtree.set_alert(p_type text, p_alert jsonb)
returns void
language plpgsql volatile
-- plans: no seqscan
as $$
begin
  if p_alert is null or p_alert = 'null' then
    delete from jobtree.dead_letter_alert a where a.type = p_type;
    return;
  end if;
  if not exists (select from jobtree.callback_endpoint e where e.name = p_alert ->> 'endpoint') then
    raise exception 'deadLetterAlert.endpoint is %, but there is no endpoint of that name.', p_alert ->> 'endpoint'
      using errcode = 'JT002', column = 'deadLetterAlert.endpoint';
  end if;
  insert into jobtree.dead_letter_alert as a (type, endpoint, count, interval_ms)
  values (p_type, p_alert ->> 'endpoint', (p_alert ->> 'count')::integer, (p_alert ->> 'intervalMs')::integer)
  on conflict (type) do update
  set endpoint = excluded.endpoint, count = excluded.count, interval_ms = excluded.interval_ms, spell_at = null, seen_at = null
  where (a.endpoint, a.count, a.interval_ms) is distinct from (excluded.endpoint, excluded.count, excluded.interval_ms);
end
$$;
