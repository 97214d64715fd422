-- Revokes all existing watch tokens of a tree. Servers notice within seconds (`read_watch_tokens`). Removes some rows that are older than
-- any token can be.
--
-- p_job_id  the root of the tree
-- returns   the time up to which tokens are revoked
-- locks     the row of the tree; old rows, skipping locked ones
-- errors    JT001 no such job; JT002 it is not a root
create or replace function jobtree.revoke_watch_tokens(p_job_id uuid)
returns timestamptz
language plpgsql volatile
set jit = off
set enable_seqscan = off
as $$
declare
  v_revoked_at timestamptz(3);
begin
  perform jobtree.check_watched_tree(p_job_id);
  insert into jobtree.watch_revocation as r (root_id, revoked_at, transaction_id)
  values (p_job_id, clock_timestamp(), pg_current_xact_id()::text::bigint)
  -- A clock that was set back must not make tokens valid again.
  on conflict (root_id) do update
  set revoked_at = greatest(r.revoked_at, excluded.revoked_at), transaction_id = excluded.transaction_id
  returning r.revoked_at into v_revoked_at;
  delete from jobtree.watch_revocation r
  where r.root_id in (
    select o.root_id from jobtree.watch_revocation o
    where o.revoked_at < clock_timestamp() - interval '25 hours'
    order by o.revoked_at limit 100
    for update skip locked
  );
  return v_revoked_at;
end
$$;
