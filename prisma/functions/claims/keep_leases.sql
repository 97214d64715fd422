-- Keeps leases alive: the deadline of each moves to three heartbeat intervals from now. If only some of a lease's open items are named,
-- those get deadlines of their own, and the others keep theirs.
--
-- p_lease_ids, p_named, p_started   leases, none twice; a mask of the items that are named in each: bit_at; and of those that the worker has
--            started
-- returns    the named assignments that are not HELD, with their status: FINISHED once its outcome was reported, CANCELLED, or LOST (unknown, released
--            or taken back)
-- locks      leases in the order of their ids, skipping locked ones: these count as held, and nobody can take them back meanwhile
-- durability the commit does not wait for the disk: losing a heartbeat costs at most the lease
create or replace function jobtree.keep_leases(p_lease_ids uuid[], p_named bit(128)[], p_started bit(128)[])
returns table (lease_id uuid, number integer, status text)
language plpgsql volatile
-- plans: no seqscan, bitmapscan, hashjoin, mergejoin; generic
as $$
declare
  v_now constant timestamptz(3) := clock_timestamp();
  v_none constant bit(128) := B'0'::bit(128);
  v_ended uuid[];
  v_ended_named bit(128)[];
begin
  perform set_config('synchronous_commit', 'off', true);

  with kept as materialized (
    select k.*, u.named, u.started
    from (select u.* from unnest(p_lease_ids, p_named, p_started) u(id, named, started) order by u.id) u
    cross join lateral (
      select l.id, l.open, l.deadlines, l.heartbeat_at, l.count, 3 * j.heartbeat_interval_ms * interval '1 millisecond' as patience
      from jobtree.lease l
      cross join lateral (
        select j.heartbeat_interval_ms from jobtree.job j where j.id = l.job_id and j.cancelled_at is null offset 0
      ) j
      where l.id = u.id and l.open <> v_none
      for no key update of l skip locked
    ) k
  ), moved as (
    select k.*, (k.open & k.named) = k.open as whole from kept k where (k.open & k.named) <> v_none
  )
  update jobtree.lease l
  set heartbeat_at = v_now, waiting = l.waiting & ~m.started,
    deadlines = case when not m.whole then array(
      select case
          when get_bit(m.open, n - 1) = 0 then null
          when get_bit(m.named, n - 1) = 1 then v_now + m.patience
          else coalesce(m.deadlines[n], m.heartbeat_at + m.patience)
        end::timestamptz(3)
      from generate_series(1, m.count) n
      order by n
    ) end
  from moved m
  where l.id = m.id;

  -- Nearly always, every named item is held.
  select array_agg(u.id), array_agg(u.named) into v_ended, v_ended_named
  from unnest(p_lease_ids, p_named) u(id, named)
  left join lateral (select l.open, l.job_id from jobtree.lease l where l.id = u.id offset 0) l on true
  left join lateral (select j.cancelled_at from jobtree.job j where j.id = l.job_id offset 0) j on true
  where (l.open & u.named) is distinct from u.named or j.cancelled_at is not null;
  if v_ended is not null then
    return query
      select u.id, n, case
        when f.lost then 'LOST'
        when f.lost is not null or exists (
          select from jobtree.outcome o
          where o.job_id = l.job_id and o.position = l.position + n - 1 and o.lease_id = l.id
          -- Keeps the planner from reading all outcomes into a hash table.
          offset 0
        ) then 'FINISHED'
        when l.cancelled_at is not null or (
          select c.position + c.count > l.position + n - 1 from jobtree.cancellation c
          where c.job_id = l.job_id and c.position <= l.position + n - 1
          order by c.position desc
          limit 1
        ) then 'CANCELLED'
        else 'LOST'
      end
      from unnest(v_ended, v_ended_named) u(id, named)
      cross join lateral generate_series(1, 128) n
      left join lateral (
        select l.*, j.cancelled_at from jobtree.lease l
        cross join lateral (select j.cancelled_at from jobtree.job j where j.id = l.job_id offset 0) j
        where l.id = u.id and l.count >= n
        offset 0
      ) l on true
      left join lateral (
        select f.lost from jobtree.failure f
        where f.job_id = l.job_id and f.position = l.position + n - 1 and f.attempt = l.attempt and f.lease_id = l.id
        offset 0
      ) f on true
      where get_bit(u.named, n - 1) = 1 and (get_bit(l.open, n - 1) = 1 and l.cancelled_at is null) is not true;
  end if;
end
$$;
