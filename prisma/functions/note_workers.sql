-- Replaces the list of workers that a server has connections to, and removes those of servers that have sent none for a minute. The commit
-- does not wait for the disk.
--
-- p_workers  JSON array of {name, version, types, concurrency, connectedMs}, each name once; connectedMs is for how long it has been
--            connected
-- locks      the rows of the server; outdated rows of others, skipping locked ones
create or replace function jobtree.note_workers(p_server_id uuid, p_workers json)
returns void
language plpgsql volatile
set jit = off
set enable_seqscan = off
set plan_cache_mode = force_generic_plan
as $$
declare
  v_now constant timestamptz(3) := clock_timestamp();
begin
  perform set_config('synchronous_commit', 'off', true);
  insert into jobtree.worker (server_id, name, version, types, concurrency, connected_at, seen_at)
  select p_server_id, w.name, w.version, w.types, w.concurrency, v_now - w."connectedMs" * interval '1 millisecond', v_now
  from json_to_recordset(p_workers) w(name text, version text, types text[], concurrency integer[], "connectedMs" bigint)
  on conflict on constraint worker_pkey do update
  set version = excluded.version, types = excluded.types, concurrency = excluded.concurrency, seen_at = excluded.seen_at;
  delete from jobtree.worker w where w.server_id = p_server_id and w.seen_at < v_now;
  delete from jobtree.worker w
  where w.ctid = any (array(select o.ctid from jobtree.worker o where o.seen_at < v_now - interval '1 minute' for update skip locked));
end
$$;
