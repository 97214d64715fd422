-- Puts another text in the place of a secret of an endpoint, or of the one before it: the same secret, sealed with another key. Whoever has changed
-- it meanwhile has won.
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
