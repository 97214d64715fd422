-- Creates a ticket, which opens what a watch token opens, once and only for a short time. Removes some expired ones. The commit does not
-- wait for the disk: the holder of a ticket that a crash forgot asks for another.
--
-- p_hash              SHA-256 of the ticket, which is not stored
-- p_tenant            the tenant of the token's creator
-- p_secret_id         the secret that signed the token
-- p_issued_ms         when the token was issued
-- p_token_expires_ms  when the token expires
-- p_lifetime_ms       for how long the ticket is valid
-- locks               expired tickets, skipping locked ones
create or replace function jobtree.create_watch_ticket(
  p_hash bytea, p_root_id uuid, p_tenant text, p_sees text, p_secret_id integer, p_issued_ms double precision, p_token_expires_ms double precision,
  p_lifetime_ms integer
)
returns void
language plpgsql volatile
set jit = off
set enable_seqscan = off
as $$
begin
  perform set_config('synchronous_commit', 'off', true);
  insert into jobtree.watch_ticket (hash, root_id, tenant, sees, secret_id, issued_ms, token_expires_ms, expires_at)
  values (p_hash, p_root_id, p_tenant, p_sees, p_secret_id, p_issued_ms, p_token_expires_ms, clock_timestamp() + p_lifetime_ms * interval '1 millisecond');
  delete from jobtree.watch_ticket t
  where t.hash in (
    select o.hash from jobtree.watch_ticket o
    where o.expires_at < clock_timestamp() order by o.expires_at limit 10
    for update skip locked
  );
end
$$;
