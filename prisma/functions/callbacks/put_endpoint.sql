-- Creates a callback endpoint, or changes the URL of an existing one. An endpoint that had answered 410 is called again.
--
-- p_secret   signs the messages: whsec_ and 24 to 64 bytes in base64. An existing endpoint keeps its secret
-- returns    whether it is new
-- errors     JT002, with the field in the error's column
create or replace function jobtree.put_endpoint(p_name text, p_url text, p_secret text)
returns boolean
language plpgsql volatile
as $$
begin
  if jobtree.is_name(p_name, 200) is not true then
    raise exception 'name must be a text of 1 to 200 characters.' using errcode = 'JT002', column = 'name';
  end if;
  if length(p_url) <= 2000 and p_url ~ '^https?://[^\s/?#@]+([/?#]\S*)?$' is not true then
    raise exception 'url must be an http or https URL of at most 2000 characters, without a user and a password.'
      using errcode = 'JT002', column = 'url';
  end if;
  perform jobtree.check_secret(p_secret);
  loop
    insert into jobtree.callback_endpoint (name, url, secret, created_at) values (p_name, p_url, p_secret, clock_timestamp())
    on conflict (name) do nothing;
    if found then
      return true;
    end if;
    update jobtree.callback_endpoint e set url = p_url, gone_at = null where e.name = p_name;
    -- The row is missing if another call has just deleted it.
    if found then
      return false;
    end if;
  end loop;
end
$$;
