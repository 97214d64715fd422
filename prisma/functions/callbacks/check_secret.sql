-- Rejects a callback secret that is not one by Standard Webhooks (whsec_ and 24 to 64 bytes in base64), unless a server has sealed it
-- (enc:). The error does not quote it.
--
-- errors     JT002
create or replace function jobtree.check_secret(p_secret text)
returns void
language plpgsql immutable
as $$
begin
  if p_secret ~ '^enc:[0-9a-f]{8}:[A-Za-z0-9+/]{80,200}=*$' then
    return;
  end if;
  if p_secret ~ '^whsec_([A-Za-z0-9+/]{4})+([A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$' is not true
    or length(decode(substr(p_secret, 7), 'base64')) not between 24 and 64 then
    raise exception 'secret must be whsec_ followed by 24 to 64 bytes in base64.' using errcode = 'JT002', column = 'secret';
  end if;
end
$$;
