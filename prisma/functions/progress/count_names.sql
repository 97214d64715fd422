-- How often each name occurs in a list: {name: count}; null for an empty list.
--
-- returns    a JSON object
create or replace function jobtree.count_names(p_names text[]) returns jsonb
language sql immutable
as $$
  select jsonb_object_agg(c.name, c.count) from (select u.name, count(*) as count from unnest(p_names) u(name) group by u.name) c
$$;
