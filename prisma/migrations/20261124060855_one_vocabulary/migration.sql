drop routine jobtree.queue_depths(text[],text);

drop view "jobtree"."item_state";

alter table "jobtree"."operation" rename column "states" to "statuses";

set local check_function_bodies = off;

-- Cancels the pending items that an operation selects in the next part of those that it goes through. Waiting items leave the queue or the
-- line of their key; held ones end, which their workers learn from the next heartbeat or report. Serialize keys that they had pass to the
-- next items.
--
-- p_last_job_id, p_last_position   the end of the part (pending_window)
-- returns    how many items were cancelled; whether some were left because they were locked; the trees that changed; and the types that got
--            ready items, and how many
-- locks      blocked items, queue entries, leases and those of promote_next, skipping locked ones
create or replace function jobtree.cancel_pending(p_operation jobtree.operation, p_last_job_id uuid, p_last_position bigint)
returns table (cancelled bigint, was_busy boolean, root_ids uuid[], ready jsonb)
language plpgsql volatile
set jit = off
set enable_seqscan = off
set enable_bitmapscan = off
set enable_hashjoin = off
set enable_mergejoin = off
set plan_cache_mode = force_generic_plan
as $$
declare
  v_found record;
  v_blocked record;
  v_waiting record;
  v_held record;
  v_gone record;
begin
  select coalesce(sum(bit_count(m.matching)), 0) as items, array_agg(m.job_id) as job_ids, array_agg(m.position) as positions,
    array_agg(m.count) as counts, array_agg(m.attempt) as attempts, array_agg(m.lease_id) as lease_ids, array_agg(m.blocked) as blocked,
    array_agg(m.matching) as matching
  into v_found
  from jobtree.matching_pending(p_operation, p_last_job_id, p_last_position) m;
  cancelled := 0;
  was_busy := false;
  if v_found.items = 0 then
    return next;
    return;
  end if;

  with picked as materialized (
    select b.ctid as tid, b.job_id, b.position
    from unnest(v_found.job_ids, v_found.positions, v_found.blocked) f(job_id, position, blocked)
    join jobtree.blocked_item b on b.job_id = f.job_id and b.position = f.position
    where f.blocked
    order by b.job_id, b.position
    for update of b skip locked
  ), gone as (
    delete from jobtree.blocked_item b where b.ctid = any (array(select p.tid from picked p))
  )
  select array_agg(p.job_id) as job_ids, array_agg(p.position) as positions, array_agg(1::smallint) as counts,
    array_agg(jobtree.bit_at(1)) as taken, array_agg(false) as keyed
  into v_blocked
  from picked p;

  -- Only unchanged entries: any change removes items from an entry, or puts them back with another attempt number.
  select array_agg(w.tid) as tids, array_agg(w.entry) as entries, array_agg(w.job_id) as job_ids, array_agg(w.position) as positions,
    array_agg(w.count) as counts, array_agg(w.matching) as taken, array_agg(w.keyed) as keyed
  into v_waiting
  from (
    select q.ctid as tid, q as entry, q.job_id, q.position, q.count, q.keyed, f.matching
    from unnest(v_found.job_ids, v_found.positions, v_found.counts, v_found.attempts, v_found.lease_ids, v_found.blocked, v_found.matching)
      f(job_id, position, count, attempt, lease_id, blocked, matching)
    join jobtree.queue_entry q on q.job_id = f.job_id and q.position = f.position
    where f.lease_id is null and not f.blocked and q.count = f.count and q.attempt = f.attempt
    order by q.job_id, q.position
    for update of q skip locked
  ) w;
  delete from jobtree.queue_entry q where q.ctid = any (v_waiting.tids);
  perform jobtree.put_back_rest(v_waiting.entries, v_waiting.taken);

  with picked as materialized (
    select l.id, l.job_id, l.position, l.count, l.keyed, l.open & f.matching as ended
    from unnest(v_found.lease_ids, v_found.matching) f(lease_id, matching)
    join jobtree.lease l on l.id = f.lease_id
    order by l.id
    for update of l skip locked
  ), ended as (
    update jobtree.lease l
    set open = l.open # p.ended, deadline_at = case when l.open <> p.ended then l.deadline_at end
    from picked p
    where l.id = p.id
  )
  select array_agg(p.job_id) as job_ids, array_agg(p.position) as positions, array_agg(p.count) as counts, array_agg(p.ended) as taken,
    array_agg(p.keyed) as keyed
  into v_held
  from picked p;

  select coalesce(sum(r.count), 0) as items, array_agg(t.job_id) as job_ids, array_agg(t.position + r."from") as positions,
    array_agg(r.count::bigint) as counts, array_agg(t.keyed) as keyed
  into v_gone
  from unnest(
    v_blocked.job_ids || v_waiting.job_ids || v_held.job_ids, v_blocked.positions || v_waiting.positions || v_held.positions,
    v_blocked.counts || v_waiting.counts || v_held.counts, v_blocked.taken || v_waiting.taken || v_held.taken,
    v_blocked.keyed || v_waiting.keyed || v_held.keyed
  ) t(job_id, position, count, taken, keyed)
  cross join lateral jobtree.bit_runs(t.taken, t.count) r;
  perform jobtree.cancel_ranges(v_gone.job_ids, v_gone.positions, v_gone.counts, clock_timestamp());
  cancelled := v_gone.items;
  root_ids := array(select distinct j.root_id from unnest(v_gone.job_ids) u(id) join jobtree.job j on j.id = u.id);
  was_busy := cancelled < v_found.items;
  -- With a filter by statuses, an item that became ready now would no longer have the status by which it was selected: promote_blocked does it later.
  select jobtree.free_keys(array_agg(g.job_id), array_agg(g.position + n), p_operation.statuses is null) into ready
  from unnest(v_gone.job_ids, v_gone.positions, v_gone.counts, v_gone.keyed) g(job_id, position, count, keyed)
  cross join lateral generate_series(0, g.count - 1) n
  where g.keyed
  having count(*) > 0;
  return next;
end
$$;

-- Gives a named item to a worker, regardless of what is ahead of it in the queue. An item that is due counts as ready, whether promoted or
-- not. A pause and the limits of its type apply.
--
-- p_durable  as claim_items has it
-- returns    as lease_entries, one row
-- locks      the row of queue, if the type has a limit; the queue entry that has the item
-- errors     JT001 no such item; JT005 it can't be claimed, with the reason in the error's detail: its status, PAUSED or LIMITED
create or replace function jobtree.claim_item(p_job_id uuid, p_position bigint, p_worker text, p_durable boolean default true)
returns table (
  lease_id uuid, request integer, job_id uuid, root_id uuid, type text, first_position bigint, attempt integer, worker text,
  heartbeat_interval_ms integer, claimed_at timestamptz, deadline_at timestamptz, priority smallint, place bigint,
  has_rest boolean, numbers integer[], payloads text, ready_at timestamptz, last_numbers integer[]
)
language plpgsql volatile
set jit = off
set enable_seqscan = off
set enable_bitmapscan = off
set plan_cache_mode = force_generic_plan
as $$
declare
  v_entry record;
  v_status text;
  v_queue jobtree.queue;
  -- Null for a type without limits.
  v_room integer;
begin
  select q.* into v_queue from jobtree.queue q
  where q.type = (select j.type from jobtree.job j where j.id = p_job_id) and (q.paused or q.concurrency is not null or q.rate_limit is not null)
  for no key update;
  if found then
    select l.room into v_room from jobtree.lock_queues(array[v_queue.type]) l;
  elsif not p_durable then
    perform set_config('synchronous_commit', 'off', true);
  end if;
  loop
    select q.ctid as tid, q.position into v_entry from jobtree.queue_entry q
    where q.job_id = p_job_id and q.position between p_position - 127 and p_position and q.position + q.count > p_position
      and (q.run_at is null or q.run_at <= clock_timestamp()) and v_room is distinct from 0
    for update;
    if found and v_room is null then
      return query
        select l.* from jobtree.lease_entry(v_entry.tid, (p_position - v_entry.position)::integer, 1, 1, p_worker, null) l;
      exit when found;
    elsif found then
      return query
        with given as materialized (
          select l.* from jobtree.lease_entry(v_entry.tid, (p_position - v_entry.position)::integer, 1, 1, p_worker, null) l
        ), noted as materialized (
          select jobtree.note_claims(array_agg(g.lease_id), array_agg(g.type)) from given g
        )
        select g.* from given g, noted;
      exit when found;
    end if;

    select case when s.due_at <= clock_timestamp() then 'READY' else s.status end into v_status from jobtree.item_status s
    where s.job_id = p_job_id and s.position = p_position;
    if v_status is null then
      raise exception 'There is no item % of job %.', p_position, p_job_id using errcode = 'JT001', column = 'itemId';
    end if;
    if v_status = 'READY' and v_room = 0 then
      raise exception 'Item % of job % can''t be claimed: its queue is %.', p_position, p_job_id,
        case when v_queue.paused then 'paused' else 'at its limit' end
        using errcode = 'JT005', column = 'itemId', detail = case when v_queue.paused then 'PAUSED' else 'LIMITED' end;
    end if;
    -- If it is READY, another transaction has split its entry meanwhile: look again.
    if v_status <> 'READY' then
      raise exception 'Item % of job % can''t be claimed: its status is %.', p_position, p_job_id, v_status
        using errcode = 'JT005', column = 'itemId', detail = v_status;
    end if;
  end loop;
end
$$;

-- The pending items that an operation selects, by the ranges that they are in: queue entries, and for a cancelling one also held leases, and
-- single items that their serialize keys block. One that promotes selects only what was scheduled before it was requested, so an item that
-- fails again meanwhile waits as usual.
--
-- p_last_job_id, p_last_position   only what comes after the position at which the operation has stopped, up to this one (pending_window); null
--            for all that the operation selects
-- returns    for each range with such items its key columns, its lease if it is one, whether it is blocked, and a bit for each of its items
--            that matches
create or replace function jobtree.matching_pending(
  p_operation jobtree.operation, p_last_job_id uuid default null, p_last_position bigint default null
)
returns table (job_id uuid, "position" bigint, count integer, attempt integer, lease_id uuid, blocked boolean, matching bit(128))
language plpgsql stable
set jit = off
set enable_seqscan = off
set enable_bitmapscan = off
set enable_hashjoin = off
set enable_mergejoin = off
-- A custom plan drops the conditions of what the filter does not name.
set plan_cache_mode = force_custom_plan
as $$
#variable_conflict use_column
declare
  v_jobs constant uuid[] := case
    when p_last_job_id is null then jobtree.jobs_of_operation(p_operation)
    when p_last_job_id = p_operation.next_job_id then array[p_last_job_id]
  end;
  v_first constant bigint := coalesce((select min(u) from unnest(p_operation.item_positions) u), 0);
  v_end constant bigint := p_operation.before_position - 1;
  v_statuses constant text[] := p_operation.statuses;
  -- Whether the items themselves must be read.
  v_by_item constant boolean := num_nonnulls(
    p_operation.added_from, p_operation.added_until, p_operation.dedupe_keys, p_operation.item_positions, p_operation.codes
  ) > 0;
begin
  return query
  with pending as (
    select q.job_id, q.position, q.count::integer as count, q.attempt, null::uuid as lease_id, false as blocked, ~B'0'::bit(128) as open
    from jobtree.queue_entry q
    where v_statuses is null
      and (v_jobs is null or q.job_id = any (v_jobs)) and q.position > v_first - 128 and q.position <= v_end
      and (q.job_id, q.position) > (p_operation.next_job_id, p_operation.next_position - 127)
      and (p_last_job_id is null or (q.job_id, q.position) <= (p_last_job_id, p_last_position))
      and (p_operation.types is null or q.type = any (p_operation.types))
    union all
    select q.job_id, q.position, q.count, q.attempt, null, false, ~B'0'::bit(128)
    from (select distinct u from unnest(v_statuses) u) s(status)
    join (
      select q.*, jobtree.status_of_item(null, null, false, false, q.run_at, q.attempt) as status from jobtree.queue_entry q
    ) q on q.status = s.status
    where (v_jobs is null or q.job_id = any (v_jobs)) and q.position > v_first - 128 and q.position <= v_end
      -- With the status, or all entries of any status might be read.
      and (q.status, q.job_id, q.position) > (s.status, p_operation.next_job_id, p_operation.next_position - 127)
      and (p_last_job_id is null or (q.status, q.job_id, q.position) <= (s.status, p_last_job_id, p_last_position))
      and (p_operation.types is null or q.type = any (p_operation.types))
      and (p_operation.kind = 'CANCEL' or q.ready_at <= p_operation.requested_at)
    union all
    select l.job_id, l.position, l.count, l.attempt, l.id, false, l.open
    from (select * from jobtree.lease l where l.deadline_at is not null offset 0) l
    where p_operation.kind = 'CANCEL'
      and (v_jobs is null or l.job_id = any (v_jobs)) and l.position > v_first - 128 and l.position <= v_end
      and (l.job_id, l.position) > (p_operation.next_job_id, p_operation.next_position - 127)
      and (p_last_job_id is null or (l.job_id, l.position) <= (p_last_job_id, p_last_position))
      and (v_statuses is null or 'RUNNING' = any (v_statuses))
    union all
    select b.job_id, b.position, 1, b.attempt, null, true, ~B'0'::bit(128)
    from jobtree.blocked_item b
    where p_operation.kind = 'CANCEL'
      and (v_jobs is null or b.job_id = any (v_jobs)) and b.position >= v_first and b.position <= v_end
      and (b.job_id, b.position) > (p_operation.next_job_id, p_operation.next_position)
      and (p_last_job_id is null or (b.job_id, b.position) <= (p_last_job_id, p_last_position))
      and (p_operation.types is null or b.type = any (p_operation.types))
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
    where j.cancelled_at is null and (p_operation.types is null or j.type = any (p_operation.types))
      and (p_operation.tenant is null or starts_with(j.type, p_operation.tenant || '//'))
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
  select f.job_id, f.position, f.count, f.attempt, f.lease_id, f.blocked, f.matching from found f where bit_count(f.matching) > 0;
end
$$;

-- The initial state of the operation that a filter describes.
--
-- p_kind, p_filter, p_payload   as start_operation takes them
-- returns    a row that is not in the table yet
-- errors     those of start_operation
create or replace function jobtree.operation_of(p_kind text, p_filter jsonb, p_payload json default null)
returns jobtree.operation
language plpgsql volatile
set jit = off
set enable_seqscan = off
as $$
declare
  v_filter constant jsonb := jsonb_strip_nulls(case jsonb_typeof(p_filter) when 'object' then p_filter else '{}' end);
  v_unknown constant text := (
    select min(k) from jsonb_object_keys(v_filter) k
    where k <> all (array['tenant', 'jobId', 'types', 'codes', 'dedupeKeys', 'items'] || case
      when p_kind in ('CANCEL', 'PROMOTE') then array['statuses', 'addedFrom', 'addedUntil']
      else array['groupIds', 'diedFrom', 'diedUntil']
    end)
  );
  v_operation jobtree.operation;
begin
  if v_filter - 'tenant' = '{}' then
    raise exception 'filter is empty, and would match everything: set at least one of its fields.' using errcode = 'JT002', column = 'filter';
  elsif v_unknown is not null then
    raise exception 'filter has an unknown key: %.', v_unknown using errcode = 'JT002', column = 'filter.' || v_unknown;
  elsif p_kind is null or p_kind not in ('REPLAY', 'DISCARD', 'CANCEL', 'PROMOTE') then
    raise exception 'kind must be REPLAY, DISCARD, CANCEL or PROMOTE.' using errcode = 'JT002', column = 'kind';
  elsif jsonb_path_exists(
    v_filter,
    '$.statuses[*] ? (!(@ == "WAITING" || @ == "BLOCKED" || @ == "SCHEDULED" || @ == "RETRYING" || @ == "READY" || @ == "RUNNING"))'
  ) then
    raise exception 'filter.statuses must be WAITING, BLOCKED, SCHEDULED, RETRYING, READY or RUNNING: no other item is pending.'
      using errcode = 'JT002', column = 'filter.statuses';
  elsif p_kind = 'PROMOTE' and jsonb_path_exists(v_filter, '$.statuses[*] ? (!(@ == "SCHEDULED" || @ == "RETRYING"))') then
    raise exception 'filter.statuses must be RETRYING or SCHEDULED: other items do not wait for a time.'
      using errcode = 'JT002', column = 'filter.statuses';
  elsif p_payload is not null and (p_kind <> 'REPLAY' or jsonb_array_length(coalesce(v_filter -> 'items', '[]')) <> 1) then
    raise exception 'payload is for one item only: replay it with a filter that names it.' using errcode = 'JT002', column = 'payload';
  elsif v_filter ? 'jobId' and not exists (select from jobtree.job j where j.id = (v_filter ->> 'jobId')::uuid) then
    raise exception 'There is no job %.', v_filter ->> 'jobId' using errcode = 'JT001', column = 'filter.jobId';
  end if;
  select jobtree.new_id(), p_kind, clock_timestamp(), f."jobId", f.types, f.codes, f."groupIds", f."diedFrom", f."diedUntil",
    f."dedupeKeys", i.job_ids, i.positions, case when p_kind = 'PROMOTE' then coalesce(f.statuses, '{RETRYING}') else f.statuses end,
    f."addedFrom", f."addedUntil", least(1024 * (s.last_value + 1), (select max(u) + 1 from unnest(i.positions) u)), p_payload, 0, 0, '00000000-0000-0000-0000-000000000000', -1, false, null, null, f.tenant
  into v_operation
  from jsonb_to_record(v_filter) f(
    "jobId" uuid, types text[], codes text[], "groupIds" uuid[], "diedFrom" timestamptz, "diedUntil" timestamptz, "dedupeKeys" text[],
    items jsonb, statuses text[], "addedFrom" timestamptz, "addedUntil" timestamptz, tenant text
  )
  cross join jobtree.block_seq s
  cross join lateral (
    select array_agg((e ->> 'jobId')::uuid) as job_ids, array_agg((e ->> 'position')::bigint) as positions
    from jsonb_array_elements(f.items) e
  ) i;
  return v_operation;
end
$$;

-- The next part of what an operation on pending items goes through: the jobs in the order of their ids, and the items of each in the order of
-- their positions. If the filter names jobs, each has parts of its own.
--
-- p_ranges, p_items   how many ranges, and items of these, approximately
-- returns    after which position of which job the part begins, and the job and position of its last item; no row at the end. Every item that
--            is pending now is in a range that begins in this part or an earlier one, even if it moves to another range later
create or replace function jobtree.pending_window(p_operation jobtree.operation, p_ranges integer default 1000, p_items bigint default 25600)
returns table (from_job_id uuid, from_position bigint, last_job_id uuid, last_position bigint)
language plpgsql stable
set jit = off
set enable_seqscan = off
set enable_bitmapscan = off
set enable_hashjoin = off
set enable_mergejoin = off
-- A custom plan drops the tables that the operation does not look at.
set plan_cache_mode = force_custom_plan
as $$
declare
  c_last_job constant uuid := 'ffffffff-ffff-ffff-ffff-ffffffffffff';
  c_last_position constant bigint := 9223372036854775807;
  v_named constant uuid[] := jobtree.jobs_of_operation(p_operation);
  v_until uuid := nullif(c_last_job, p_operation.next_job_id);
begin
  from_job_id := p_operation.next_job_id;
  from_position := p_operation.next_position;
  if v_named is not null then
    -- To pass by the jobs in between.
    v_until := (select u from unnest(v_named) u where (u, c_last_position) > (from_job_id, from_position) order by u limit 1);
    if v_until > from_job_id then
      from_job_id := v_until;
      from_position := -1;
    end if;
    -- No item that the operation names has a lower position.
    from_position := greatest(from_position, (select min(u) - 1 from unnest(p_operation.item_positions) u));
  end if;
  if v_until is null then
    return;
  end if;

  select r.job_id, r.last into last_job_id, last_position
  from (
    select r.job_id, r.position, r.last, row_number() over w as n, sum(r.count) over w as items
    from (
      -- Entries, blocked items and leases of a job may overlap: of the last one only the first item is in the part.
      (select q.job_id, q.position, q.position as last, q.count
      from jobtree.queue_entry q
      where p_operation.kind = 'CANCEL' and (q.job_id, q.position) > (from_job_id, from_position) and q.job_id <= v_until
        and q.position < p_operation.before_position
      order by q.job_id, q.position
      limit p_ranges)
      union all
      select d.job_id, d.position, d.last, d.count
      from unnest(p_operation.statuses) s(status)
      cross join lateral (
        select q.job_id, q.position, q.position + q.count - 1 as last, q.count
        from jobtree.queue_entry q
        where p_operation.kind = 'PROMOTE' and jobtree.status_of_item(null, null, false, false, q.run_at, q.attempt) = s.status
          and (q.job_id, q.position) > (from_job_id, from_position) and q.job_id <= v_until
          and q.position < p_operation.before_position
        order by q.job_id, q.position
        limit p_ranges
      ) d
      union all
      (select b.job_id, b.position, b.position, 1
      from jobtree.blocked_item b
      where p_operation.kind = 'CANCEL' and (b.job_id, b.position) > (from_job_id, from_position) and b.job_id <= v_until
        and b.position < p_operation.before_position
      order by b.job_id, b.position
      limit p_ranges)
      union all
      select l.job_id, l.position, l.position, l.count
      from (select * from jobtree.lease l where l.deadline_at is not null offset 0) l
      where p_operation.kind = 'CANCEL' and (l.job_id, l.position) > (from_job_id, from_position) and l.job_id <= v_until
        and l.position < p_operation.before_position
    ) r
    window w as (order by r.job_id, r.position rows unbounded preceding)
  ) r
  where r.n = p_ranges or r.items >= p_items
  order by r.job_id, r.position
  limit 1;
  if not found then
    last_job_id := v_until;
    last_position := c_last_position;
  end if;
  return next;
end
$$;

-- How many items of each type wait and run, by name, for types that have any. Sums up ranges of items and open leases, so the cost does not
-- depend on how many items are finished.
--
-- p_types    only these; null for all
-- p_after    only types whose names come after this one
-- returns    how many items have each status of pending ones; and for how long the oldest ready item has been ready, in milliseconds: null if
--            none is ready
create or replace function jobtree.queue_depths(p_types text[] default null, p_after text default null)
returns table (
  type text, ready bigint, scheduled bigint, retrying bigint, waiting bigint, blocked bigint, running bigint, oldest_ready_ms bigint
)
language sql stable
as $$
  with entries as (
    select e.type, coalesce(sum(e.items) filter (where e.status = 'READY'), 0)::bigint as ready,
      coalesce(sum(e.items) filter (where e.status = 'SCHEDULED'), 0)::bigint as scheduled,
      coalesce(sum(e.items) filter (where e.status = 'RETRYING'), 0)::bigint as retrying,
      coalesce(sum(e.items) filter (where e.status = 'WAITING'), 0)::bigint as waiting,
      min(e.since) filter (where e.status = 'READY') as since
    from (
      select q.type, jobtree.status_of_item(null, null, false, false, q.run_at, q.attempt) as status, sum(q.count) as items,
        min(q.ready_at) as since
      from jobtree.queue_entry q
      where (p_types is null or q.type = any (p_types)) and (p_after is null or q.type > p_after)
      group by 1, 2
    ) e
    group by e.type
  ), held as (
    select j.type, sum(h.items)::bigint as running
    from (
      select l.job_id, sum(bit_count(l.open)) as items from jobtree.lease l
      where l.deadline_at is not null
      group by l.job_id
    ) h
    join jobtree.job j on j.id = h.job_id
    where (p_types is null or j.type = any (p_types)) and (p_after is null or j.type > p_after)
    group by j.type
    having sum(h.items) > 0
  ), behind as (
    select b.type, count(*) as blocked from jobtree.blocked_item b
    where (p_types is null or b.type = any (p_types)) and (p_after is null or b.type > p_after)
    group by b.type
  )
  select type, coalesce(e.ready, 0), coalesce(e.scheduled, 0), coalesce(e.retrying, 0), coalesce(e.waiting, 0),
    coalesce(b.blocked, 0), coalesce(h.running, 0),
    case when e.since is not null then greatest(extract(epoch from clock_timestamp() - e.since) * 1000, 0)::bigint end
  from entries e full join held h using (type) full join behind b using (type)
  order by type
$$;

-- The status of an item: the only place that decides it. It depends on no clock, so an index has what a page of one status needs: what
-- has come due keeps its status until promote_due has cleared its time. Plain SQL, so that the planner inlines it. An index is built on it:
-- a migration that changes what it says of entries must build that anew.
--
-- p_failed         whether its outcome is a failure; null without an outcome
-- p_cancelled_at   when it was cancelled, itself or with its job
-- p_is_held        whether a lease has it, and its bit there is open
-- p_is_blocked     whether it is in blocked_item
-- p_run_at, p_attempt   of its queue entry
create or replace function jobtree.status_of_item(
  p_failed boolean, p_cancelled_at timestamptz, p_is_held boolean, p_is_blocked boolean, p_run_at timestamptz, p_attempt integer
)
returns text
language sql immutable parallel safe
as $$
  select case
    when p_failed then 'FAILED'
    when p_failed is not null then 'SUCCEEDED'
    when p_cancelled_at is not null then 'CANCELLED'
    when p_is_held then 'RUNNING'
    when p_is_blocked then 'BLOCKED'
    when p_run_at is null then 'READY'
    when p_run_at = 'infinity' then 'WAITING'
    when p_attempt > 1 then 'RETRYING'
    else 'SCHEDULED'
  end
$$;

-- Changes an item that waits: when it is due, its priority, its payload; what is not given stays. An item that its serialize key blocks
-- keeps its place in the line.
--
-- p_changes  {runAt?, priority?, payload?}, at least one of them; runAt null for now, priority null for the job's
-- returns    its tree and type; its priority and its place, from which claims find it, null if it is blocked; and whether this made it
--            ready
-- locks      the queue entry that has the item, or the item itself if it is blocked
-- errors     JT001 no such item; JT002 no or invalid changes; JT007 it does not wait, with its status in the error's detail: RUNNING,
--            SUCCEEDED, FAILED or CANCELLED; Postgres's errors as in add_items
create or replace function jobtree.update_item(p_job_id uuid, p_position bigint, p_changes json)
returns table (root_id uuid, type text, priority smallint, place bigint, made_ready boolean)
language plpgsql volatile
set jit = off
set enable_seqscan = off
set enable_bitmapscan = off
set plan_cache_mode = force_generic_plan
as $$
#variable_conflict use_column
declare
  v_now constant timestamptz(3) := clock_timestamp();
  v_changes jsonb;
  v_problem record;
  v_entry jobtree.queue_entry;
  v_is_blocked boolean;
  v_job record;
  v_status text;
  v_item record;
  v_bytes integer;
begin
  if strpos(p_changes::text, '\u') > 0 then
    perform jobtree.check_text(p_changes);
  end if;
  if json_typeof(p_changes) = 'object' and jobtree.is_too_deep((p_changes -> 'payload')::text) then
    raise exception 'payload is nested more than 256 levels deep.' using errcode = 'JT002', column = 'payload';
  end if;
  v_changes := p_changes;
  select * into v_problem from jobtree.input_problem(v_changes, '{payload,priority,runAt}') p limit 1;
  if found then
    raise exception '% %.', v_problem.field, v_problem.message using errcode = 'JT002', column = v_problem.field;
  elsif v_changes = '{}' then
    raise exception 'There is nothing to change.' using errcode = 'JT002';
  end if;

  loop
    select q.* into v_entry from jobtree.queue_entry q
    where q.job_id = p_job_id and q.position between p_position - 127 and p_position and q.position + q.count > p_position
    for update;
    perform from jobtree.blocked_item b where b.job_id = p_job_id and b.position = p_position for update;
    v_is_blocked := found;
    select j.root_id, j.priority, j.cancelled_at is not null as is_cancelled into v_job from jobtree.job j where j.id = p_job_id;
    exit when (v_entry.job_id is not null or v_is_blocked) and not v_job.is_cancelled;
    select s.status into v_status from jobtree.item_status s where s.job_id = p_job_id and s.position = p_position;
    if v_status is null then
      raise exception 'There is no item % of job %.', p_position, p_job_id using errcode = 'JT001', column = 'itemId';
    end if;
    -- Otherwise it still waits, but another transaction has split its entry or passed it the key: look again.
    if v_status in ('RUNNING', 'SUCCEEDED', 'FAILED', 'CANCELLED') then
      raise exception 'Item % of job % can''t be changed: its status is %.', p_position, p_job_id, v_status
        using errcode = 'JT007', column = 'itemId', detail = v_status;
    end if;
  end loop;

  if v_changes ? 'payload' then
    select octet_length((p_changes -> 'payload')::text) - i.payload_bytes into v_bytes from jobtree.job_item i
    where i.job_id = p_job_id and i.position = p_position;
    insert into jobtree.progress_delta (root_id, job_id, bytes) values (v_job.root_id, p_job_id, v_bytes);
  end if;
  update jobtree.job_item i
  set payload = case when v_changes ? 'payload' then p_changes -> 'payload' else i.payload end,
    payload_bytes = case when v_changes ? 'payload' then octet_length((p_changes -> 'payload')::text) else i.payload_bytes end,
    priority = case when v_changes ? 'priority' then (v_changes ->> 'priority')::smallint else i.priority end,
    run_at = case when v_changes ? 'runAt' then coalesce((v_changes ->> 'runAt')::timestamptz, v_now) else i.run_at end
  where i.job_id = p_job_id and i.position = p_position
  returning i.payload_bytes, coalesce(i.priority, v_job.priority) as priority, i.run_at, i.created_at into v_item;
  if v_is_blocked then
    update jobtree.blocked_item b
    set priority = v_item.priority, run_at = case when v_changes ? 'runAt' then v_item.run_at else b.run_at end,
      waits_since = case when b.attempt = 1 then greatest(v_item.created_at, v_item.run_at) end
    where b.job_id = p_job_id and b.position = p_position;
    return query select v_job.root_id, null::text, v_item.priority, null::bigint, false;
    return;
  end if;

  -- The item gets an entry of its own, since its conditions or its size differ.
  delete from jobtree.queue_entry q where q.job_id = p_job_id and q.position = v_entry.position;
  perform jobtree.put_back_rest(array[v_entry], array[jobtree.bit_at((p_position - v_entry.position)::integer + 1)]);
  v_entry.place := v_entry.place + p_position - v_entry.position;
  if v_changes ? 'runAt' and v_entry.run_at is distinct from 'infinity' then
    made_ready := v_item.run_at <= v_now;
    v_entry.run_at := case when not made_ready then v_item.run_at end;
    v_entry.place := nextval('jobtree.block_seq') * 1024;
    v_entry.ready_at := v_now;
  end if;
  insert into jobtree.queue_entry (job_id, position, place, bytes, run_at, attempt, count, priority, type, keyed, ready_at)
  values (
    p_job_id, p_position, v_entry.place, v_item.payload_bytes, v_entry.run_at, v_entry.attempt, 1, v_item.priority, v_entry.type,
    v_entry.keyed, v_entry.ready_at
  );
  return query select v_job.root_id, v_entry.type, v_item.priority, v_entry.place, coalesce(made_ready, false);
end
$$;

-- The status of each item.
create view "jobtree"."item_status" as
select i.job_id, i.position, j.root_id, j.type,
  jobtree.status_of_item(
    o.failed, coalesce(c.cancelled_at, j.cancelled_at), l.id is not null, b.key is not null, q.run_at, q.attempt
  ) as status,
  coalesce(o.finished_at, c.cancelled_at, j.cancelled_at) as finished_at,
  nullif(q.run_at, 'infinity') as due_at, coalesce(q.attempt, l.attempt, b.attempt) as attempt, l.id as lease_id, l.worker,
  i.created_at, i.payload, o.result, i.serialize_key, b.head_job_id, b.head_position
from jobtree.job_item i
join jobtree.job j on j.id = i.job_id
left join jobtree.outcome o on o.job_id = i.job_id and o.position = i.position
left join lateral (
  select c.cancelled_at
  from (
    select c.* from jobtree.cancellation c
    where o.job_id is null and c.job_id = i.job_id and c.position <= i.position
    order by c.position desc
    limit 1
  ) c
  where c.position + c.count > i.position
) c on true
left join lateral (
  select q.run_at, q.attempt from jobtree.queue_entry q
  where o.job_id is null and j.cancelled_at is null
    and q.job_id = i.job_id and q.position between i.position - 127 and i.position and q.position + q.count > i.position
) q on true
left join lateral (
  select l.id, l.attempt, l.worker from jobtree.lease l
  where o.job_id is null and j.cancelled_at is null
    and l.job_id = i.job_id and l.position between i.position - 127 and i.position
    and get_bit(l.open, (i.position - l.position)::integer) = 1
) l on true
left join lateral (
  select b.key, b.attempt, k.job_id as head_job_id, k.position as head_position
  from jobtree.blocked_item b
  left join jobtree.serialize_key k on k.key = b.key
  where o.job_id is null and j.cancelled_at is null and i.serialize_key is not null and b.job_id = i.job_id and b.position = i.position
) b on true;

-- For pages of the items of a job that have some statuses, however many others come first. No claim has its condition, so the planner never
-- uses it for claims.
drop index "jobtree"."queue_entry_waiting";
drop index "jobtree"."queue_entry_scheduled_of_job";
create index "queue_entry_status" on "jobtree"."queue_entry"
  ((jobtree.status_of_item(null, null, false, false, "run_at", "attempt")), "job_id", "position");
