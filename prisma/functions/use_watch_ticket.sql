-- Uses up a ticket: of several concurrent calls, one succeeds.
--
-- p_hash    SHA-256 of the text that the caller sent
-- returns   what its token opens; no row if there is no such ticket, or it was used or has expired
-- locks     the ticket
create or replace function jobtree.use_watch_ticket(p_hash bytea)
returns table (root_id uuid, tenant text, sees text, secret_id integer, issued_ms double precision, token_expires_ms double precision)
language plpgsql volatile
as $$
begin
  return query
  with used as (
    delete from jobtree.watch_ticket t where t.hash = p_hash
    returning t.root_id, t.tenant, t.sees, t.secret_id, t.issued_ms, t.token_expires_ms, t.expires_at
  )
  select u.root_id, u.tenant, u.sees, u.secret_id, u.issued_ms, u.token_expires_ms from used u where u.expires_at > clock_timestamp();
end
$$;
