-- Removes audit entries that are older than p_keep_seconds, at least a day, up to p_limit rows.
--
-- returns    how many
-- locks      old entries, skipping locked ones, which another server is removing
create or replace function jobtree.prune_audit(p_keep_seconds bigint, p_limit integer default 1000)
returns integer
language plpgsql volatile
set jit = off
set enable_seqscan = off
set plan_cache_mode = force_generic_plan
as $$
declare
  v_count integer;
begin
  -- Not as a setting of the function: for a parameter that Postgres doesn't know, only superusers may do that.
  perform set_config('jobtree.prunes_audit', 'on', true);
  delete from jobtree.audit_entry e
  where e.id = any (array(
    select o.id from jobtree.audit_entry o
    where o.at < clock_timestamp() - greatest(p_keep_seconds, 86400) * interval '1 second'
    order by o.at
    limit p_limit
    for update skip locked
  ));
  get diagnostics v_count = row_count;
  perform set_config('jobtree.prunes_audit', 'off', true);
  return v_count;
end
$$;
