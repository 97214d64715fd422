-- The body of a message to an endpoint, as the Standard Webhooks have it.
--
-- p_type     what has happened: job.completed, tree.completed, dead_letters.alert
-- p_data     the rest of it; it is below 20 kB in all
-- returns    a JSON object
create or replace function jobtree.callback_body(p_type text, p_at timestamptz, p_data json)
returns json
language sql stable
as $$
  select json_build_object(
    'type', p_type, 'timestamp', to_char(p_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'), 'data', p_data
  )
$$;
