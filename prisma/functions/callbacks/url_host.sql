-- The host of a URL, without its port: deliveries are counted by it.
create or replace function jobtree.url_host(p_url text)
returns text
language sql immutable
as $$
  select lower(substring(p_url from '^[^:]+://(\[[^\]]*\]|[^/?#:]*)'))
$$;
