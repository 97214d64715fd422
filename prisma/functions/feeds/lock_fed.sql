-- Locks what reports feed: the children, and then the serialize keys of their new items, all in one order; otherwise a report that feeds A and
-- then B could deadlock with one that feeds B and then A. Keys that the reports free need no lock in advance, since nothing waits for them:
-- free_keys.
--
-- p_leases   the leases that this transaction has locked
-- p_lease_ids, p_numbers, p_values, p_kinds, p_wait   as report_results takes them
-- returns    those of p_leases whose reports have all that they need; the keys, of which the caller removes those without a head: null for none; and whether there are children that
--            can't take every result, or may get more than the results have
-- locks      those of hold_jobs, then those of lock_keys or try_lock_keys
create or replace function jobtree.lock_fed(
  p_leases jobtree.reported_lease[], p_lease_ids uuid[], p_numbers integer[], p_values json, p_kinds text[], p_wait boolean
)
returns table (leases jobtree.reported_lease[], keys text[], is_exacting boolean)
language plpgsql volatile
-- plans: no seqscan, bitmapscan, mergejoin; generic
as $$
declare
  v_held uuid[];
  v_children record;
  v_fed record;
begin
  select array_agg(c.id) as ids, bool_or(c.feed ? 'serializeKey') as with_keys,
    bool_or(c.feed ?| '{forEach,serializeKey}' or jsonb_typeof(c.feed -> 'payload') = 'object' or c.feed ->> 'payload' like 'payload%') as are_exacting,
    array_agg(c.id) filter (where c.feed ->> 'payload' like '%.%' and c.feed ->> 'payload' not like '%?') as with_paths
  into v_children
  from jobtree.job c
  where c.feed is not null and c.parent_id = any (array(select k.job_id from unnest(p_leases) k where k.feeds_children));
  v_held := jobtree.hold_jobs(v_children.ids, p_wait);
  leases := p_leases;
  is_exacting := coalesce(v_children.are_exacting, false) or v_children.with_paths is not null and exists (
    -- A path that leads nowhere. A path without keys, or an optional one, always leads somewhere.
    select from rows from (unnest(p_lease_ids), unnest(p_numbers), json_array_elements(p_values)) u(lease_id, number, value)
    join unnest(p_leases) k on k.id = u.lease_id
    join (select c.parent_id, c.feed from jobtree.job c where c.id = any (v_children.with_paths) offset 0) c on c.parent_id = k.job_id
    left join lateral (
      select i.payload from jobtree.job_item i
      where c.feed ->> 'payload' like 'payload%' and i.job_id = k.job_id and i.position = k.position + u.number - 1 limit 1
    ) i on true
    where jobtree.feed_value(c.feed ->> 'payload', i.payload, u.value, null) is null
  );
  if cardinality(v_held) < cardinality(v_children.ids) then
    leases := array(
      select k from unnest(p_leases) k
      where not exists (select from jobtree.job c where c.parent_id = k.job_id and c.id = any (v_children.ids) and c.id <> all (v_held))
    );
  end if;
  if v_children.with_keys is not true and ('report' = any (p_kinds)) is not true then
    return next;
    return;
  end if;

  with reported as materialized (
    select u.lease_id, k.job_id, k.position + u.number - 1 as position, jobtree.whole_report(u.value, u.kind) as report
    from rows from (unnest(p_lease_ids), unnest(p_numbers), json_array_elements(p_values), unnest(p_kinds)) u(lease_id, number, value, kind)
    join unnest(leases) k on k.id = u.lease_id
    where case when not k.feeds_children then false when u.number > 0 then get_bit(k.open, u.number - 1) = 1 end
  ), fed as (
    select r.lease_id, n.value ->> 'serializeKey' as key
    from reported r
    cross join lateral json_array_elements(
      case json_typeof(r.report -> 'newItems') when 'array' then r.report -> 'newItems' end
    ) n
    union all
    select r.lease_id, jobtree.tenant_beginning(c.type) || (f.key #>> '{}')
    from reported r
    cross join lateral (
      select c.type, c.feed from jobtree.job c
      where c.parent_id = r.job_id and c.feed ? 'serializeKey' and c.cancelled_at is null
      offset 0
    ) c
    cross join lateral (
      select i.payload from jobtree.job_item i where i.job_id = r.job_id and i.position = r.position offset 0
    ) i
    cross join lateral jobtree.feed_items(c.feed, i.payload, r.report -> 'result') f
    where r.report ->> 'failure' is null and r.report ->> 'snoozeMs' is null
  )
  select array_agg(f.lease_id) as lease_ids, array_agg(f.key) as keys into v_fed
  from fed f
  where jobtree.is_name(f.key, 255);
  if v_fed.keys is not null then
    keys := case when p_wait then jobtree.lock_keys(v_fed.keys) else jobtree.try_lock_keys(v_fed.keys) end;
    leases := array(
      select k from unnest(leases) k
      where k.id not in (
        select f.lease_id from unnest(v_fed.lease_ids, v_fed.keys) f(lease_id, key)
        where f.key not in (select l from unnest(keys) l)
      )
    );
  end if;
  return next;
end
$$;
