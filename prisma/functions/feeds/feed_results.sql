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
-- plans: no seqscan, bitmapscan, hashjoin, mergejoin; generic
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
