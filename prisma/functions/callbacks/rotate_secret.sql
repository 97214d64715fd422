-- Replaces the secret of an endpoint. The previous one also signs for p_keep_previous_ms; older ones no longer do.
--
-- errors     JT001 no such endpoint; JT002 an invalid secret
create or replace function jobtree.rotate_secret(p_name text, p_secret text, p_keep_previous_ms bigint default 86400000)
returns void
language plpgsql volatile
as $$
declare
  v_now constant timestamptz(3) := clock_timestamp();
begin
  perform jobtree.check_secret(p_secret);
  update jobtree.callback_endpoint e
  set secret = p_secret, previous_secret = e.secret, previous_secret_until = v_now + p_keep_previous_ms * interval '1 millisecond'
  where e.name = p_name;
  if not found then
    raise exception 'There is no endpoint %.', p_name using errcode = 'JT001', column = 'name';
  end if;
end
$$;
