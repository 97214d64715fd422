-- The pending items that an operation selects, by the ranges that they are in: queue entries, and for a cancelling one also held leases, and
-- single items that their serialize keys block. One that promotes selects only what was scheduled before it was requested, so an item that
-- fails again meanwhile waits as usual.
--
-- p_last_job_id, p_last_position   only what comes after the position at which the operation has stopped, up to this one (pending_window); null
--            for all that the operation selects
-- returns    each range with such items
create or replace function jobtree.matching_pending(
  p_operation jobtree.operation, p_last_job_id uuid default null, p_last_position bigint default null
)
returns setof jobtree.pending_range
language plpgsql stable
-- plans: no seqscan, bitmapscan, hashjoin, mergejoin
-- A custom plan drops the conditions of what the filter does not name.
set plan_cache_mode = force_custom_plan
as $$
#variable_conflict use_column
declare
  -- Whether the part is of a single job: then the positions below say where it begins and ends.
  v_is_inside constant boolean := coalesce(p_last_job_id = p_operation.next_job_id, false);
  v_jobs constant uuid[] := case when v_is_inside then array[p_last_job_id] else jobtree.jobs_of_operation(p_operation, p_last_job_id) end;
  v_first constant bigint := greatest(0, (select min(u) from unnest(p_operation.item_positions) u), case when v_is_inside then p_operation.next_position + 1 end);
  v_end constant bigint := least(p_operation.before_position - 1, case when v_is_inside then p_last_position end);
  v_statuses constant text[] := p_operation.statuses;
  -- The names of the tenant's types.
  v_from constant text := p_operation.tenant || '//';
  v_until constant text := p_operation.tenant || '/0';
  v_by_type constant boolean := v_jobs is null and p_last_job_id is null and num_nonnulls(p_operation.types, v_from) > 0;
  -- Whether the items themselves must be read.
  v_by_item constant boolean := num_nonnulls(
    p_operation.added_from, p_operation.added_until, p_operation.dedupe_keys, p_operation.item_positions, p_operation.codes
  ) > 0;
begin
  return query
  with pending as (
    select q.job_id, q.position, q.count::integer as count, q.attempt, null::uuid as lease_id, false as blocked, q.keyed, ~B'0'::bit(128) as open
    from (
      select q.* from jobtree.queue_entry q where not v_by_type and v_statuses is null
      union all
      -- By the indexes of types: one has the ready entries, one all others.
      select q.* from jobtree.queue_entry q where v_by_type and q.run_at is null
      union all
      select q.* from jobtree.queue_entry q where v_by_type and q.run_at is not null
    ) q
    where (p_operation.types is null or q.type = any (p_operation.types)) and (v_from is null or q.type > v_from and q.type < v_until)
      and (v_statuses is null or jobtree.status_of_item(null, null, false, false, q.run_at, q.attempt) = any (v_statuses))
      and (p_operation.kind = 'CANCEL' or q.ready_at <= p_operation.requested_at)
    union all
    select q.job_id, q.position, q.count, q.attempt, null, false, q.keyed, ~B'0'::bit(128)
    from (select distinct u from unnest(v_statuses) u) s(status)
    join (select q.*, jobtree.status_of_item(null, null, false, false, q.run_at, q.attempt) as status from jobtree.queue_entry q) q using (status)
    where not v_by_type
      -- With the status and the job, or all entries of any status might be read.
      and (q.status, q.job_id, q.position) > (s.status, p_operation.next_job_id, p_operation.next_position - 127) and q.job_id >= p_operation.next_job_id
      and (p_last_job_id is null or (q.status, q.job_id, q.position) <= (s.status, p_last_job_id, p_last_position))
      and (p_operation.kind = 'CANCEL' or q.ready_at <= p_operation.requested_at)
    union all
    select l.job_id, l.position, l.count, l.attempt, l.id, false, l.keyed, l.open
    from jobtree.lease l
    where p_operation.kind = 'CANCEL' and coalesce(l.check_at, 'infinity') < 'infinity' and (v_statuses is null or 'RUNNING' = any (v_statuses))
    union all
    select b.job_id, b.position, 1, b.attempt, null, true, false, ~B'0'::bit(128)
    from jobtree.blocked_item b
    where p_operation.kind = 'CANCEL' and (p_operation.types is null or b.type = any (p_operation.types)) and (v_from is null or b.type > v_from and b.type < v_until)
      and (v_statuses is null or 'BLOCKED' = any (v_statuses))
  ), named as (
    select p.*, (
        -- The range's items between the two positions.
        p.open & (~B'0'::bit(128) << (127 - least(p.count - 1, w.last - p.position)::integer))
        & (~B'0'::bit(128) >> greatest(0, w.first - p.position)::integer)
      ) as items
    from pending p
    cross join lateral (
      select case when p.job_id = p_operation.next_job_id then greatest(p_operation.next_position + 1, v_first) else v_first end as first,
        case when p.job_id = p_last_job_id then least(p_last_position, v_end) else v_end end as last
    ) w
    cross join lateral (select j.type, j.cancelled_at from jobtree.job j where j.id = p.job_id offset 0) j
    where (v_jobs is null or p.job_id = any (v_jobs)) and p.position > v_first - 128 and p.position <= v_end
      and (p.job_id, p.position) > (p_operation.next_job_id, p_operation.next_position - 127)
      and (p_last_job_id is null or (p.job_id, p.position) <= (p_last_job_id, p_last_position))
      and j.cancelled_at is null and (p_operation.types is null or j.type = any (p_operation.types))
      and (v_from is null or j.type > v_from and j.type < v_until)
      and (p_operation.codes is null or p.attempt > 1)
  ), found as (
    select n.*, case when not v_by_item then n.items else (
      select bit_or(jobtree.bit_at((i.position - n.position)::integer + 1))
      from jobtree.job_item i
      where i.job_id = n.job_id and i.position >= n.position and i.position < n.position + n.count
        and get_bit(n.items, (i.position - n.position)::integer) = 1
        and (p_operation.added_from is null or i.created_at >= p_operation.added_from)
        and (p_operation.added_until is null or i.created_at < p_operation.added_until)
        and (p_operation.dedupe_keys is null or i.dedupe_key = any (p_operation.dedupe_keys))
        and (p_operation.item_positions is null or exists (
          select from unnest(p_operation.item_job_ids, p_operation.item_positions) u(job_id, position)
          where u.job_id = i.job_id and u.position = i.position
        ))
        and (p_operation.codes is null or exists (
          select from jobtree.failure f
          where f.job_id = i.job_id and f.position = i.position and f.attempt = n.attempt - 1 and f.code = any (p_operation.codes)
        ))
    ) end as matching
    from named n
    where bit_count(n.items) > 0
  )
  select f.job_id, f.position, f.count, f.attempt, f.lease_id, f.blocked, f.keyed, f.matching::bit(128) from found f where bit_count(f.matching) > 0;
end
$$;
