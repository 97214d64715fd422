-- AlterTable
ALTER TABLE "jobtree"."dead_letter_note" ADD COLUMN     "empty_since" TIMESTAMPTZ(3);

-- CreateIndex
CREATE INDEX "api_key_tenant_name_id_idx" ON "jobtree"."api_key"("tenant", "name", "id");

-- CreateIndex
CREATE INDEX "audit_entry_tenant_at_id_idx" ON "jobtree"."audit_entry"("tenant", "at", "id");

-- CreateIndex
CREATE INDEX "worker_name_idx" ON "jobtree"."worker"("name");

set local check_function_bodies = off;

-- Ends failed attempts: stores the failure, and puts the item back into the queue, to wait for the time given in the failure or for its
-- backoff; or fails the item for good, if the failure is permanent or the item has failed more than maxFailuresPerItem times. Failures and
-- the steps of the backoff count from when the item was added or replayed. The first and the last twenty failures of an item are kept.
-- A worker that dies loses all its items, and only one of them may be the cause. So an item that is lost in its last attempt becomes a
-- suspect: it is tried up to three times more, alone, and fails for good if it is lost each time. Not if maxFailuresPerItem is 0: such an item
-- must not be repeated.
--
-- p_lease_ids, p_numbers   assignments, each once
-- p_failures what went wrong, in the same order: {code, message, permanent?, retryAfterMs?, stack?}
-- p_lost     whether the attempts failed because their heartbeats stopped
-- returns    the trees; the types that got ready items, by a retry or because a serialize key was freed, and how many; which failures
--            counted, from 1, and when the item of each of these is due again: null if it is not; and figures and failures, as
--            report_results returns them
-- locks      leases in the order of their ids, skipping locked ones, whose failures don't count, nor do those of items that are not open;
--            then those of promote_next
create or replace function jobtree.fail_attempts(p_lease_ids uuid[], p_numbers integer[], p_failures json[], p_lost boolean)
returns table (root_ids uuid[], ready jsonb, accepted integer[], retries timestamptz[], figures json[], failed json[])
language plpgsql volatile
set jit = off
set enable_seqscan = off
set enable_hashjoin = off
set enable_mergejoin = off
set enable_bitmapscan = off
set enable_material = off
set plan_cache_mode = force_generic_plan
as $$
declare
  v_now constant timestamptz(3) := clock_timestamp();
  v_ended record;
  v_freed jsonb;
begin
  if p_lease_ids is null then
    return;
  end if;

  with ended as materialized (
    select u.lease_id, u.number, u.n, l.job_id, l.position + u.number - 1 as position, l.attempt, l.priority, l.worker, l.keyed, l.claimed_at, l.root_id, l.type,
      u.failure ->> 'code' as code, u.failure ->> 'message' as message, u.failure ->> 'stack' as stack,
      coalesce((u.failure ->> 'permanent')::boolean, false)
        or a.tries > l.max_failures_per_item + case when p_lost and l.max_failures_per_item > 0 then 3 else 0 end as is_final,
      -- The same jitter for all items of a lease, so that items that fail together wait together.
      (v_now + interval '1 millisecond' * coalesce(
        (u.failure ->> 'retryAfterMs')::double precision,
        (1 + l.backoff_jitter * l.draw) * coalesce(l.backoff_ms[least(a.tries, cardinality(l.backoff_ms))], 0)
      ))::timestamptz(3) as due_at
    from (
      select u.lease_id, array_agg(u.number) as numbers, array_agg(u.failure) as failures, array_agg(u.n) as ns, random() as draw
      from unnest(p_lease_ids, p_numbers, p_failures) with ordinality u(lease_id, number, failure, n)
      group by u.lease_id
      order by u.lease_id
    ) g
    cross join lateral (
      select l.*, g.draw, j.root_id, j.type, j.max_failures_per_item, j.backoff_ms, j.backoff_jitter from jobtree.lease l
      cross join lateral (select j.* from jobtree.job j where j.id = l.job_id and j.cancelled_at is null offset 0) j
      where l.id = g.lease_id
      for update of l skip locked
    ) l
    cross join lateral (
      select l.id as lease_id, u.* from unnest(g.numbers, g.failures, g.ns) u(number, failure, n)
      where case when u.number > 0 then get_bit(l.open, u.number - 1) = 1 end
    ) u
    cross join lateral (
      -- An item on its first attempt was never replayed.
      select l.attempt - case
        when l.attempt > 1 then coalesce((
          select r.attempt from jobtree.replay r where r.job_id = l.job_id and r.position = l.position + u.number - 1
        ), 0)
        else 0
      end as tries
      offset 0
    ) a
  ), closed as (
    update jobtree.lease l
    set open = l.open # e.bits, deadline_at = case when l.open <> e.bits then l.deadline_at end
    from (select d.lease_id, bit_or(jobtree.bit_at(d.number)) as bits from ended d group by d.lease_id) e
    where l.id = e.lease_id
  ), kept as (
    insert into jobtree.failure (job_id, position, attempt, lease_id, at, retry_at, lost, code, message, worker, stack)
    select e.job_id, e.position, e.attempt, e.lease_id, v_now, case when not e.is_final then e.due_at end, p_lost, e.code, e.message, e.worker, e.stack
    from ended e
  )
  select array_agg(distinct e.root_id) as root_ids,
    jobtree.count_names(array_agg(e.type) filter (where not e.is_final and e.due_at <= v_now)) as ready,
    coalesce(array_agg(e.n::integer order by e.n), '{}') as ns, array_agg(case when not e.is_final then e.due_at end order by e.n) as due,
    array_agg(e.job_id) filter (where not e.is_final) as job_ids, array_agg(e.position) filter (where not e.is_final) as positions,
    array_agg(e.attempt + 1) filter (where not e.is_final) as attempts, array_agg(e.priority) filter (where not e.is_final) as priorities,
    array_agg(case when e.due_at > v_now then e.due_at end) filter (where not e.is_final) as waits,
    array_agg(e.job_id) filter (where e.is_final) as final_job_ids, array_agg(e.position) filter (where e.is_final) as final_positions,
    array_agg(e.lease_id) filter (where e.is_final) as final_lease_ids,
    array_agg(e.code) filter (where e.is_final) as final_codes, array_agg(e.message) filter (where e.is_final) as final_messages,
    bool_or(e.keyed) filter (where e.is_final) as keyed,
    max(e.attempt) as last_attempt,
    (
      select array_agg(t.figure)
      from (
        select jobtree.figure_of(e.type, case when not p_lost then v_now - e.claimed_at end, 0, count(*), count(*) filter (where e.is_final)) as figure
        from ended e
        group by e.type, e.claimed_at
      ) t
    ) as figures,
    (
      select array_agg(t.failed)
      from (
        select distinct on (e.job_id, e.code, e.is_final)
          json_build_array(
            e.type, e.job_id, e.position, e.attempt, e.worker, e.code, left(e.message, 1000), case when not e.is_final then e.due_at end,
            count(*) over (partition by e.job_id, e.code, e.is_final)
          ) as failed
        from ended e
        order by e.job_id, e.code, e.is_final, e.position
      ) t
    ) as failed
  into v_ended
  from ended e;

  if v_ended.final_lease_ids is not null then
    v_freed := jobtree.bury_items(
      v_ended.final_job_ids, v_ended.final_positions, v_ended.final_lease_ids, v_ended.final_codes, v_ended.final_messages, v_ended.keyed
    );
  end if;
  if v_ended.last_attempt > 40 then
    delete from jobtree.failure f where f.ctid = any (array(
      select o.tid from unnest(p_lease_ids, p_numbers) with ordinality u(lease_id, number, n)
      cross join lateral (select l.* from jobtree.lease l where l.id = u.lease_id and l.attempt > 40 offset 0) l
      cross join lateral (
        select f.ctid as tid from jobtree.failure f
        where f.job_id = l.job_id and f.position = l.position + u.number - 1 and f.attempt = l.attempt - 20
        offset 0
      ) o
      where u.n = any (v_ended.ns)
    ));
    perform jobtree.prune_leases(p_lease_ids);
  end if;
  if v_ended.positions is not null then
    perform jobtree.requeue(v_ended.job_ids, v_ended.positions, v_ended.attempts, v_ended.priorities, v_ended.waits, true);
  end if;
  return query select v_ended.root_ids, jobtree.add_up(v_ended.ready, v_freed), v_ended.ns, v_ended.due, v_ended.figures, v_ended.failed;
end
$$;

-- The jobs of some types, or of a tenant, in the order of their ids: for what is looked up job by job, past everything of others.
--
-- p_types, p_tenant   null for any; null for both selects nothing
-- returns    null if there are more than 1,000, or nothing is selected
create or replace function jobtree.few_jobs(p_types text[], p_tenant text)
returns uuid[]
language plpgsql stable
set jit = off
set enable_seqscan = off
set enable_bitmapscan = off
-- A custom plan drops the condition that is not wanted.
set plan_cache_mode = force_custom_plan
as $$
begin
  if p_types is null and p_tenant is null then
    return null;
  end if;
  return (
    select case when count(*) <= 1000 then coalesce(array_agg(j.id order by j.id), '{}') end
    from (
      select j.id from jobtree.job j
      where (p_types is null or j.type = any (p_types))
        and (p_tenant is null or j.type > p_tenant || '//' and j.type < p_tenant || '/0')
      limit 1001
    ) j
  );
end
$$;

-- The dead letters that an operation selects, in the order of their items, each at most once: an item that fails again meanwhile has had
-- its turn. One that replays selects none of cancelled jobs or of trees that are being deleted, which can't be replayed.
--
-- p_after_job_id, p_after_position   the item to continue after
-- p_limit    the maximum number; null for all
-- returns    for each its item and its tree
create or replace function jobtree.matching_dead_letters(
  p_operation jobtree.operation, p_after_job_id uuid, p_after_position bigint, p_limit bigint
)
returns table (job_id uuid, "position" bigint, root_id uuid)
language plpgsql stable
-- Each batch continues along the primary key where the last one stopped, so nothing is sorted again.
set jit = off
set enable_seqscan = off
set enable_bitmapscan = off
set enable_hashjoin = off
set enable_mergejoin = off
set enable_sort = off
-- A custom plan drops the conditions of what the filter does not name.
set plan_cache_mode = force_custom_plan
as $$
#variable_conflict use_column
declare
  v_jobs constant uuid[] := coalesce(
    jobtree.jobs_of_operation(p_operation), case when p_limit is null then jobtree.few_jobs(p_operation.types, p_operation.tenant) end
  );
begin
  if p_limit is null then
    perform set_config('enable_sort', 'on', true);
  end if;
  return query
  select d.job_id, d.position, j.root_id
  from jobtree.dead_letter d
  join jobtree.job j on j.id = d.job_id
  where (d.job_id, d.position) > (p_after_job_id, p_after_position)
    and d.died_at <= p_operation.requested_at
    and (p_operation.kind <> 'REPLAY' or j.cancelled_at is null and not exists (
      select from jobtree.tree_deletion t where t.root_id = j.root_id
    ))
    and (v_jobs is null or d.job_id = any (v_jobs))
    and (p_operation.item_positions is null or d.position = any (p_operation.item_positions))
    and (p_operation.tenant is null or d.type > p_operation.tenant || '//' and d.type < p_operation.tenant || '/0')
    and (p_operation.types is null or d.type = any (p_operation.types))
    and (p_operation.codes is null or d.code = any (p_operation.codes))
    and (p_operation.fingerprints is null or d.fingerprint = any (p_operation.fingerprints))
    and (p_operation.died_from is null or d.died_at >= p_operation.died_from)
    and (p_operation.died_until is null or d.died_at < p_operation.died_until)
    and (p_operation.dedupe_keys is null or exists (
      select from jobtree.job_item i
      where i.job_id = d.job_id and i.position = d.position and i.dedupe_key = any (p_operation.dedupe_keys)
    ))
    and (p_operation.item_job_ids is null or exists (
      select from unnest(p_operation.item_job_ids, p_operation.item_positions) u(job_id, position)
      where u.job_id = d.job_id and u.position = d.position
    ))
  order by d.job_id, d.position
  limit p_limit;
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
  v_now constant timestamptz := clock_timestamp();
  v_jobs constant uuid[] := case
    when p_last_job_id is null then
      coalesce(jobtree.jobs_of_operation(p_operation), jobtree.few_jobs(p_operation.types, p_operation.tenant))
    when p_last_job_id = p_operation.next_job_id then array[p_last_job_id]
  end;
  v_first constant bigint := coalesce((select min(u) from unnest(p_operation.item_positions) u), 0);
  v_end constant bigint := p_operation.before_position - 1;
  v_states constant text[] := p_operation.states;
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
  with entry as not materialized (
    select q.* from jobtree.queue_entry q where not v_by_type
    union all
    -- By the indexes of types: one has the ready entries, one all others.
    select q.* from jobtree.queue_entry q where v_by_type and q.run_at is null
    union all
    select q.* from jobtree.queue_entry q where v_by_type and q.run_at is not null
  ), held as not materialized (
    select * from (
      select * from jobtree.lease l where (v_jobs is null or p_last_job_id is not null) and l.deadline_at is not null offset 0
    ) l
    union all
    -- Not "deadline_at is not null": the index of live leases would be read as a whole.
    select * from jobtree.lease l where p_last_job_id is null and l.job_id = any (v_jobs) and l.open <> B'0'::bit(128)
  ), pending as (
    select q.job_id, q.position, q.count::integer as count, q.attempt, null::uuid as lease_id, false as blocked, ~B'0'::bit(128) as open
    from entry q
    where p_operation.kind = 'CANCEL'
      and (v_jobs is null or q.job_id = any (v_jobs)) and q.position > v_first - 128 and q.position <= v_end
      and (q.job_id, q.position) > (p_operation.next_job_id, p_operation.next_position - 127)
      and (p_last_job_id is null or (q.job_id, q.position) <= (p_last_job_id, p_last_position))
      and (p_operation.types is null or q.type = any (p_operation.types)) and (v_from is null or q.type > v_from and q.type < v_until)
      and (v_states is null or case
        when q.run_at = 'infinity' then 'WAITING' when q.run_at <= v_now or q.run_at is null then 'READY'
        when q.attempt > 1 then 'RETRYING' else 'SCHEDULED'
      end = any (v_states))
    union all
    select q.job_id, q.position, q.count, q.attempt, null, false, ~B'0'::bit(128)
    from entry q
    where p_operation.kind = 'PROMOTE'
      -- Written as in the index of the scheduled entries of each job.
      and coalesce(q.run_at, 'infinity') < 'infinity'
      and (v_jobs is null or q.job_id = any (v_jobs)) and q.position > v_first - 128 and q.position <= v_end
      and (q.job_id, q.position) > (p_operation.next_job_id, p_operation.next_position - 127)
      and (p_last_job_id is null or (q.job_id, q.position) <= (p_last_job_id, p_last_position))
      and (p_operation.types is null or q.type = any (p_operation.types)) and (v_from is null or q.type > v_from and q.type < v_until)
      and q.ready_at <= p_operation.requested_at
      and case when q.run_at <= v_now then 'READY' when q.attempt > 1 then 'RETRYING' else 'SCHEDULED' end = any (v_states)
    union all
    select l.job_id, l.position, l.count, l.attempt, l.id, false, l.open
    from held l
    where p_operation.kind = 'CANCEL'
      and (v_jobs is null or l.job_id = any (v_jobs)) and l.position > v_first - 128 and l.position <= v_end
      and (l.job_id, l.position) > (p_operation.next_job_id, p_operation.next_position - 127)
      and (p_last_job_id is null or (l.job_id, l.position) <= (p_last_job_id, p_last_position))
      and (v_states is null or 'HELD' = any (v_states))
    union all
    select b.job_id, b.position, 1, b.attempt, null, true, ~B'0'::bit(128)
    from jobtree.blocked_item b
    where p_operation.kind = 'CANCEL'
      and (v_jobs is null or b.job_id = any (v_jobs)) and b.position >= v_first and b.position <= v_end
      and (b.job_id, b.position) > (p_operation.next_job_id, p_operation.next_position)
      and (p_last_job_id is null or (b.job_id, b.position) <= (p_last_job_id, p_last_position))
      and (p_operation.types is null or b.type = any (p_operation.types)) and (v_from is null or b.type > v_from and b.type < v_until)
      and (v_states is null or 'BLOCKED' = any (v_states))
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
  select f.job_id, f.position, f.count, f.attempt, f.lease_id, f.blocked, f.matching from found f where bit_count(f.matching) > 0;
end
$$;

-- Removes what an item that is given back again and again would leave behind: of the ended leases that began with the same item, all but the
-- last twenty and those under which an item succeeded, failed for good, or failed in a way that is kept.
--
-- p_ids      leases that this transaction has just changed; those that are still open are passed by
-- locks      the leases that it removes, skipping locked ones
create or replace function jobtree.prune_leases(p_ids uuid[])
returns void
language sql volatile
set jit = off
set enable_seqscan = off
set enable_bitmapscan = off
set enable_hashjoin = off
set enable_mergejoin = off
as $$
  delete from jobtree.lease d where d.id = any (array(
    select o.id
    from (select distinct l.job_id, l.position from jobtree.lease l where l.id = any (p_ids) and l.deadline_at is null) e
    cross join lateral (
      select l.id, l.count, l.attempt, l.deadline_at from jobtree.lease l
      where l.job_id = e.job_id and l.position = e.position
      order by l.id desc
      offset 20
    ) o
    cross join lateral (
      select from jobtree.lease l
      where l.id = o.id and l.deadline_at is null
        and not exists (
          select from jobtree.outcome r
          where r.job_id = e.job_id and r.position >= e.position and r.position < e.position + o.count and r.lease_id = o.id
        )
        and not exists (
          select from jobtree.failure f
          where f.job_id = e.job_id and f.position >= e.position and f.position < e.position + o.count and f.attempt = o.attempt
            and f.lease_id = o.id
        )
      for update skip locked
    ) k
  ))
$$;

-- Looks at the next notes about groups of dead letters: records since when a group has none left, and removes notes of groups that have had
-- none, whenever they were looked at, for 30 days.
--
-- p_after    the note to continue after, by its fingerprint; null to start over
-- p_limit    at how many notes it looks
-- returns    the last note it looked at; null at the end
-- locks      the notes that it changes, skipping locked ones
create or replace function jobtree.prune_notes(p_after uuid default null, p_limit integer default 1000)
returns uuid
language plpgsql volatile
set jit = off
set enable_seqscan = off
set enable_bitmapscan = off
set enable_hashjoin = off
set enable_mergejoin = off
set plan_cache_mode = force_generic_plan
as $$
declare
  v_fingerprints uuid[];
begin
  v_fingerprints := array(
    select n.fingerprint from jobtree.dead_letter_note n
    where n.fingerprint > coalesce(p_after, '00000000-0000-0000-0000-000000000000')
    order by n.fingerprint
    limit p_limit
  );
  with changed as materialized (
    select n.fingerprint, n.empty_since, f.is_empty
    from jobtree.dead_letter_note n
    cross join lateral (
      select not exists (select from jobtree.dead_letter d where d.fingerprint = n.fingerprint) as is_empty offset 0
    ) f
    where n.fingerprint = any (v_fingerprints)
      and (f.is_empty <> (n.empty_since is not null) or f.is_empty and n.empty_since < clock_timestamp() - interval '30 days')
    for update of n skip locked
  ), noted as (
    update jobtree.dead_letter_note n set empty_since = case when c.is_empty then clock_timestamp() end
    from changed c
    where n.fingerprint = c.fingerprint and c.is_empty <> (c.empty_since is not null)
  )
  delete from jobtree.dead_letter_note n
  using changed c
  where n.fingerprint = c.fingerprint and c.is_empty and c.empty_since is not null;
  return case when cardinality(v_fingerprints) = p_limit then v_fingerprints[p_limit] end;
end
$$;

-- Removes finished operations that were requested more than 30 days ago, up to p_limit.
--
-- returns    how many
-- locks      old operations, skipping locked ones
create or replace function jobtree.prune_operations(p_limit integer default 1000)
returns integer
language sql volatile
set jit = off
set enable_seqscan = off
as $$
  with old as (
    select o.id from jobtree.operation o
    -- Their ids begin with the time of their creation.
    where o.id < (lpad(to_hex((extract(epoch from now() - interval '30 days') * 1000)::bigint), 12, '0') || repeat('0', 20))::uuid
      and o.finished_at is not null
    order by o.id
    limit p_limit
    for update skip locked
  ), gone as (
    delete from jobtree.operation o where o.id = any (array(select k.id from old k)) returning o.id
  )
  select count(*)::integer from gone
$$;

-- How many items of each type wait and run, by name, for types that have any. Sums up ranges of items and open leases, so the cost does not
-- depend on how many items are finished.
--
-- p_types    only these; null for all
-- p_after    only types whose names come after this one
-- returns    the items that are ready, scheduled, waiting for other jobs, blocked behind their serialize keys, and held by workers; and for
--            how long the oldest ready item has been ready, in milliseconds: null if none is ready
create or replace function jobtree.queue_depths(p_types text[] default null, p_after text default null)
returns table (
  type text, ready bigint, scheduled bigint, waiting bigint, blocked bigint, running bigint, oldest_ready_ms bigint
)
language plpgsql stable
set jit = off
-- A custom plan drops the conditions that are not wanted.
set plan_cache_mode = force_custom_plan
as $$
#variable_conflict use_column
declare
  v_jobs constant uuid[] := jobtree.few_jobs(p_types, null);
begin
  return query
  with entry as (
    select q.* from jobtree.queue_entry q where p_types is null and (p_after is null or q.type > p_after)
    union all
    -- By the indexes of types: one has the ready entries, one all others.
    select q.* from jobtree.queue_entry q where q.type = any (p_types) and (p_after is null or q.type > p_after) and q.run_at is null
    union all
    select q.* from jobtree.queue_entry q where q.type = any (p_types) and (p_after is null or q.type > p_after) and q.run_at is not null
  ), entries as (
    select q.type, coalesce(sum(q.count) filter (where q.run_at is null), 0)::bigint as ready,
      coalesce(sum(q.count) filter (where q.run_at < 'infinity'), 0)::bigint as scheduled,
      coalesce(sum(q.count) filter (where q.run_at = 'infinity'), 0)::bigint as waiting,
      min(q.ready_at) filter (where q.run_at is null) as since
    from entry q
    group by q.type
  ), held as (
    select j.type, sum(h.items)::bigint as running
    from (
      select l.job_id, sum(bit_count(l.open)) as items from jobtree.lease l
      where l.deadline_at is not null and (v_jobs is null or l.job_id = any (v_jobs))
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
  select type, coalesce(e.ready, 0), coalesce(e.scheduled, 0), coalesce(e.waiting, 0), coalesce(b.blocked, 0), coalesce(h.running, 0),
    case when e.since is not null then greatest(extract(epoch from clock_timestamp() - e.since) * 1000, 0)::bigint end
  from entries e full join held h using (type) full join behind b using (type)
  order by type;
end
$$;

-- Gives items back unfinished, to their old place, where they can be claimed at once. Costs no attempt: a deploy is no failure.
--
-- returns    for each assignment RELEASED, or STALE if it holds no item (any more), with the type and the place of what came back
-- locks      the leases, in the order of their ids
create or replace function jobtree.release_assignments(p_ids uuid[])
returns table (assignment_id uuid, status text, type text, priority smallint, place bigint)
language plpgsql volatile
set jit = off
set enable_seqscan = off
set enable_bitmapscan = off
set enable_hashjoin = off
set enable_mergejoin = off
set plan_cache_mode = force_generic_plan
as $$
#variable_conflict use_column
declare
  v_given record;
begin
  perform from jobtree.lease l where l.id = any (array(select jobtree.lease_id(u) from unnest(p_ids) u)) order by l.id for update;

  with given as materialized (
    select distinct on (l.id, a.number) u.id, a.number, l.id as lease_id, l.job_id, l.position + a.number - 1 as position, l.attempt, l.priority,
      j.type
    from unnest(p_ids) u(id)
    cross join lateral (select jobtree.assignment_number(u.id) as number) a
    join jobtree.lease l on l.id = jobtree.lease_id(u.id)
    join jobtree.job j on j.id = l.job_id
    where case when a.number > 0 then get_bit(l.open, a.number - 1) = 1 end and j.cancelled_at is null
    order by l.id, a.number
  ), closed as (
    update jobtree.lease l
    set open = l.open # g.bits, deadline_at = case when l.open <> g.bits then l.deadline_at end
    from (select g.lease_id, bit_or(jobtree.bit_at(g.number)) as bits from given g group by g.lease_id) g
    where l.id = g.lease_id
  )
  select jsonb_object_agg(g.id, jsonb_build_array(g.type, g.priority, g.position)) as by_id,
    array_agg(g.job_id) as job_ids, array_agg(g.position) as positions,
    array_agg(g.attempt) as attempts, array_agg(g.priority) as priorities
  into v_given
  from given g;

  perform jobtree.requeue(v_given.job_ids, v_given.positions, v_given.attempts, v_given.priorities, null, false);
  perform jobtree.prune_leases(array(select jobtree.lease_id(u) from unnest(p_ids) u));
  return query
  select u.id, case when g.given is null then 'STALE' else 'RELEASED' end, g.given ->> 0, (g.given ->> 1)::smallint, (g.given ->> 2)::bigint
  from unnest(p_ids) with ordinality u(id, n)
  cross join lateral (select v_given.by_id -> u.id::text as given offset 0) g
  order by u.n;
end
$$;

-- Gives items back to be tried later: each is scheduled, and its next attempt has the number of this one. It is not a failure, and nothing
-- remains of it but the lease, for a while (prune_leases).
--
-- p_lease_ids, p_numbers   assignments whose leases this transaction has locked, none twice
-- p_delays   how long each waits, in milliseconds
-- returns    which of them counted, from 1, and when each of these is due; those that are not open, or whose job is cancelled, don't count
-- locks      those of prune_leases
create or replace function jobtree.snooze_attempts(p_lease_ids uuid[], p_numbers integer[], p_delays bigint[])
returns table (accepted integer[], due_at timestamptz[])
language plpgsql volatile
set jit = off
set enable_seqscan = off
set enable_bitmapscan = off
set enable_hashjoin = off
set enable_mergejoin = off
set plan_cache_mode = force_generic_plan
as $$
declare
  v_now constant timestamptz(3) := clock_timestamp();
  v_given record;
begin
  if p_lease_ids is null then
    return;
  end if;

  with given as materialized (
    select u.n::integer as n, l.id as lease_id, u.number, l.job_id, l.position + u.number - 1 as position, l.attempt, l.priority,
      v_now + u.delay * interval '1 millisecond' as due_at
    from unnest(p_lease_ids, p_numbers, p_delays) with ordinality u(lease_id, number, delay, n)
    join jobtree.lease l on l.id = u.lease_id
    join jobtree.job j on j.id = l.job_id
    where case when u.number > 0 then get_bit(l.open, u.number - 1) = 1 end and j.cancelled_at is null
  ), closed as (
    update jobtree.lease l
    set open = l.open # g.bits, deadline_at = case when l.open <> g.bits then l.deadline_at end
    from (select g.lease_id, bit_or(jobtree.bit_at(g.number)) as bits from given g group by g.lease_id) g
    where l.id = g.lease_id
  )
  select array_agg(g.n) as ns, array_agg(g.job_id) as job_ids, array_agg(g.position) as positions, array_agg(g.attempt) as attempts,
    array_agg(g.priority) as priorities, array_agg(g.due_at) as due
  into v_given
  from given g;

  perform jobtree.requeue(v_given.job_ids, v_given.positions, v_given.attempts, v_given.priorities, v_given.due, true);
  perform jobtree.prune_leases(p_lease_ids);
  return query select v_given.ns, v_given.due;
end
$$;
