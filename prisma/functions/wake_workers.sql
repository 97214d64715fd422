-- For callers of SQL that add items and would rather not wait for the sweep: wakes idle workers when the transaction
-- commits, on all servers. A hint, and never needed. Postgres lets only one transaction at a time commit that notifies, so
-- leave it out where there are hundreds of them in a second.
--
-- p_type     the type of the items
-- p_items    how many were added: as many workers are woken at first
create or replace function jobtree.wake_workers(p_type text, p_items integer default 1)
returns void
language sql volatile
as $$
  select pg_notify('jobtree_work', json_build_object('types', json_build_array(json_build_array(p_type, p_items)))::text);
$$;
