-- Wakes idle workers on all servers when the transaction commits, for callers of SQL that add items and don't want to wait for the sweep. A
-- hint that is never necessary. Postgres commits notifying transactions one at a time, so don't call this with hundreds of transactions a
-- second.
--
-- p_type     the type of the items
-- p_items    how many were added: as many workers are woken at first
create or replace function jobtree.wake_workers(p_type text, p_items integer default 1)
returns void
language sql volatile
as $$
  select jobtree.send_hints('work', array[
    json_build_object('id', gen_random_uuid(), 'types', json_build_array(json_build_array(p_type, p_items)))::text
  ]);
$$;
