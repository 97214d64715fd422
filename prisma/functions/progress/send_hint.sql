-- Sends one hint, as send_hints does.
create or replace function jobtree.send_hint(p_topic text, p_payload text)
returns void
language sql volatile
as $$
  select jobtree.send_hints(p_topic, array[p_payload])
$$;
