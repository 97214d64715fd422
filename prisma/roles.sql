-- Roles to grant to applications, each of which permits one kind of use of jobtree: `grant jobtree_enqueue to shop`.
--
--   jobtree_enqueue   creates jobs and adds items, and reads nothing
--   jobtree_work      claims items and reports on them, and reads nothing else
--   jobtree_watch     reads everything except callback endpoints, API keys, the audit, the secrets and tickets of watch tokens, and
--                     the ids of assignments, with which items can be finished; changes nothing
--
-- Run it as the owner of the schema jobtree, who needs the right to create roles if these don't exist yet. It may be run any number of
-- times; each migration runs it again, in its transaction, in a database where it was run before.
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

-- What does not exist yet, between two migrations, is passed over.
do $$
declare
  v_function record;
begin
  for v_function in
    select p.oid::regprocedure as name, g.role, g.as_owner
    from (
      values
        ('jobtree_enqueue', '{create_job,create_jobs,add_items,seal_job,wake_workers}'::text[], true),
        ('jobtree_enqueue', '{enqueue}', false),
        ('jobtree_work', '{claim_items,claim_item,heartbeat,report_outcomes,release_assignments}', true),
        ('jobtree_work', '{assignment_id}', false),
        ('jobtree_watch', '{queue_depths,status_of_item}', false)
    ) g(role, functions, as_owner)
    join pg_catalog.pg_proc p on p.pronamespace = 'jobtree'::regnamespace and p.proname = any (g.functions)
  loop
    if v_function.as_owner then
      execute format('alter function %s security definer set search_path = pg_catalog, pg_temp', v_function.name);
    end if;
    execute format('grant execute on function %s to %I', v_function.name, v_function.role);
  end loop;
end
$$;

-- Of tables and views with ids of assignments: all other columns.
do $$
declare
  v_relation record;
begin
  for v_relation in
    select c.oid::regclass as name, bool_or(secret.is_id) as has_ids,
      string_agg(quote_ident(a.attname), ', ') filter (where not secret.is_id) as readable
    from pg_catalog.pg_class c
    join pg_catalog.pg_attribute a on a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped
    cross join lateral (
      select a.attname in ('lease_id', 'claim_id') or (a.attname = 'id' and c.relname in ('lease', 'assignment')) as is_id
    ) secret
    where c.relnamespace = 'jobtree'::regnamespace and c.relkind in ('r', 'v') and c.relname <> all (
      '{callback_endpoint,api_key,audit_entry,watch_secret,watch_ticket,hint_secret,_prisma_migrations}'
    )
    group by c.oid
  loop
    execute format('grant select %s on %s to jobtree_watch',
      case when v_relation.has_ids then '(' || v_relation.readable || ')' else '' end, v_relation.name);
  end loop;
end
$$;
