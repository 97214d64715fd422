-- Roles to grant to applications, each of which permits one kind of use of jobtree: `grant jobtree_enqueue to shop`.
--
--   jobtree_enqueue   creates jobs and adds items, and reads nothing
--   jobtree_work      claims items and reports on them, and reads nothing else
--   jobtree_watch     reads everything except callback endpoints, API keys, the audit, the secrets and tickets of watch tokens, and
--                     the ids of assignments, with which items can be finished; changes nothing
--
-- Run it as the owner of the schema jobtree, who needs the right to create roles if these don't exist yet. It may be run any number of
-- times; migrations run it again in databases where it was run before.
--
-- The functions of the first two run with the rights of their owner (security definer), so that callers need no rights on tables. They
-- have a search path of their own, so that no object of the caller can replace what they name.

do $$
declare
  v_role text;
begin
  foreach v_role in array '{jobtree_enqueue,jobtree_work,jobtree_watch}'::text[] loop
    if not exists (select from pg_catalog.pg_roles r where r.rolname = v_role) then
      begin
        execute format('create role %I nologin', v_role);
      exception
        -- Roles belong to all databases of the server: another call has just created it for another database.
        when duplicate_object or unique_violation then null;
      end;
    end if;
  end loop;
end
$$;

revoke all on schema jobtree from public;
revoke all on all routines in schema jobtree from public, jobtree_enqueue, jobtree_work, jobtree_watch;
revoke all on all tables in schema jobtree from public, jobtree_enqueue, jobtree_work, jobtree_watch;
revoke all on all sequences in schema jobtree from public, jobtree_enqueue, jobtree_work, jobtree_watch;
grant usage on schema jobtree to jobtree_enqueue, jobtree_work, jobtree_watch;

alter function jobtree.create_job security definer set search_path = pg_catalog, pg_temp;
alter function jobtree.add_items security definer set search_path = pg_catalog, pg_temp;
alter function jobtree.seal_job security definer set search_path = pg_catalog, pg_temp;
alter function jobtree.wake_workers security definer set search_path = pg_catalog, pg_temp;
grant execute on function jobtree.create_job, jobtree.add_items, jobtree.seal_job, jobtree.enqueue, jobtree.wake_workers to jobtree_enqueue;

alter function jobtree.claim_items security definer set search_path = pg_catalog, pg_temp;
alter function jobtree.claim_item security definer set search_path = pg_catalog, pg_temp;
alter function jobtree.heartbeat security definer set search_path = pg_catalog, pg_temp;
alter function jobtree.report_outcomes security definer set search_path = pg_catalog, pg_temp;
alter function jobtree.release_assignments security definer set search_path = pg_catalog, pg_temp;
grant execute on function jobtree.claim_items, jobtree.claim_item, jobtree.heartbeat, jobtree.report_outcomes,
  jobtree.release_assignments, jobtree.assignment_id to jobtree_work;

grant execute on function jobtree.queue_depths, jobtree.status_of_item to jobtree_watch;
grant select on all tables in schema jobtree to jobtree_watch;
revoke all on jobtree.callback_endpoint, jobtree.api_key, jobtree.audit_entry, jobtree.watch_secret, jobtree.watch_ticket,
  jobtree.hint_secret, jobtree._prisma_migrations from jobtree_watch;

-- Of tables and views with ids of assignments: all other columns.
do $$
declare
  v_relation record;
begin
  for v_relation in
    select c.oid::regclass as name,
      string_agg(quote_ident(a.attname), ', ') filter (where not secret.is_id) as readable
    from pg_catalog.pg_class c
    join pg_catalog.pg_attribute a on a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped
    cross join lateral (
      select a.attname in ('lease_id', 'claim_id') or (a.attname = 'id' and c.relname in ('lease', 'assignment')) as is_id
    ) secret
    where c.relnamespace = 'jobtree'::regnamespace and c.relkind in ('r', 'v') and has_table_privilege('jobtree_watch', c.oid, 'select')
    group by c.oid
    having bool_or(secret.is_id)
  loop
    execute format('revoke select on %s from jobtree_watch', v_relation.name);
    execute format('grant select (%s) on %s to jobtree_watch', v_relation.readable, v_relation.name);
  end loop;
end
$$;
