-- Fails items for good, with the code EXPIRED, that no worker has started within the lifetime of their type. The time counts from when
-- an item was added, or from its runAt if that is later. A released item counts as not started; one that has failed counts as started.
-- Call it again at once as long as a batch was full.
--
-- Looks only at the first p_limit entries of each priority, which have waited longest, in a new order of the types each time: so no type of
-- which many expire, or of which somebody has locked the jobs, keeps others waiting. Items that their serialize keys block expire in their lines.
--
-- returns    how many items expired; whether a batch was full; the trees that changed; the types that got ready items because serialize
--            keys were freed, and how many; how many of each type expired; and failures, as report_results returns them
-- locks      job rows, shared, so that cancel_job waits, queue entries, blocked items and those of promote_next; skips locked ones
create or replace function jobtree.expire_items(p_limit integer default 100)
returns table (expired integer, more boolean, root_ids uuid[], ready jsonb, types jsonb, failed json[])
language plpgsql volatile
-- plans: no seqscan, bitmapscan, hashjoin, mergejoin; generic
as $$
declare
  v_now constant timestamptz(3) := clock_timestamp();
  v_ended record;
begin
  if not exists (select from jobtree.queue q where q.lifetime_ms is not null) then
    return query select 0, false, null::uuid[], null::jsonb, null::jsonb, null::json[];
    return;
  end if;

  with recursive place as (
    -- The priorities in use, one probe each.
    select q.type, q.lifetime_ms * interval '1 millisecond' as lifetime, e.priority
    from jobtree.queue q
    cross join lateral (
      select e.priority from jobtree.queue_entry e where e.type = q.type and e.run_at is null order by -e.priority::integer limit 1
    ) e
    where q.lifetime_ms is not null
    union all
    select p.type, p.lifetime, e.priority
    from place p
    cross join lateral (
      select e.priority from jobtree.queue_entry e
      where e.type = p.type and e.run_at is null and -e.priority::integer > -p.priority::integer
      order by -e.priority::integer
      limit 1
    ) e
  ), late as materialized (
    select e.tid, e.job_id
    from (select p.* from place p order by random()) p
    cross join lateral (
      select e.ctid as tid, e.job_id, e.position, e.count from jobtree.queue_entry e
      where e.type = p.type and e.run_at is null and -e.priority::integer = -p.priority::integer and e.attempt = 1
      order by -e.priority::integer, e.place
      limit p_limit
    ) e
    cross join lateral (
      select max(greatest(i.created_at, i.run_at)) as since from jobtree.job_item i
      where i.job_id = e.job_id and i.position >= e.position and i.position < e.position + e.count
    ) i
    where i.since + p.lifetime <= v_now
    limit p_limit
  ), late_blocked as materialized (
    select b.tid, b.job_id
    from (select q.type, q.lifetime_ms from jobtree.queue q where q.lifetime_ms is not null order by random()) q
    cross join lateral (
      select b.ctid as tid, b.job_id from jobtree.blocked_item b
      where b.type = q.type and b.waits_since <= v_now - q.lifetime_ms * interval '1 millisecond'
      order by b.waits_since
      limit p_limit
    ) b
    limit p_limit
  ), job as materialized (
    select j.id, j.root_id from jobtree.job j
    where j.id = any (array(select l.job_id from late l union all select l.job_id from late_blocked l)) and j.cancelled_at is null
    order by j.id
    for share skip locked
  ), locked as materialized (
    select e.ctid as tid from jobtree.queue_entry e
    where e.ctid = any (array(select l.tid from late l where l.job_id in (select j.id from job j)))
    for update skip locked
  ), locked_blocked as materialized (
    select b.ctid as tid from jobtree.blocked_item b
    where b.ctid = any (array(select l.tid from late_blocked l where l.job_id in (select j.id from job j)))
    for update skip locked
  ), gone as (
    delete from jobtree.queue_entry e where e.ctid = any (array(select l.tid from locked l))
    returning e.job_id, e.position, e.count, e.attempt, e.type, e.keyed
  ), gone_blocked as (
    delete from jobtree.blocked_item b where b.ctid = any (array(select l.tid from locked_blocked l))
    returning b.job_id, b.position, 1::smallint, b.attempt, b.type, true
  ), ended as materialized (
    select g.job_id, g.position + n as position, g.attempt, g.keyed, g.type, j.root_id, format('No worker started it within %s ms.', q.lifetime_ms) as message
    from (select * from gone union all select * from gone_blocked) g
    join job j on j.id = g.job_id
    cross join lateral (select q.lifetime_ms from jobtree.queue q where q.type = g.type offset 0) q
    cross join lateral generate_series(0, g.count - 1) n
  ), kept as (
    insert into jobtree.failure (job_id, position, attempt, at, lost, code, message)
    select e.job_id, e.position, e.attempt, v_now, false, 'EXPIRED', e.message from ended e
  )
  select array_agg(row(e.job_id, e.position, null, 'EXPIRED', e.message)::jobtree.dead_item) as items, count(*)::integer as count,
    array_agg(distinct e.root_id) as root_ids, bool_or(e.keyed) as keyed, jobtree.count_names(array_agg(e.type)) as types,
    (
      select array_agg(t.failed)
      from (
        select distinct on (e.job_id)
          json_build_array(e.type, e.job_id, e.position, e.attempt, null, 'EXPIRED', e.message, null, count(*) over (partition by e.job_id)) as failed
        from ended e order by e.job_id, e.position
      ) t
    ) as failed,
    greatest((select count(*) from late), (select count(*) from late_blocked)) = p_limit and count(*) > 0 as more
  into v_ended
  from ended e;
  return query select v_ended.count, v_ended.more, v_ended.root_ids,
    case when v_ended.count > 0 then jobtree.bury_items(v_ended.items, v_ended.keyed) end, v_ended.types, v_ended.failed;
end
$$;
