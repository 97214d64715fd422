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
