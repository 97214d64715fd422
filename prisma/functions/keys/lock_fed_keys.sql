-- Locks the serialize keys of the items that reports will feed to child jobs, in one order: otherwise a report that feeds A and then B could
-- deadlock with one that feeds B and then A. Those that the reports free need no lock in advance, since nothing waits for them: free_keys.
--
-- p_lease_ids, p_numbers, p_reports   as report_each takes them
-- p_held     the leases that lock_for_report has locked
-- p_wait     whether to wait for locked keys
-- returns    those of p_held whose reports have all their keys; and the keys, for drop_keys: null for none
-- locks      those of lock_keys
create or replace function jobtree.lock_fed_keys(
  p_lease_ids uuid[], p_numbers integer[], p_reports json[], p_held uuid[], p_wait boolean
)
returns table (held uuid[], keys text[])
language plpgsql volatile
-- plans: no seqscan, bitmapscan, hashjoin, mergejoin; generic
as $$
declare
  v_fed record;
  v_locked text[];
begin
  with reported as materialized (
    select u.lease_id, l.job_id, l.position + u.number - 1 as position, u.report
    from unnest(p_lease_ids, p_numbers, p_reports) u(lease_id, number, report)
    join jobtree.lease l on l.id = u.lease_id
    join jobtree.job j on j.id = l.job_id
    where u.lease_id = any (p_held) and j.feeds_children
      and case when u.number > 0 then get_bit(l.open, u.number - 1) = 1 end
  ), fed as (
    select r.lease_id, n.value ->> 'serializeKey' as key
    from reported r
    cross join lateral json_array_elements(
      case json_typeof(r.report -> 'newItems') when 'array' then r.report -> 'newItems' end
    ) n
    union all
    select r.lease_id, jobtree.tenant_beginning(c.type) || (k.value #>> '{}')
    from reported r
    cross join lateral (
      select c.type, c.feed from jobtree.job c
      where c.parent_id = r.job_id and c.feed ? 'serializeKey' and c.cancelled_at is null
      offset 0
    ) c
    cross join lateral (
      select i.payload from jobtree.job_item i where i.job_id = r.job_id and i.position = r.position offset 0
    ) i
    cross join lateral jobtree.feed_keys(c.feed, i.payload, r.report -> 'result') k(value)
    where r.report ->> 'failure' is null and r.report ->> 'snoozeMs' is null
  )
  select array_agg(f.lease_id) as lease_ids, array_agg(f.key) as keys into v_fed
  from fed f
  where jobtree.is_name(f.key, 255);
  if v_fed.keys is null then
    return query select p_held, null::text[];
    return;
  end if;

  v_locked := jobtree.lock_keys(v_fed.keys, p_wait);
  return query select
    array(
      select h from unnest(p_held) h
      where h not in (
        select f.lease_id from unnest(v_fed.lease_ids, v_fed.keys) f(lease_id, key)
        where f.key not in (select k from unnest(v_locked) k)
      )
    ),
    v_locked;
end
$$;
