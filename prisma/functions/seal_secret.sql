-- Replaces the stored text of an endpoint's current or previous secret with the same secret, sealed with another key. Does nothing if the
-- secret has changed meanwhile.
--
-- errors     JT002
create or replace function jobtree.seal_secret(p_name text, p_from text, p_to text)
returns void
language plpgsql volatile
as $$
begin
  perform jobtree.check_secret(p_to);
  update jobtree.callback_endpoint e
  set secret = case when e.secret = p_from then p_to else e.secret end,
    previous_secret = case when e.previous_secret = p_from then p_to else e.previous_secret end
  where e.name = p_name and p_from in (e.secret, e.previous_secret);
end
$$;
