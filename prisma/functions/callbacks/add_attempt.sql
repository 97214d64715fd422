-- Appends an attempt to the history of a delivery, which keeps the last twenty.
--
-- returns    a JSON array
create or replace function jobtree.add_attempt(p_history jsonb, p_attempt json)
returns jsonb
language sql immutable
as $$
  select case when jsonb_array_length(p_history) >= 20 then p_history - 0 else p_history end || jsonb_build_array(jsonb_strip_nulls(p_attempt::jsonb))
$$;
