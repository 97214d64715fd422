-- Notifies the endpoint of a type when the configured number of its items have become dead letters within the interval: once per spell,
-- which ends when there have been fewer for a whole interval.
--
-- returns    how many alerts it has raised
-- locks      the rows of dead_letter_alert that change, in the order of their types
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
    select a.*, a.interval_ms * interval '1 millisecond' as period, a.count = (
      -- Stops counting at the threshold.
      select count(*) from (
        select from jobtree.dead_letter d
        where d.type = a.type and d.died_at > v_now - a.interval_ms * interval '1 millisecond'
        limit a.count
      ) d
    ) as is_over
    from jobtree.dead_letter_alert a
    order by a.type
  loop
    if v_alert.is_over and v_alert.spell_at is null then
      update jobtree.dead_letter_alert a set spell_at = v_now, seen_at = v_now where a.type = v_alert.type and a.spell_at is null;
      -- Another server was faster.
      continue when not found;
      v_raised := v_raised + 1;
      insert into jobtree.callback_delivery (id, message_id, endpoint, event, body, created_at, due_at)
      select i.id, 'alert_' || i.id, v_alert.endpoint, 'DEAD_LETTERS', jobtree.callback_body('dead_letters.alert', v_now, json_build_object(
        'type', jobtree.name_within(v_alert.type, v_alert.endpoint), 'threshold', v_alert.count, 'intervalMs', v_alert.interval_ms, 'count', g.count, 'groups', g.largest
      ))::text, v_now, v_now
      from (select jobtree.new_id() as id) i
      cross join (
        select coalesce(sum(g.count), 0) as count,
          json_agg(json_build_object('id', 'DeadLetterGroup:' || g.id, 'code', g.code, 'pattern', g.pattern, 'count', g.count) order by g.n)
            filter (where g.n <= 3) as largest
        from (
          select d.fingerprint as id, min(d.code) as code, min(d.pattern) as pattern, count(*) as count,
            row_number() over (order by count(*) desc, d.fingerprint) as n
          from jobtree.dead_letter d
          where d.type = v_alert.type and d.died_at > v_now - v_alert.period
          group by d.fingerprint
        ) g
      ) g;
    elsif v_alert.is_over and v_alert.seen_at < v_now - v_alert.period / 20 then
      update jobtree.dead_letter_alert a set seen_at = v_now where a.type = v_alert.type;
    elsif not v_alert.is_over and v_alert.seen_at < v_now - v_alert.period then
      update jobtree.dead_letter_alert a set spell_at = null, seen_at = null where a.type = v_alert.type;
    end if;
  end loop;
  return v_raised;
end
$$;
