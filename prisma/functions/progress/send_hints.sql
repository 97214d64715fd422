-- Sends hints to all servers when the transaction commits. Anybody who may connect to the database may notify and listen on any channel, so
-- the names of these channels contain a secret that only the owner can read. Without effect while the queue for notifications is half full,
-- for example because a session that listens has a transaction open: a commit that finds it full fails. Whoever waits for hints also polls.
--
-- p_topic    progress or work
create or replace function jobtree.send_hints(p_topic text, p_payloads text[])
returns void
language sql volatile
as $$
  select pg_notify(s.channel, p)
  from (
    select format('jobtree_%s_%s', p_topic, h.secret) as channel from jobtree.hint_secret h where h.id = 1 and pg_notification_queue_usage() < 0.5
    offset 0
  ) s
  cross join unnest(p_payloads) p
$$;
