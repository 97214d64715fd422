-- The payloads that reports of successes would make for fed jobs by their mappings, for servers that check them. Those of one report after
-- the other, until there are about 4 MB: the caller asks again for the rest. What a report may not make at all (feed_problem) is left out.
--
-- p_types    of the fed jobs that are looked at
-- p_lease_ids, p_numbers, p_results   as accept_results has them
-- p_from     the first report that is looked at, from 1
-- returns    of each payload which report makes it, the type and the JSON text; and last a row without a type: the last report that was looked at
create or replace function jobtree.fed_payloads(p_types text[], p_lease_ids uuid[], p_numbers integer[], p_results json, p_from integer)
returns table (n integer, type text, payload text)
language sql stable
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
  where k.is_looked and k.items <= 1000 and k.bytes <= 20e6
  union all
  select coalesce(min(k.n) - 1, cardinality(p_numbers))::integer, null, null from looked k where not k.is_looked;
$$;
