-- The body of a message to an endpoint, in the form of Standard Webhooks.
--
-- p_type     the event: job.completed, tree.completed, dead_letters.alert
-- p_data     the event's data; below 20 kB in all
-- returns    a JSON object
create or replace function jobtree.callback_body(p_type text, p_at timestamptz, p_data json)
returns json
language sql stable
as $$
  select json_build_object(
    'type', p_type, 'timestamp', to_char(p_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'), 'data', p_data
  )
$$;
