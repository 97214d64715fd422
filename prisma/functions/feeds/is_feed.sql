-- Whether a feed is valid: feed_items explains feeds. A path may begin with element only with forEach, and a feed from REPORTS has no
-- paths.
create or replace function jobtree.is_feed(p_feed jsonb)
returns boolean
language sql immutable
as $$
  select case jsonb_typeof(p_feed)
    when 'object' then
      p_feed - '{source,forEach,payload,serializeKey}'::text[] = '{}'
      and length(p_feed::text) <= 10000
      and coalesce(p_feed -> 'source', 'null') in ('null', '"SUCCESSES"', '"REPORTS"')
      and (p_feed ->> 'source' is distinct from 'REPORTS' or coalesce(p_feed ->> 'forEach', p_feed ->> 'payload', p_feed ->> 'serializeKey') is null)
      and not exists (
        select from (
          select f.key, f.value from jsonb_each(p_feed - 'source') f
          where f.value <> 'null' and (f.key <> 'payload' or jsonb_typeof(f.value) <> 'object')
          union all
          select 'payload', t.path from jsonb_path_query(p_feed, '$.payload ? (@.type() == "object").*') t(path)
        ) p(name, path)
        where jsonb_typeof(p.path) <> 'string' or p.path #>> '{}' !~ (
          case when p.name = 'forEach' or p_feed ->> 'forEach' is null then '^(payload|result)' else '^(payload|result|element)' end || '(\.[^.]+)*$'
        )
      )
    else false
  end
$$;
