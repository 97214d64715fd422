-- Looks up hashes of API keys, many in one call, and stores when keys were last used, at most once a minute for each. Skips locked rows: a
-- later call stores it. The commit does not wait for the disk.
--
-- p_hashes   the hashes of the keys that callers have sent
-- p_used     the ids of keys that were used recently
-- returns    the valid keys among these, without revoked and expired ones; `left_ms` is for how long the hash remains valid, null if there
--            is no limit
-- locks      rows of used keys, skipping locked ones
create or replace function jobtree.check_api_keys(p_hashes bytea[], p_used uuid[])
returns table (hash bytea, id uuid, name text, roles text[], types text[], root_ids uuid[], left_ms bigint, tenant text, limits jsonb)
language plpgsql volatile
set jit = off
set enable_seqscan = off
set plan_cache_mode = force_generic_plan
as $$
declare
  v_now constant timestamptz(3) := clock_timestamp();
begin
  if cardinality(p_used) > 0 then
    perform set_config('synchronous_commit', 'off', true);
    update jobtree.api_key k set last_used_at = v_now
    where k.id in (
      select u.id from jobtree.api_key u
      where u.id = any (p_used) and (u.last_used_at is null or u.last_used_at < v_now - interval '1 minute')
      for update skip locked
    );
  end if;
  return query
  select h.hash, k.id, k.name, k.roles, k.types, k.root_ids, 
    ceil(extract(epoch from least(k.expires_at, case when k.hash <> h.hash then k.previous_until end) - v_now) * 1000)::bigint, k.tenant, k.limits
  from unnest(p_hashes) h(hash)
  cross join lateral (
    select * from jobtree.api_key c where c.hash = h.hash
    union all
    select * from jobtree.api_key c where c.previous_hash = h.hash and c.previous_until > v_now
  ) k
  where k.revoked_at is null and (k.expires_at is null or k.expires_at > v_now);
end
$$;
