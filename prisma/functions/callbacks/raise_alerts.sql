-- Notifies the endpoint of a type when the configured number of its items have become dead letters within the interval: once per spell,
-- which ends when there have been fewer for a whole interval.
--
-- returns    how many alerts it has raised
-- locks      the rows of queue that change, skipping locked ones, once all is counted
create or replace function jobtree.raise_alerts()
returns integer
language plpgsql volatile
-- plans: no seqscan, bitmapscan, hashjoin, mergejoin; generic
as $$
declare
  v_now constant timestamptz(3) := clock_timestamp();
  v_alert record;
  v_raised integer := 0;
begin
  for v_alert in
    select a.*, case when a.is_over and a.alert_spell_at is null then (
      select json_build_object('count', coalesce(sum(g.count), 0), 'groups',
        json_agg(json_build_object('id', 'DeadLetterGroup:' || g.id, 'code', g.code, 'pattern', g.pattern, 'count', g.count) order by g.n)
          filter (where g.n <= 3))
      from (
        select d.fingerprint as id, min(d.code) as code, min(d.pattern) as pattern, count(*) as count,
          row_number() over (order by count(*) desc, d.fingerprint) as n
        from jobtree.dead_letter d
        where d.type = a.type and d.died_at > v_now - a.period
        group by d.fingerprint
      ) g
    ) end as found
    from (
      select q.*, p.period, q.alert_count = (
        -- Stops counting at the threshold.
        select count(*) from (
          select from jobtree.dead_letter d
          where d.type = q.type and d.died_at > v_now - p.period
          limit q.alert_count
        ) d
      ) as is_over
      from jobtree.queue q
      cross join lateral (select q.alert_interval_ms * interval '1 millisecond' as period) p
      where q.alert_count is not null
      offset 0
    ) a
    -- By what was counted, so that all is counted before the first row is locked: claims of a limited type need its row.
    order by a.is_over, a.type
  loop
    -- It is as it was, and was seen not long ago.
    continue when case when v_alert.is_over then v_alert.alert_seen_at >= v_now - v_alert.period / 20
      else (v_alert.alert_seen_at < v_now - v_alert.period) is not true end;
    update jobtree.queue q
    set alert_spell_at = case when v_alert.is_over then coalesce(q.alert_spell_at, v_now) end, alert_seen_at = case when v_alert.is_over then v_now end
    where q.ctid = (
      select q.ctid from jobtree.queue q
      where q.type = v_alert.type and q.alert_spell_at is not distinct from v_alert.alert_spell_at
        and (q.alert_endpoint, q.alert_count, q.alert_interval_ms) = (v_alert.alert_endpoint, v_alert.alert_count, v_alert.alert_interval_ms)
      for no key update skip locked
    );
    -- Another server was faster, the alert has changed, or somebody has locked the type: that one is looked at next time.
    if found and v_alert.is_over and v_alert.alert_spell_at is null then
      v_raised := v_raised + 1;
      insert into jobtree.callback_delivery (id, message_id, endpoint, event, body, created_at, due_at)
      select i.id, 'alert_' || i.id, v_alert.alert_endpoint, 'DEAD_LETTERS', jobtree.callback_body('dead_letters.alert', v_now, json_build_object(
        'type', jobtree.name_within(v_alert.type, v_alert.alert_endpoint), 'threshold', v_alert.alert_count, 'intervalMs', v_alert.alert_interval_ms,
        'count', v_alert.found -> 'count', 'groups', v_alert.found -> 'groups'
      ))::text, v_now, v_now
      from (select jobtree.new_id() as id) i;
    end if;
  end loop;
  return v_raised;
end
$$;
