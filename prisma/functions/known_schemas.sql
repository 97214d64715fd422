-- Which types have schemas, for servers that validate: the versions of each, the newest first. Read in the connection pool of operations,
-- which wait for it, not in that of reads.
--
-- returns    a row for each version
create or replace function jobtree.known_schemas()
returns table (type text, version integer, id uuid, has_payload boolean, has_result boolean)
language sql stable
as $$
  select t.type, t.version, t.id, t.payload is not null, t.result is not null
  from jobtree.type_schema t
  order by t.type, t.version desc;
$$;
