-- Returns what servers need to verify watch tokens, in one call for all of them: the secrets, and the revocations that an earlier call
-- could not see.
--
-- A revocation gets its time before it commits, so the time can't tell whether it is new. Its transaction id can: whatever an earlier
-- snapshot did not see has an id that is not below that snapshot's xmin.
--
-- p_since   the `seen_to` of the earlier call; 0 for all
-- returns   the time in milliseconds, the secrets with their numbers, and the revoked trees with the time up to which their tokens are
--           revoked
create or replace function jobtree.read_watch_tokens(p_since bigint)
returns table (
  now_ms double precision, seen_to text, secret_ids integer[], secrets bytea[], root_ids uuid[], revoked_ms double precision[]
)
language plpgsql stable
set jit = off
set enable_seqscan = off
set plan_cache_mode = force_generic_plan
as $$
begin
  return query
  select floor(extract(epoch from clock_timestamp()) * 1000)::double precision, pg_snapshot_xmin(pg_current_snapshot())::text,
    s.ids, s.secrets, r.root_ids, r.revoked_ms
  from (select array_agg(w.id order by w.id) as ids, array_agg(w.secret order by w.id) as secrets from jobtree.watch_secret w) s
  cross join (
    select array_agg(v.root_id) as root_ids, array_agg(floor(extract(epoch from v.revoked_at) * 1000)::double precision) as revoked_ms
    from jobtree.watch_revocation v where v.transaction_id >= p_since
  ) r;
end
$$;
