set local check_function_bodies = off;

-- The payloads that reports of successes would create for fed jobs through their mappings, for servers that validate them. Goes report by
-- report until there are about 4 MB; the caller asks again for the rest. Leaves out payloads that a report may not create at all
-- (feed_problem).
--
-- p_types    the types of the fed jobs to examine
-- p_lease_ids, p_numbers, p_results   as accept_results takes them
-- p_from     the first report to examine, from 1
-- returns    for each payload the number of its report, the type and the JSON text; and a last row without a type, with the number of the
--            last report examined
create or replace function jobtree.fed_payloads(p_types text[], p_lease_ids uuid[], p_numbers integer[], p_results json, p_from integer)
returns table (n integer, type text, payload text)
language sql stable
set jit = off
set enable_seqscan = off
as $$
  with made as materialized (
    select u.n, c.id, c.type, c.feed, i.payload, u.result, z.items, z.bytes,
      sum(case when z.items <= 1000 and z.bytes <= 20e6 then z.bytes else 0 end) over (order by u.n) as total
    from rows from (unnest(p_lease_ids), unnest(p_numbers), json_array_elements(p_results)) with ordinality u(lease_id, number, result, n)
    cross join lateral (select * from jobtree.lease l where l.id = u.lease_id limit 1) l
    cross join lateral (
      select i.payload from jobtree.job_item i where i.job_id = l.job_id and i.position = l.position + u.number - 1 limit 1
    ) i
    join jobtree.job c on c.parent_id = l.job_id and c.feed ->> 'source' = 'SUCCESSES' and c.type = any (p_types) and c.cancelled_at is null
    cross join lateral jobtree.feed_size(c.feed, i.payload, u.result) z
    where u.n >= p_from
  ), looked as materialized (
    select m.*, m.total <= 4e6 or m.n = min(m.n) over () as is_looked from made m
  )
  select k.n::integer, k.type, f.payload::text
  from looked k
  cross join lateral jobtree.feed_payloads(k.feed, k.payload, k.result) f(payload)
  where case when k.is_looked and k.items <= 1000 and k.bytes <= 20e6 then not exists (select from jobtree.feed_gap(k.feed, k.payload, k.result)) end
  union all
  select coalesce(min(k.n) - 1, cardinality(p_numbers))::integer, null, null from looked k where not k.is_looked;
$$;

-- Finds a path of a mapping that leads nowhere though it is not optional, for one success of a parent. forEach is not examined: it has to lead
-- to a list (feed_problem).
--
-- p_feed     as feed_payloads takes it, with serializeKey. The caller has bounded what it would create (feed_size)
-- returns    the path, and the element where it leads nowhere, from 1; no row if each path leads somewhere
create or replace function jobtree.feed_gap(p_feed jsonb, p_payload json, p_result json)
returns table (path text, element bigint)
language sql immutable
as $$
  select t.path, c.n
  from (select jobtree.feed_value(p_feed ->> 'forEach', p_payload, p_result, null) as list) f
  cross join lateral (
    select null::json as element, null::bigint as n where p_feed ->> 'forEach' is null
    union all
    select e.value, e.n from json_array_elements(case json_typeof(f.list) when 'array' then f.list else '[]' end) with ordinality e(value, n)
  ) c
  cross join lateral (
    select p_feed ->> 'serializeKey' as path
    union all
    select e.value from jsonb_each_text(case jsonb_typeof(p_feed -> 'payload') when 'object' then p_feed -> 'payload' else '{}' end) e
    union all
    select p_feed ->> 'payload' where jsonb_typeof(p_feed -> 'payload') = 'string'
  ) t
  where t.path is not null and jobtree.feed_value(t.path, p_payload, p_result, c.element) is null
  limit 1
$$;

-- Finds what is wrong with a success whose job feeds child jobs: a forEach that does not lead to a list, a path that leads nowhere, new items of a type that is not
-- the type of exactly one fed child, more than 1,000 new items, more than 20 MB of them by mappings (a report of a few kilobytes could
-- create gigabytes), an invalid serialize key or one of a tenant that the child's type does not belong to, or a payload that is nested too deeply once a mapping wraps it in an object. The
-- mappings of cancelled children don't matter.
--
-- p_job_id   the job of the item
-- p_payload  the item's payload
-- p_report   {result, newItems?}
-- returns    the first problem: the field, and a sentence about it; no row if there is none
create or replace function jobtree.feed_problem(p_job_id uuid, p_payload json, p_report json)
returns table (field text, message text)
language sql stable
as $$
  select p.field, p.message
  from (
    select 'result' as field,
      format('%s is not a list, so it can''t feed the job of type %s.', c.feed ->> 'forEach', c.type) as message
    from jobtree.job c
    where c.parent_id = p_job_id and c.feed ->> 'source' = 'SUCCESSES' and c.feed ->> 'forEach' is not null and c.cancelled_at is null
      and json_typeof(jobtree.feed_value(c.feed ->> 'forEach', p_payload, p_report -> 'result', null)) is distinct from 'array'
      and not (c.feed ->> 'forEach' like '%?' and json_typeof(jobtree.feed_value(c.feed ->> 'forEach', p_payload, p_report -> 'result', null)) = 'null')
    union all
    select 'newItems',
      format('The job has %s fed children of type %s; new items need exactly one.', f.children, n.value ->> 'type')
    from json_array_elements(case json_typeof(p_report -> 'newItems') when 'array' then p_report -> 'newItems' end) n
    cross join lateral (
      select count(*) as children from jobtree.job c
      where c.parent_id = p_job_id and c.feed is not null and c.type = n.value ->> 'type'
    ) f
    where f.children <> 1
    union all
    select 'result',
      case when m.items + n.items > 1000 then format('The report would create %s new items; the limit is 1000.', m.items + n.items)
        else format('The report would create about %s MB of new items; the limit is 20 MB.', ceil(m.bytes / 1e6)) end
    from (
      select coalesce(sum(z.items), 0) as items, coalesce(sum(z.bytes), 0) as bytes
      from jobtree.job c
      cross join lateral jobtree.feed_size(c.feed, p_payload, coalesce(p_report -> 'result', 'null')) z
      where c.parent_id = p_job_id and c.feed ->> 'source' = 'SUCCESSES' and c.cancelled_at is null
    ) m
    cross join lateral (
      select coalesce(json_array_length(case json_typeof(p_report -> 'newItems') when 'array' then p_report -> 'newItems' end), 0) as items
    ) n
    where m.items + n.items > 1000 or m.bytes > 20e6
    union all
    select 'result', format('%s leads nowhere%s, so it can''t feed the job of type %s. If it may be missing, the mapping says %1$s?',
      g.path, case when g.element is not null then format(' in element %s of %s', g.element, c.feed ->> 'forEach') else '' end, c.type)
    from jobtree.job c
    cross join lateral jobtree.feed_gap(c.feed, p_payload, coalesce(p_report -> 'result', 'null')) g
    where c.parent_id = p_job_id and c.feed ->> 'source' = 'SUCCESSES' and c.cancelled_at is null
    union all
    select 'result', format('%s is neither a text of 1 to 255 characters nor a number, so it can''t be the serialize key of a new item of type %s.',
      c.feed ->> 'serializeKey', c.type)
    from jobtree.job c
    cross join lateral jobtree.feed_keys(c.feed, p_payload, coalesce(p_report -> 'result', 'null')) k(value)
    where c.parent_id = p_job_id and c.feed ? 'serializeKey' and c.cancelled_at is null
      and (json_typeof(k.value) not in ('null', 'string', 'number')
        or json_typeof(k.value) <> 'null' and length(k.value #>> '{}') not between 1 and 255)
    union all
    select 'result', format('%s is a name of a tenant, so it can''t be the serialize key of a new item of type %s.', c.feed ->> 'serializeKey', c.type)
    from jobtree.job c
    cross join lateral jobtree.feed_keys(c.feed, p_payload, coalesce(p_report -> 'result', 'null')) k(value)
    where c.parent_id = p_job_id and c.feed ? 'serializeKey' and c.cancelled_at is null
      and jobtree.tenant_of(c.type) = '' and jobtree.tenant_of(k.value #>> '{}') <> ''
    union all
    select 'result', format('New items of type %s would be nested more than 256 levels deep.', c.type)
    from jobtree.job c
    cross join lateral jsonb_each_text(case jsonb_typeof(c.feed -> 'payload') when 'object' then c.feed -> 'payload' else '{}' end) t(key, path)
    where c.parent_id = p_job_id and c.feed ->> 'source' = 'SUCCESSES' and c.cancelled_at is null
      -- An element has fewer levels than the list that it comes from.
      and t.path !~ '^element'
      and jobtree.is_too_deep(jobtree.feed_value(t.path, p_payload, coalesce(p_report -> 'result', 'null'), null)::text, 255)
    limit 1
  ) p
$$;

-- Accepts plain results of jobs that feed children by the simplest mappings: one new item each, with the result, the payload, or a part of
-- either. All others go to report_each, which examines each report for what its mapping could create.
--
-- p_lease_ids, p_numbers, p_results   as accept_results takes them
-- returns    the trees that changed; the types that got ready items, and how many; which reports counted, from 1; and figures as
--            report_results returns them
-- locks      those of hold_jobs for the fed children, then those of accept_results. If a child can't be held at once, no report of its
--            parent counts
create or replace function jobtree.feed_results(p_lease_ids uuid[], p_numbers integer[], p_results json)
returns table (root_ids uuid[], ready jsonb, accepted integer[], figures json[])
language plpgsql volatile
set jit = off
set enable_seqscan = off
set enable_bitmapscan = off
set enable_hashjoin = off
set enable_mergejoin = off
set plan_cache_mode = force_generic_plan
as $$
declare
  v_parents uuid[];
  v_locked uuid[];
  v_done record;
begin
  select array_agg(j.id) into v_parents from jobtree.job j
  where j.id = any (array(select l.job_id from jobtree.lease l where l.id = any (p_lease_ids))) and j.feeds_children;
  if v_parents is null then
    return query select null::uuid[], null::jsonb, '{}'::integer[], null::json[];
    return;
  end if;

  v_locked := jobtree.hold_jobs(array(select f.id from jobtree.job f where f.parent_id = any (v_parents) and f.feed is not null), false);
  if exists (
    select from jobtree.job c
    where c.parent_id = any (v_parents) and c.feed is not null
      and (c.id <> all (v_locked) or c.feed ?| '{forEach,serializeKey}' or jsonb_typeof(c.feed -> 'payload') = 'object')
  ) or exists (
    -- A path that leads nowhere. A path without keys, or an optional one, always leads somewhere.
    select from jobtree.job c
    cross join rows from (unnest(p_lease_ids), unnest(p_numbers), json_array_elements(p_results)) u(lease_id, number, result)
    cross join lateral (select * from jobtree.lease l where l.id = u.lease_id limit 1) l
    left join lateral (
      select i.payload from jobtree.job_item i
      where c.feed ->> 'payload' like 'payload%' and i.job_id = l.job_id and i.position = l.position + u.number - 1 limit 1
    ) i on true
    where c.parent_id = any (v_parents) and c.parent_id = l.job_id and c.feed ->> 'payload' like '%.%' and c.feed ->> 'payload' not like '%?'
      and jobtree.feed_value(c.feed ->> 'payload', i.payload, u.result, null) is null
  ) then
    return query select null::uuid[], null::jsonb, '{}'::integer[], null::json[];
    return;
  end if;

  select * into v_done from jobtree.accept_results(p_lease_ids, p_numbers, p_results, true);
  return query select v_done.root_ids, jobtree.add_up(v_done.ready, jobtree.feed_children(v_done.job_ids, v_done.positions)),
    coalesce(v_done.accepted, array(select generate_series(1, cardinality(p_numbers)))), v_done.figures;
end
$$;

-- The value that a path of a feed leads to: payload, result or element, followed by keys or list positions, separated by dots. A path that
-- ends with ? is optional. Each path is looked up in its own root: an object of all three would be copied for every element of a list.
--
-- returns    any JSON; for a path that leads nowhere the JSON null if it is optional, else no value
create or replace function jobtree.feed_value(p_path text, p_payload json, p_result json, p_element json)
returns json
language sql immutable
as $$
  select coalesce(
    case split_part(f.path, '.', 1) when 'payload' then p_payload when 'result' then p_result when 'element' then p_element end
      #> (string_to_array(f.path, '.'))[2:],
    case when f.is_optional then json 'null' end
  )
  from (select right(p_path, 1) = '?' as is_optional, case when right(p_path, 1) = '?' then left(p_path, -1) else p_path end as path) f
$$;
