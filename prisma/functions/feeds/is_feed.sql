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
          select p_feed -> 'forEach' as path, '' as element where p_feed ->> 'forEach' is not null
          union all
          select p_feed -> 'serializeKey', case when p_feed ->> 'forEach' is null then '' else '|element' end
          where p_feed ->> 'serializeKey' is not null
          union all
          select t.path, case when p_feed ->> 'forEach' is null then '' else '|element' end
          from jsonb_path_query(p_feed, '$.payload ? (@.type() == "object").*') t(path)
          union all
          select p_feed -> 'payload', case when p_feed ->> 'forEach' is null then '' else '|element' end
          where p_feed ->> 'payload' is not null and jsonb_typeof(p_feed -> 'payload') <> 'object'
        ) p
        where jsonb_typeof(p.path) <> 'string' or p.path #>> '{}' !~ ('^(payload|result' || p.element || ')(\.[^.]+)*$')
      )
    else false
  end
$$;
