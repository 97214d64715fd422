drop routine jobtree.claim_item(uuid,bigint,text,boolean);
drop routine jobtree.claim_items(text[],text[],integer[],uuid[],text[],integer[],integer[],bigint[],boolean);
drop routine jobtree.exchange(uuid[],integer[],json,uuid[],integer[],json,json,text[],text[],integer[],uuid[],text[],integer[],integer[],bigint[]);
drop routine jobtree.keep_leases(uuid[],bit[]);
drop routine jobtree.lease_entries(tid[],integer[],integer[],integer[],text[],uuid[]);
drop routine jobtree.lease_entry(tid,integer,integer,integer,text,uuid);
drop routine jobtree.put_back(uuid,bigint,bigint,bigint,integer,integer,smallint,text,boolean,timestamp with time zone,integer,integer);
drop routine jobtree.release_assignments(uuid[]);
drop routine jobtree.repeat_claim(uuid,text);
drop routine jobtree.requeue(uuid[],bigint[],integer[],smallint[],timestamp with time zone[],boolean);
drop routine jobtree.sweep_leases(timestamp with time zone,integer,interval);

-- AlterTable
ALTER TABLE "jobtree"."lease" ADD COLUMN     "lost" BOOLEAN NOT NULL DEFAULT false,
ADD COLUMN     "waiting" BIT(128);

-- AlterTable
ALTER TABLE "jobtree"."queue_entry" ADD COLUMN     "lost" BOOLEAN NOT NULL DEFAULT false;

set local check_function_bodies = off;

-- Gives a named item to a worker, regardless of what is ahead of it in the queue. An item that is due counts as ready, whether promoted or
-- not. A pause and the limits of its type apply.
--
-- p_durable  as claim_items has it
-- returns    as lease_entries, one row
-- locks      the row of queue, if the type has a limit; the queue entry that has the item
-- errors     JT001 no such item; JT005 it can't be claimed, with the reason in the error's detail: HELD, SCHEDULED, WAITING, BLOCKED,
--            SUCCEEDED, FAILED, CANCELLED, PAUSED or LIMITED
create or replace function jobtree.claim_item(p_job_id uuid, p_position bigint, p_worker text, p_durable boolean default true)
returns table (
  lease_id uuid, request integer, job_id uuid, root_id uuid, type text, first_position bigint, attempt integer, worker text,
  heartbeat_interval_ms integer, claimed_at timestamptz, deadline_at timestamptz, priority smallint, place bigint,
  has_rest boolean, numbers integer[], payloads text, ready_at timestamptz, last_numbers integer[], keyed boolean, lost boolean
)
language plpgsql volatile
set jit = off
set enable_seqscan = off
set enable_bitmapscan = off
set plan_cache_mode = force_generic_plan
as $$
declare
  v_entry record;
  v_state text;
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
        select l.* from jobtree.lease_entry(v_entry.tid, (p_position - v_entry.position)::integer, 1, 1, p_worker, null, null) l;
      exit when found;
    elsif found then
      return query
        with given as materialized (
          select l.* from jobtree.lease_entry(v_entry.tid, (p_position - v_entry.position)::integer, 1, 1, p_worker, null, null) l
        ), noted as materialized (
          select jobtree.note_claims(array_agg(g.lease_id), array_agg(g.type)) from given g
        )
        select g.* from given g, noted;
      exit when found;
    end if;

    select s.state into v_state from jobtree.item_state s where s.job_id = p_job_id and s.position = p_position;
    if v_state is null then
      raise exception 'There is no item % of job %.', p_position, p_job_id using errcode = 'JT001', column = 'itemId';
    end if;
    if v_state = 'READY' and v_room = 0 then
      raise exception 'Item % of job % can''t be claimed: its queue is %.', p_position, p_job_id,
        case when v_queue.paused then 'paused' else 'at its limit' end
        using errcode = 'JT005', column = 'itemId', detail = case when v_queue.paused then 'PAUSED' else 'LIMITED' end;
    end if;
    -- If it is READY, another transaction has split its entry meanwhile: look again.
    if v_state <> 'READY' then
      raise exception 'Item % of job % can''t be claimed: its state is %.', p_position, p_job_id, v_state
        using errcode = 'JT005', column = 'itemId', detail = v_state;
    end if;
  end loop;
end
$$;

-- Gives ready items to workers: of each type by descending priority, then in the order in which they became ready. The payloads of an
-- answer have about 32 MB at most, since it must fit into memory, but there is at least one entry. A claim that gets less than it asked for
-- has looked at every priority.
--
-- p_workers, p_types, p_limits   who asks for how many items of which type, an element for each request; of several requests for one type
--            the first gets the first items
-- p_claim_ids   the claim id of each request: a UUID of version 7 with a time within a day of now; null for none. A claim that was carried
--            out before returns those of its items that are not finished, and nothing new
-- p_range_types, p_range_highs, p_range_lows, p_range_places
--            where to look: for each type, in order, from a priority and a place in it down to another priority. Callers remember, for each
--            type and priority, the place before which they saw nothing claimable, and look there now and then for entries that committed
--            late or came back. Without ranges each type is read from its start, past every dead row
-- p_starts   how many of its items each request starts as soon as it has them, from the first; the others wait until a heartbeat says that they
--            have been started. Of items that were lost before none counts as started. Null for all
-- p_durable  whether an answered claim survives a crash of Postgres. If not, the commit does not wait for the disk: items whose claim a
--            crash forgets are ready again, and reports on them are STALE. Claims of limited types are always durable
-- returns    as lease_entries, and a kind: NEW; CUT if the size limit excluded further items, which other claims may then have skipped;
--            LOCKED if the remaining entries were locked for longer than a claim waits; REPEATED for the leases of a repeated claim. Rows
--            without a lease follow: of kind LIMITED for each type whose queue has no more room (lock_queues), with now in claimed_at and
--            when to ask again in deadline_at; TAKEN for each type that another claim is deciding about: ask again; and KEYED for each type
--            that gave items with serialize keys, since the end of one may make the next ready
-- locks      rows of queue, of limited types only, and then queue entries; both skipped where another claim has locked them
-- errors     JT002 a limit below 1, arrays of different lengths, a claim id whose time is too far away, or a repeated claim of another worker; JT006 a repeated claim
--            must be sent alone
create or replace function jobtree.claim_items(
  p_workers text[], p_types text[], p_limits integer[], p_claim_ids uuid[] default '{}',
  p_range_types text[] default '{}', p_range_highs integer[] default '{}', p_range_lows integer[] default '{}',
  p_range_places bigint[] default '{}',
  p_starts integer[] default '{}',
  p_durable boolean default true
)
returns table (
  lease_id uuid, request integer, job_id uuid, root_id uuid, type text, first_position bigint, attempt integer, worker text,
  heartbeat_interval_ms integer, claimed_at timestamptz, deadline_at timestamptz, priority smallint, place bigint,
  has_rest boolean, numbers integer[], payloads text, ready_at timestamptz, last_numbers integer[], keyed boolean, lost boolean, kind text
)
language plpgsql volatile
set jit = off
set enable_seqscan = off
set enable_bitmapscan = off
set plan_cache_mode = force_generic_plan
as $$
declare
  -- How long it waits for an entry that another claim has locked, so that a claim doesn't miss what that one leaves of the entry.
  v_until constant timestamptz := clock_timestamp() + interval '50 milliseconds';
  v_entries cursor (c_type text, c_high integer, c_low integer, c_place bigint, c_taken tid[]) for
    select q.ctid as tid, q.count, q.bytes, q.keyed from jobtree.queue_entry q
    where q.type = c_type and q.run_at is null
      and (-q.priority::integer, q.place) >= (-c_high, c_place) and -q.priority::integer <= -c_low
      and q.ctid <> all (c_taken)
    order by -q.priority::integer, q.place
    for update skip locked;
  v_types text[] := p_range_types;
  v_highs integer[] := p_range_highs;
  v_lows integer[] := p_range_lows;
  v_places bigint[] := p_range_places;
  v_first integer := 1;
  v_last integer;
  v_type text;
  v_entry record;
  v_bytes bigint := 0;
  v_kind text := 'NEW';
  v_locked tid;
  -- The requests of a type, in turn, and how much the one whose turn it is still wants.
  v_asking integer[];
  v_turn integer;
  v_left integer;
  v_from integer;
  v_count integer;
  v_tids tid[] := '{}';
  v_froms integer[] := '{}';
  v_counts integer[] := '{}';
  v_requests integer[] := '{}';
  -- Of limited types: how many items may be claimed, null if another claim is deciding; and when to look again.
  v_limited text[];
  v_rooms integer[];
  v_again integer[];
  v_room integer;
  v_is_keyed boolean;
  v_keyed text[];
begin
  if (1 <= all (p_limits)) is not true then
    raise exception 'limits must be whole numbers of at least 1.' using errcode = 'JT002', column = 'limits';
  elsif (
    cardinality(p_workers) = cardinality(p_types) and cardinality(p_limits) = cardinality(p_types)
    and cardinality(p_claim_ids) in (0, cardinality(p_types)) and cardinality(p_starts) in (0, cardinality(p_types))
  ) is not true then
    raise exception 'workers, types, limits, claim ids and starts must have one element for each request.' using errcode = 'JT002', column = 'types';
  end if;
  if exists (
    select from jobtree.queue q where q.type = any (p_types) and (q.paused or q.concurrency is not null or q.rate_limit is not null)
  ) then
    v_limited := '{}';
  elsif not p_durable then
    perform set_config('synchronous_commit', 'off', true);
  end if;
  if cardinality(p_claim_ids) > 0 and jobtree.is_repeated(p_claim_ids) then
    return query select r.*, 'REPEATED' from jobtree.repeat_claim(p_claim_ids[1], p_workers[1]) r;
    return;
  end if;
  if v_limited is not null then
    select array_agg(l.type), array_agg(l.room), array_agg(l.again_in_ms) into v_limited, v_rooms, v_again
    from jobtree.lock_queues(p_types) l;
  end if;

  if cardinality(v_types) = 0 then
    select array_agg(t.type order by t.n), array_agg(32767), array_agg(-32768), array_agg(0) into v_types, v_highs, v_lows, v_places
    from (select w.type, min(w.n) as n from unnest(p_types) with ordinality w(type, n) group by w.type) t;
  end if;
  if cardinality(v_types) > 8 then
    -- One query for all types costs less than a cursor for each.
    select coalesce(array_agg(r.type order by r.n), '{}'), array_agg(r.high order by r.n), array_agg(r.low order by r.n),
      array_agg(r.place order by r.n)
    into v_types, v_highs, v_lows, v_places
    from unnest(v_types, v_highs, v_lows, v_places) with ordinality r(type, high, low, place, n)
    where exists (
      select from jobtree.queue_entry q
      where q.type = r.type and q.run_at is null
        and (-q.priority::integer, q.place) >= (-r.high, r.place) and -q.priority::integer <= -r.low
      -- Forces a probe for each range instead of a join: the queue may be larger than the statistics say.
      offset 0
    );
  end if;

  while v_first <= cardinality(v_types) and v_kind <> 'CUT' loop
    v_type := v_types[v_first];
    v_last := v_first;
    while v_types[v_last + 1] = v_type loop
      v_last := v_last + 1;
    end loop;
    v_asking := array_positions(p_types, v_type);
    v_turn := 1;
    v_is_keyed := false;
    v_room := case when v_type = any (v_limited) then coalesce(v_rooms[array_position(v_limited, v_type)], 0) end;
    v_left := case when v_room = 0 then null else p_limits[v_asking[1]] end;

    loop
      for v_range in v_first .. v_last loop
        exit when v_left is null or v_kind = 'CUT';
        open v_entries(v_type, v_highs[v_range], v_lows[v_range], v_places[v_range], v_tids);
        loop
          exit when v_left is null;
          fetch v_entries into v_entry;
          exit when not found;
          if v_bytes > 0 and v_bytes + v_entry.bytes > 32000000 then
            v_kind := 'CUT';
            exit;
          end if;
          v_bytes := v_bytes + v_entry.bytes;
          v_is_keyed := v_is_keyed or v_entry.keyed;
          v_from := 0;
          while v_from < v_entry.count and v_left is not null loop
            v_count := least(v_left, v_entry.count - v_from, v_room);
            v_tids := v_tids || v_entry.tid;
            v_froms := v_froms || v_from;
            v_counts := v_counts || v_count;
            v_requests := v_requests || v_asking[v_turn];
            v_from := v_from + v_count;
            v_left := v_left - v_count;
            if v_left = 0 then
              v_turn := v_turn + 1;
              v_left := p_limits[v_asking[v_turn]];
            end if;
            v_room := v_room - v_count;
            if v_room = 0 then
              v_left := null;
              v_rooms[array_position(v_limited, v_type)] := 0;
            end if;
          end loop;
        end loop;
        close v_entries;
      end loop;
      exit when v_left is null or v_kind = 'CUT';

      select e.tid into v_locked
      from unnest(v_highs[v_first:v_last], v_lows[v_first:v_last], v_places[v_first:v_last]) r(high, low, place)
      cross join lateral (
        select q.ctid as tid from jobtree.queue_entry q
        where q.type = v_type and q.run_at is null
          and (-q.priority::integer, q.place) >= (-r.high, r.place) and -q.priority::integer <= -r.low
          and q.ctid <> all (v_tids)
        limit 1
      ) e
      limit 1;
      exit when not found;
      if not jobtree.wait_for_entry(v_locked, v_until) then
        v_kind := 'LOCKED';
        exit;
      end if;
    end loop;
    if v_is_keyed then
      v_keyed := v_keyed || v_type;
    end if;
    v_first := v_last + 1;
  end loop;

  if cardinality(v_tids) > 0 and v_limited is not null then
    return query
      with given as materialized (
        select h.* from jobtree.lease_entries(v_tids, v_froms, v_counts, v_requests, p_workers, p_claim_ids, p_starts) h
      ), noted as materialized (
        select jobtree.note_claims(array_agg(g.lease_id), array_agg(g.type)) from given g where g.type = any (v_limited)
      )
      select g.*, v_kind from given g, noted;
  elsif cardinality(v_tids) = 1 then
    return query
      select h.*, v_kind
      from jobtree.lease_entry(
        v_tids[1], 0, v_counts[1], v_requests[1], p_workers[v_requests[1]], p_claim_ids[v_requests[1]], p_starts[v_requests[1]]
      ) h;
  elsif cardinality(v_tids) > 0 then
    return query
      select h.*, v_kind
      from jobtree.lease_entries(v_tids, v_froms, v_counts, v_requests, p_workers, p_claim_ids, p_starts) h;
  elsif v_kind = 'LOCKED' then
    return query select null::uuid, null::integer, null::uuid, null::uuid, null::text, null::bigint, null::integer, null::text,
      null::integer, null::timestamptz, null::timestamptz, null::smallint, null::bigint, null::boolean, null::integer[], null::text, null::timestamptz, null::integer[], null::boolean, null::boolean, v_kind;
  end if;
  if v_limited is not null then
    return query
      select null::uuid, null::integer, null::uuid, null::uuid, l.type, null::bigint, null::integer, null::text, null::integer,
        n.now, n.now + l.again_in_ms * interval '1 millisecond', null::smallint, null::bigint, null::boolean, null::integer[], null::text, null::timestamptz, null::integer[], null::boolean, null::boolean,
        case when l.room is null then 'TAKEN' else 'LIMITED' end
      from unnest(v_limited, v_rooms, v_again) l(type, room, again_in_ms), (select clock_timestamp() as now) n
      where coalesce(l.room, 0) = 0;
  end if;
  if v_keyed is not null then
    return query
      select null::uuid, null::integer, null::uuid, null::uuid, k.type, null::bigint, null::integer, null::text, null::integer,
        null::timestamptz, null::timestamptz, null::smallint, null::bigint, null::boolean, null::integer[], null::text, null::timestamptz, null::integer[], null::boolean, null::boolean,
        'KEYED'
      from unnest(v_keyed) k(type);
  end if;
end
$$;

-- Accepts outcomes and gives out new work in one transaction: what a worker does all the time, in one round trip and with one wait
-- for the disk. First the reports, as in report_results, then the claims, as in claim_items.
--
-- p_lease_ids … p_others   as report_results takes them
-- p_workers … p_starts   as claim_items takes them; the claims are durable, like the reports
-- returns    one row for the reports, of kind REPORTED, with what report_results returns; then those of claim_items
-- locks      those of report_results, skipping locked ones, then those of claim_items
-- errors     those of claim_items, and then no report counts
create or replace function jobtree.exchange(
  p_lease_ids uuid[], p_numbers integer[], p_results json,
  p_failed_lease_ids uuid[], p_failed_numbers integer[], p_failures json, p_others json,
  p_workers text[], p_types text[], p_limits integer[], p_claim_ids uuid[],
  p_range_types text[], p_range_highs integer[], p_range_lows integer[], p_range_places bigint[],
  p_starts integer[]
)
returns table (
  lease_id uuid, request integer, job_id uuid, root_id uuid, type text, first_position bigint, attempt integer, worker text,
  heartbeat_interval_ms integer, claimed_at timestamptz, deadline_at timestamptz, priority smallint, place bigint,
  has_rest boolean, numbers integer[], payloads text, ready_at timestamptz, last_numbers integer[], keyed boolean, lost boolean, kind text, root_ids uuid[], ready jsonb,
  answers json, figures json[], failed json[]
)
language plpgsql volatile
set plan_cache_mode = force_generic_plan
as $$
#variable_conflict use_column
declare
  v_reported record;
begin
  select * into v_reported from jobtree.report_results(
    p_lease_ids, p_numbers, p_results, p_failed_lease_ids, p_failed_numbers, p_failures, p_others, false
  );
  kind := 'REPORTED';
  root_ids := v_reported.root_ids;
  ready := v_reported.ready;
  answers := v_reported.answers;
  figures := v_reported.figures;
  failed := v_reported.failed;
  return next;
  return query
    select c.*, null::uuid[], null::jsonb, null::json, null::json[], null::json[]
    from jobtree.claim_items(
      p_workers, p_types, p_limits, p_claim_ids, p_range_types, p_range_highs, p_range_lows, p_range_places, p_starts, true
    ) c;
end
$$;

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
  end if;
  if v_ended.positions is not null then
    perform jobtree.requeue(v_ended.job_ids, v_ended.positions, v_ended.attempts, v_ended.priorities, v_ended.waits, true,
      case when p_lost then array_fill(true, array[cardinality(v_ended.positions)]) end);
  end if;
  return query select v_ended.root_ids, jobtree.add_up(v_ended.ready, v_freed), v_ended.ns, v_ended.due, v_ended.figures, v_ended.failed;
end
$$;

-- Keeps assignments alive: the deadline of each moves to three heartbeat intervals from now. All of them count as started.
--
-- returns    for each assignment HELD, FINISHED (its outcome was reported), CANCELLED, or LOST (unknown, released or taken back); unless it
--            is HELD, the worker must stop working on it
-- locks, durability   those of keep_leases
create or replace function jobtree.heartbeat(p_ids uuid[])
returns table (assignment_id uuid, status text)
language plpgsql volatile
set plan_cache_mode = force_generic_plan
as $$
begin
  return query
  with given as materialized (
    select u.id, u.n, jobtree.lease_id(u.id) as lease_id, jobtree.assignment_number(u.id) as number
    from unnest(p_ids) with ordinality u(id, n)
  ), leases as (
    select array_agg(l.lease_id) as ids, array_agg(l.named) as named
    from (
      select g.lease_id, bit_or(jobtree.bit_at(g.number)) as named from given g where g.number > 0 group by g.lease_id
    ) l
  ), ended as materialized (
    select k.* from leases l cross join lateral jobtree.keep_leases(l.ids, l.named, l.named) k
  )
  select g.id, case when g.number = 0 then 'LOST' else coalesce(e.status, 'HELD') end
  from given g
  left join ended e on e.lease_id = g.lease_id and e.number = g.number
  order by g.n;
end
$$;

-- Keeps leases alive: the deadline of each moves to three heartbeat intervals from now. If only some of a lease's open items are named,
-- those get deadlines of their own, and the others keep theirs.
--
-- p_lease_ids, p_named, p_started   leases, none twice; a mask of the items that are named in each: bit_at; and of those that the worker has
--            started
-- returns    the named assignments that are not HELD, with their status: assignment_status
-- locks      leases in the order of their ids, skipping locked ones: these count as held, and nobody can take them back meanwhile
-- durability the commit does not wait for the disk: losing a heartbeat costs at most the lease
create or replace function jobtree.keep_leases(p_lease_ids uuid[], p_named bit(128)[], p_started bit(128)[])
returns table (lease_id uuid, number integer, status text)
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
  v_none constant bit(128) := B'0'::bit(128);
  v_ended uuid[];
  v_ended_named bit(128)[];
begin
  perform set_config('synchronous_commit', 'off', true);

  with kept as materialized (
    select k.*, u.named, u.started
    from (select u.* from unnest(p_lease_ids, p_named, p_started) u(id, named, started) order by u.id) u
    cross join lateral (
      select l.id, l.open, l.deadlines, l.deadline_at, l.count, v_now + 3 * j.heartbeat_interval_ms * interval '1 millisecond' as next
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
  set heartbeat_at = v_now, deadline_at = case when m.whole then m.next else d.first end,
    deadlines = case when not m.whole then d.deadlines end, waiting = l.waiting & ~m.started
  from moved m
  left join lateral (
    select array_agg(d.at order by d.n) as deadlines, min(d.at) as first
    from (
      select n, case
          when get_bit(m.open, n - 1) = 0 then null
          when get_bit(m.named, n - 1) = 1 then m.next
          else coalesce(m.deadlines[n], m.deadline_at)
        end::timestamptz(3) as at
      from generate_series(1, m.count) n
    ) d
  ) d on not m.whole
  where l.id = m.id;

  -- Nearly always, every named item is held.
  select array_agg(u.id), array_agg(u.named) into v_ended, v_ended_named
  from unnest(p_lease_ids, p_named) u(id, named)
  left join lateral (select l.open, l.job_id from jobtree.lease l where l.id = u.id offset 0) l on true
  left join lateral (select j.cancelled_at from jobtree.job j where j.id = l.job_id offset 0) j on true
  where (l.open & u.named) is distinct from u.named or j.cancelled_at is not null;
  if v_ended is not null then
    return query
      select s.id, s.n, s.status
      from (
        select u.id, n, jobtree.assignment_status(u.id, n) as status
        from unnest(v_ended, v_ended_named) u(id, named)
        cross join lateral generate_series(1, 128) n
        where get_bit(u.named, n - 1) = 1
        offset 0
      ) s
      where s.status <> 'HELD';
  end if;
end
$$;

-- Turns queue entries, or the first parts of them, into leases: the second half of claim_items, if one entry is not enough.
--
-- p_tids, p_froms, p_counts, p_requests
--            the parts, an element for each: where its entry is, in a row that this transaction has locked; its first item in the entry,
--            from 0, with no gap between parts of one entry; how many items; and for which request. The rest of an entry goes back to its
--            place in the queue
-- p_workers, p_claim_ids, p_starts   of the requests: the worker; the claim id, if any; and how many items it starts at once, as claim_items has it
-- returns    a row for each lease: the number of its request, from 1; whether items remain behind it in its entry; numbers, null for all of
--            its items; the payloads in order, as JSON texts separated by the record separator U+001E, which JSON can't contain; and the
--            numbers of the items that fail for good if this attempt fails, as last_attempts returns them
-- locks      none new. It deletes the entries, inserts leases, and adds a delta for a job that had not started. Entries of a cancelled job
--            are not leased but counted as cancelled
create or replace function jobtree.lease_entries(
  p_tids tid[], p_froms integer[], p_counts integer[], p_requests integer[], p_workers text[], p_claim_ids uuid[], p_starts integer[]
)
returns table (
  lease_id uuid, request integer, job_id uuid, root_id uuid, type text, first_position bigint, attempt integer, worker text,
  heartbeat_interval_ms integer, claimed_at timestamptz, deadline_at timestamptz, priority smallint, place bigint,
  has_rest boolean, numbers integer[], payloads text, ready_at timestamptz, last_numbers integer[], keyed boolean, lost boolean
)
language plpgsql volatile
set jit = off
set enable_seqscan = off
set enable_bitmapscan = off
set enable_hashjoin = off
set enable_mergejoin = off
set enable_material = off
set enable_memoize = off
set plan_cache_mode = force_generic_plan
as $$
declare
  -- With the precision of the columns.
  v_now constant timestamptz(3) := clock_timestamp();
  v_claim_id constant uuid := jobtree.new_id();
begin
  return query
  with taken as (
    -- Once for each entry, however many parts it has: searching a list of parts for each of them would take quadratic time.
    select u.tid, array_agg(u."from" order by u.n) as froms, array_agg(u.count order by u.n) as counts,
      array_agg(u.request order by u.n) as requests, array_agg(u.n order by u.n) as ns
    from unnest(p_tids, p_froms, p_counts, p_requests) with ordinality u(tid, "from", count, request, n)
    group by u.tid
  ), gone as (
    delete from jobtree.queue_entry q using taken t where q.ctid = t.tid
    returning q.*, t.tid, t.froms, t.counts, t.requests, t.ns
  ), wanted as materialized (
    select g.*, j.root_id, j.heartbeat_interval_ms, j.max_failures_per_item, j.cancelled_at, p.started_at
    from gone g
    join jobtree.job j on j.id = g.job_id
    cross join lateral (
      select p.started_at from jobtree.job_progress p where p.job_id = g.job_id order by p.version desc limit 1
    ) p
  ), part as materialized (
    select jobtree.new_lease_id(coalesce(p_claim_ids[u.request], v_claim_id)) as id, u.request, u.count, u.n,
      w.tid, w.job_id, w.root_id, w.type, w.position + u."from" as position, w.place + u."from" as place, w.attempt, w.priority, w.keyed,
      w.heartbeat_interval_ms, w.max_failures_per_item, u."from" + u.count < w.count as has_rest, i.payloads, i.bytes, w.ready_at, w.lost,
      w.count as entry_count, w.bytes as entry_bytes,
      p_starts[u.request] - (sum(u.count) over (partition by u.request order by u.n) - u.count)::integer as starts
    from wanted w
    cross join lateral unnest(w.froms, w.counts, w.requests, w.ns) u("from", count, request, n)
    cross join lateral (
      select string_agg(i.payload::text, E'\x1e') as payloads, sum(i.payload_bytes) as bytes
      from (
        select i.payload, i.payload_bytes from jobtree.job_item i
        where i.job_id = w.job_id and i.position >= w.position + u."from" and i.position < w.position + u."from" + u.count
        order by i.position
      ) i
    ) i
    where w.cancelled_at is null
  ), rest as (
    insert into jobtree.queue_entry (job_id, position, place, bytes, attempt, count, priority, type, keyed, ready_at, lost)
    select p.job_id, max(p.position + p.count), max(p.place + p.count), greatest(p.entry_bytes - sum(p.bytes), 0), p.attempt,
      p.entry_count - sum(p.count), p.priority, p.type, p.keyed, p.ready_at, p.lost
    from part p
    group by p.tid, p.job_id, p.entry_bytes, p.attempt, p.entry_count, p.priority, p.type, p.keyed, p.ready_at, p.lost
    having p.entry_count > sum(p.count)
  ), leased as (
    insert into jobtree.lease (
      id, job_id, claim_id, position, claimed_at, heartbeat_at, deadline_at, attempt, count, priority, open, worker, keyed, waiting, lost
    )
    select p.id, p.job_id, p_claim_ids[p.request], p.position, v_now, v_now,
      v_now + 3 * p.heartbeat_interval_ms * interval '1 millisecond', p.attempt, p.count, p.priority,
      (~B'0'::bit(128)) << (128 - p.count), p_workers[p.request], p.keyed,
      jobtree.waiting_bits(p.count, p.starts, p.lost), p.lost
    from part p
  ), ended as (
    insert into jobtree.cancellation (job_id, position, count, cancelled_at)
    select w.job_id, w.position, w.count, w.cancelled_at from wanted w where w.cancelled_at is not null
  ), counted as (
    insert into jobtree.progress_delta (root_id, job_id, started, cancelled)
    select w.root_id, w.job_id, bool_or(w.cancelled_at is null), coalesce(sum(w.count) filter (where w.cancelled_at is not null), 0)
    from wanted w
    where w.cancelled_at is not null or w.started_at is null
    group by w.root_id, w.job_id
  ), freed as (
    -- Leaves the keys to promote_blocked, as free_keys can.
    insert into jobtree.ended_head (job_id, position, key, held)
    select i.job_id, i.position, i.serialize_key, false
    from wanted w
    join jobtree.job_item i on i.job_id = w.job_id and i.position >= w.position and i.position < w.position + w.count
    where w.keyed and w.cancelled_at is not null
    on conflict on constraint ended_head_pkey do nothing
  )
  select p.id, p.request, p.job_id, p.root_id, p.type, p.position, p.attempt, p_workers[p.request], p.heartbeat_interval_ms,
    v_now::timestamptz, v_now + 3 * p.heartbeat_interval_ms * interval '1 millisecond', p.priority, p.place,
    p.has_rest, null::integer[], p.payloads, p.ready_at::timestamptz,
    case when p.attempt > p.max_failures_per_item then
      jobtree.last_attempts(p.job_id, p.position, p.count, p.attempt, p.max_failures_per_item)
    end, p.keyed, p.lost
  from part p
  order by p.n;
end
$$;

-- Turns one queue entry, or a part of it, into a lease. For claim_item, and for claim_items if one entry is enough, as for most claims: a
-- few small statements cost less than the large one of lease_entries.
--
-- p_tid      where the entry is: a row that this transaction has locked
-- p_from, p_count   the items: the first one in the entry, from 0, and how many
-- p_request, p_worker, p_claim_id, p_starts   whose lease it is; p_claim_id is null for a claim that can't be repeated;
--            and how many of its items it starts at once, as claim_items has it
-- returns    as lease_entries; no row if the job was cancelled, in which case all items of the entry count as cancelled
-- locks      none new
create or replace function jobtree.lease_entry(
  p_tid tid, p_from integer, p_count integer, p_request integer, p_worker text, p_claim_id uuid, p_starts integer
)
returns table (
  lease_id uuid, request integer, job_id uuid, root_id uuid, type text, first_position bigint, attempt integer, worker text,
  heartbeat_interval_ms integer, claimed_at timestamptz, deadline_at timestamptz, priority smallint, place bigint,
  has_rest boolean, numbers integer[], payloads text, ready_at timestamptz, last_numbers integer[], keyed boolean, lost boolean
)
language plpgsql volatile
set jit = off
set enable_seqscan = off
set enable_bitmapscan = off
set plan_cache_mode = force_generic_plan
as $$
#variable_conflict use_column
declare
  v_now constant timestamptz(3) := clock_timestamp();
  v_entry record;
  v_is_shortened boolean;
  v_job record;
begin
  -- The first part of a small entry is cut off in place; put_back handles all other rests.
  update jobtree.queue_entry q
  set position = q.position + p_count, place = q.place + p_count, count = q.count - p_count
  where q.ctid = p_tid and p_from = 0 and q.count > p_count and q.bytes <= 100000
  returning q.job_id, q.position - p_count as position, q.place - p_count as place, q.bytes, q.attempt, (q.count + p_count)::smallint as count,
    q.priority, q.type, q.keyed, q.run_at, q.ready_at, q.lost
  into v_entry;
  v_is_shortened := found;
  if not v_is_shortened then
    delete from jobtree.queue_entry q where q.ctid = p_tid returning * into v_entry;
  end if;
  select j.root_id, j.heartbeat_interval_ms, j.max_failures_per_item, j.cancelled_at, p.started_at into v_job
  from jobtree.job j
  join jobtree.job_progress p on p.job_id = j.id
  where j.id = v_entry.job_id
  order by p.version desc
  limit 1;
  if v_job.cancelled_at is not null then
    perform jobtree.cancel_ranges(array[v_entry.job_id], array[v_entry.position], array[v_entry.count::bigint], v_job.cancelled_at);
    if v_entry.keyed then
      perform jobtree.free_keys(array_fill(v_entry.job_id, array[v_entry.count]),
        array(select generate_series(v_entry.position, v_entry.position + v_entry.count - 1)), false);
    end if;
    if v_is_shortened then
      delete from jobtree.queue_entry q where q.job_id = v_entry.job_id and q.position = v_entry.position + p_count;
    end if;
    return;
  end if;
  if v_job.started_at is null then
    insert into jobtree.progress_delta (root_id, job_id, started) values (v_job.root_id, v_entry.job_id, true);
  end if;
  if p_count < v_entry.count and not v_is_shortened then
    perform jobtree.put_back(v_entry.job_id, v_entry.position, v_entry.place, v_entry.bytes, v_entry.attempt, v_entry.count,
      v_entry.priority, v_entry.type, v_entry.keyed, v_entry.ready_at, v_entry.lost, p_from, p_count);
  end if;

  lease_id := jobtree.new_lease_id(coalesce(p_claim_id, jobtree.new_id()));
  request := p_request;
  job_id := v_entry.job_id;
  root_id := v_job.root_id;
  type := v_entry.type;
  first_position := v_entry.position + p_from;
  attempt := v_entry.attempt;
  worker := p_worker;
  heartbeat_interval_ms := v_job.heartbeat_interval_ms;
  claimed_at := v_now;
  deadline_at := v_now + 3 * v_job.heartbeat_interval_ms * interval '1 millisecond';
  priority := v_entry.priority;
  place := v_entry.place + p_from;
  has_rest := p_from + p_count < v_entry.count;
  keyed := v_entry.keyed;
  lost := v_entry.lost;
  -- An item that is due but not promoted has been ready since its run_at.
  ready_at := coalesce(v_entry.run_at, v_entry.ready_at);
  if attempt > v_job.max_failures_per_item then
    last_numbers := jobtree.last_attempts(job_id, first_position, p_count, attempt, v_job.max_failures_per_item);
  end if;
  insert into jobtree.lease (
    id, job_id, claim_id, position, claimed_at, heartbeat_at, deadline_at, attempt, count, priority, open, worker, keyed, waiting, lost
  )
  values (
    lease_id, v_entry.job_id, p_claim_id, first_position, v_now, v_now, deadline_at, v_entry.attempt, p_count, v_entry.priority,
    (~B'0'::bit(128)) << (128 - p_count), p_worker, v_entry.keyed,
    jobtree.waiting_bits(p_count, p_starts, v_entry.lost), v_entry.lost
  );
  if p_count = 1 then
    select i.payload::text into payloads from jobtree.job_item i where i.job_id = v_entry.job_id and i.position = first_position;
    return next;
    return;
  end if;
  select string_agg(i.payload::text, E'\x1e') into payloads
  from (
    select i.payload from jobtree.job_item i
    where i.job_id = v_entry.job_id and i.position >= first_position and i.position < first_position + p_count
    order by i.position
  ) i;
  return next;
end
$$;

-- Does the next batch of an operation that makes scheduled items ready before their time: a number of entries at a time, in the order of their
-- jobs and positions. The items go behind what is ready, in this order, and keep their priorities, attempt numbers and failures. An item with
-- a serialize key is the head of its line already.
--
-- p_until    when to stop; the step that is in progress then is completed
-- p_limit    at how many entries a step looks at most
-- returns    the operation's new state; whether to continue at once; and the types that got ready items, and how many
-- locks      queue entries, skipping locked ones
create or replace function jobtree.promote_matching(
  p_operation jobtree.operation, p_until timestamptz, p_limit integer default 1000
)
returns table (operation jobtree.operation, more boolean, ready jsonb)
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
  v_window record;
  v_found record;
  v_taken record;
begin
  operation := p_operation;
  loop
    select * into v_window from jobtree.pending_window(operation, p_limit, 5120);
    more := found;
    exit when not more;
    operation.next_job_id := v_window.from_job_id;
    operation.next_position := v_window.from_position;

    select coalesce(sum(bit_count(m.matching)), 0) as items, array_agg(m.job_id) as job_ids, array_agg(m.position) as positions,
      array_agg(m.count) as counts, array_agg(m.attempt) as attempts, array_agg(m.matching) as matching
    into v_found
    from jobtree.matching_pending(operation, v_window.last_job_id, v_window.last_position) m;

    -- Only unchanged entries that are still scheduled. Any change removes items from an entry, or puts them back with another attempt number
    -- or at another time.
    select array_agg(w.tid) as tids, array_agg(w.entry) as entries, array_agg(w.matching) as matching,
      coalesce(sum(bit_count(w.matching)), 0) as items
    into v_taken
    from (
      select q.ctid as tid, q as entry, f.matching
      from unnest(v_found.job_ids, v_found.positions, v_found.counts, v_found.attempts, v_found.matching)
        f(job_id, position, count, attempt, matching)
      join jobtree.queue_entry q on q.job_id = f.job_id and q.position = f.position
      where q.count = f.count and q.attempt = f.attempt and q.ready_at <= p_operation.requested_at
        -- Written as in no partial index: only the primary key finds a row with one probe.
        and coalesce(q.run_at < 'infinity', false)
      order by q.job_id, q.position
      for update of q skip locked
    ) w;
    if v_taken.items > 0 then
      delete from jobtree.queue_entry q where q.ctid = any (v_taken.tids);
      perform jobtree.put_back_rest(v_taken.entries, v_taken.matching);
      perform jobtree.put_back_rest(
        array(
          select row(
            e.job_id, e.position, nextval('jobtree.block_seq') * 1024, e.bytes, null, e.attempt, e.count, e.priority, e.type, e.keyed, v_now,
            e.lost
          )::jobtree.queue_entry
          from unnest(v_taken.entries) e
        ),
        array(select ~u from unnest(v_taken.matching) u)
      );
      -- From now on these are due; a lifetime counts from this time.
      update jobtree.job_item i set run_at = v_now
      from unnest(v_taken.entries, v_taken.matching)
        e(job_id, position, place, bytes, run_at, attempt, count, priority, type, keyed, ready_at, lost, matching)
      where i.job_id = e.job_id and i.position >= e.position and i.position < e.position + e.count
        and get_bit(e.matching, (i.position - e.position)::integer) = 1 and i.run_at > v_now;
      ready := jobtree.add_up(ready, (
        select jsonb_object_agg(t.type, t.items)
        from (
          select e.type, sum(bit_count(e.matching)) as items
          from unnest(v_taken.entries, v_taken.matching)
            e(job_id, position, place, bytes, run_at, attempt, count, priority, type, keyed, ready_at, lost, matching)
          group by e.type
        ) t
      ));
    end if;
    operation.done := operation.done + v_taken.items;
    operation.was_busy := operation.was_busy or v_taken.items < v_found.items;
    operation.next_job_id := v_window.last_job_id;
    operation.next_position := v_window.last_position;
    exit when clock_timestamp() > p_until;
  end loop;
  return next;
end
$$;

-- Puts the rest of an entry back into the queue when a part of it is leased: the items before the part, and those after it, each in their
-- old place. The rest of a small entry gets the size of the whole, so that nobody has to measure payloads.
--
-- p_job_id … p_lost   the columns of the entry, which is deleted
-- p_from, p_taken   the part: its first item, from 0, and how many
create or replace function jobtree.put_back(
  p_job_id uuid, p_position bigint, p_place bigint, p_bytes bigint, p_attempt integer, p_count integer, p_priority smallint, p_type text,
  p_keyed boolean, p_ready_at timestamptz, p_lost boolean, p_from integer, p_taken integer
)
returns void
language plpgsql volatile
set jit = off
set enable_seqscan = off
set plan_cache_mode = force_generic_plan
as $$
declare
  v_first integer := 0;
  v_count integer := p_from;
  v_bytes bigint;
begin
  for v_part in 1 .. 2 loop
    if v_count > 0 then
      v_bytes := p_bytes;
      if p_bytes > 100000 then
        select sum(i.payload_bytes) into v_bytes from jobtree.job_item i
        where i.job_id = p_job_id and i.position >= p_position + v_first and i.position < p_position + v_first + v_count;
      end if;
      insert into jobtree.queue_entry (job_id, position, place, bytes, attempt, count, priority, type, keyed, ready_at, lost)
      values (p_job_id, p_position + v_first, p_place + v_first, v_bytes, p_attempt, v_count, p_priority, p_type, p_keyed, p_ready_at, p_lost);
    end if;
    v_first := p_from + p_taken;
    v_count := p_count - v_first;
  end loop;
end
$$;

-- Puts the rest of entries back into the queue when some of their items are taken out, each in its old place and under the same conditions.
-- The rest of a small entry gets the size of the whole, as in put_back.
--
-- p_entries, p_taken   the entries, which are deleted, and a bit for each item that is taken
create or replace function jobtree.put_back_rest(p_entries jobtree.queue_entry[], p_taken bit(128)[])
returns void
language sql volatile
set jit = off
set enable_seqscan = off
set plan_cache_mode = force_generic_plan
as $$
  insert into jobtree.queue_entry (job_id, position, place, bytes, run_at, attempt, count, priority, type, keyed, ready_at, lost)
  select e.job_id, e.position + r."from", e.place + r."from",
    case when e.bytes > 100000 then (
      select sum(i.payload_bytes) from jobtree.job_item i
      where i.job_id = e.job_id and i.position >= e.position + r."from" and i.position < e.position + r."from" + r.count
    ) else e.bytes end,
    e.run_at, e.attempt, r.count, e.priority, e.type, e.keyed, e.ready_at, e.lost
  -- Subscripts would read the arrays from their start for each column.
  from unnest(p_entries, p_taken) e(job_id, position, place, bytes, run_at, attempt, count, priority, type, keyed, ready_at, lost, taken)
  cross join lateral jobtree.bit_runs(~e.taken & (~B'0'::bit(128) << (128 - e.count)), e.count) r
$$;

-- Gives items back unfinished, to their old place, where they can be claimed at once. Costs no attempt: a deploy is no failure.
--
-- p_lost     whether their worker has fallen silent before it started them
-- returns    for each assignment RELEASED, or STALE if it holds no item (any more), with the type and the place of what came back
-- locks      the leases, in the order of their ids
create or replace function jobtree.release_assignments(p_ids uuid[], p_lost boolean default false)
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
      p_lost or l.lost as lost, j.type
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
    array_agg(g.attempt) as attempts, array_agg(g.priority) as priorities,
    array_agg(g.lost) as lost
  into v_given
  from given g;

  perform jobtree.requeue(v_given.job_ids, v_given.positions, v_given.attempts, v_given.priorities, null, false, v_given.lost);
  return query
  select u.id, case when g.given is null then 'STALE' else 'RELEASED' end, g.given ->> 0, (g.given ->> 1)::smallint, (g.given ->> 2)::bigint
  from unnest(p_ids) with ordinality u(id, n)
  cross join lateral (select v_given.by_id -> u.id::text as given offset 0) g
  order by u.n;
end
$$;

-- Returns the leases of an earlier claim again, to a caller that never received the answer: those of their items that are not finished.
-- Counts as a heartbeat, since the worker is alive.
--
-- returns    as lease_entries, in the order of their ids, each with the numbers of its open items
-- locks      the claim's leases, in the order of their ids
-- errors     JT002 the claim was another worker's
create or replace function jobtree.repeat_claim(p_claim_id uuid, p_worker text)
returns table (
  lease_id uuid, request integer, job_id uuid, root_id uuid, type text, first_position bigint, attempt integer, worker text,
  heartbeat_interval_ms integer, claimed_at timestamptz, deadline_at timestamptz, priority smallint, place bigint,
  has_rest boolean, numbers integer[], payloads text, ready_at timestamptz, last_numbers integer[], keyed boolean, lost boolean
)
language plpgsql volatile
set jit = off
set enable_seqscan = off
set enable_bitmapscan = off
set enable_hashjoin = off
set enable_mergejoin = off
set plan_cache_mode = force_generic_plan
as $$
declare
  -- With the precision of the columns.
  v_now constant timestamptz(3) := clock_timestamp();
  v_ids uuid[];
begin
  select array_agg(l.id) into v_ids
  from (
    select l.id from jobtree.lease l
    where l.claim_id = p_claim_id
      and l.id between (left(p_claim_id::text, 19) || '0000-000000000000')::uuid
        and (left(p_claim_id::text, 19) || 'ffff-ffffffffffff')::uuid
    order by l.id
    for no key update
  ) l;
  if exists (select from jobtree.lease l where l.id = any (v_ids) and l.worker <> p_worker) then
    raise exception 'claimId belongs to a claim of another worker.' using errcode = 'JT002', column = 'claimId';
  end if;

  return query
  with kept as (
    update jobtree.lease l
    set heartbeat_at = v_now, deadline_at = v_now + 3 * j.heartbeat_interval_ms * interval '1 millisecond', deadlines = null
    from (
      select o.id, j.root_id, j.type, j.heartbeat_interval_ms, j.max_failures_per_item from jobtree.lease o
      cross join lateral (select j.* from jobtree.job j where j.id = o.job_id and j.cancelled_at is null offset 0) j
      where o.id = any (v_ids) and o.open <> B'0'::bit(128)
      offset 0
    ) j
    where l.id = j.id
    returning l.*, j.root_id, j.type, j.heartbeat_interval_ms, j.max_failures_per_item
  )
  select k.id, 1, k.job_id, k.root_id, k.type, k.position, k.attempt, k.worker, k.heartbeat_interval_ms,
    k.claimed_at::timestamptz, k.deadline_at::timestamptz, k.priority, null::bigint, false, i.numbers, i.payloads, null::timestamptz,
    case when k.attempt > k.max_failures_per_item then
      jobtree.last_attempts(k.job_id, k.position, k.count, k.attempt, k.max_failures_per_item)
    end, k.keyed, k.lost
  from kept k
  cross join lateral (
    select array_agg(i.number order by i.number) as numbers, string_agg(i.payload::text, E'\x1e' order by i.number) as payloads
    from (
      select (i.position - k.position)::integer + 1 as number, i.payload from jobtree.job_item i
      where i.job_id = k.job_id and i.position >= k.position and i.position < k.position + k.count
    ) i
    where get_bit(k.open, i.number - 1) = 1
  ) i
  order by k.id;
end
$$;

-- Puts items back into the queue; neighbours that wait under the same conditions share an entry.
--
-- p_job_ids, p_positions, p_attempts, p_priorities, p_run_at
--            the items, which are in no entry, and of which those with serialize keys are heads; the number of each item's next attempt;
--            and when it is due, null for now
-- p_last     whether they go to the end of what is ready, or back to their old place
-- p_lost     whether the worker of each has fallen silent; null for none
-- locks      none
create or replace function jobtree.requeue(
  p_job_ids uuid[], p_positions bigint[], p_attempts integer[], p_priorities smallint[], p_run_at timestamptz[], p_last boolean,
  p_lost boolean[] default null
)
returns void
language plpgsql volatile
set jit = off
set enable_seqscan = off
set enable_hashjoin = off
set enable_mergejoin = off
set plan_cache_mode = force_generic_plan
as $$
begin
  insert into jobtree.queue_entry (job_id, position, place, bytes, run_at, attempt, count, priority, type, keyed, lost)
  select r.job_id, r.position, case when p_last then nextval('jobtree.block_seq') * 1024 else r.position end,
    r.bytes, r.run_at, r.attempt, r.count, r.priority, j.type, r.keyed, r.lost
  from (
    select u.job_id, min(u.position) as position, u.attempt, u.priority, u.run_at, u.keyed, u.lost, count(*) as count, sum(u.payload_bytes) as bytes
    from (
      select u.*, u.position - row_number() over (partition by u.job_id, u.attempt, u.priority, u.run_at, u.keyed, u.lost order by u.position) as run
      from (
        select u.job_id, u.position, u.attempt, u.priority, u.run_at, coalesce(u.lost, false) as lost, i.payload_bytes,
          i.serialize_key is not null as keyed
        from unnest(p_job_ids, p_positions, p_attempts, p_priorities, p_run_at, p_lost) u(job_id, position, attempt, priority, run_at, lost)
        join jobtree.job_item i on i.job_id = u.job_id and i.position = u.position
      ) u
    ) u
    -- Keeps entries at 128 items at most, however many leases end here.
    group by u.job_id, u.attempt, u.priority, u.run_at, u.keyed, u.lost, u.run, u.position / 128
  ) r
  join jobtree.job j on j.id = r.job_id
  order by r.position;
end
$$;

-- Takes items back from workers that have fallen silent: in leases past their deadline, the attempts at items whose own deadline is
-- over fail with the code HEARTBEAT_LOST. Items that their worker had not started, as far as it told, are given back instead, which costs
-- no attempt. It may have started one just before it fell silent, without telling; so the next worker tells before it starts them. Call it
-- again at once as long as a batch was full.
--
-- p_resumed_at   what note_sweep returned: nothing is taken back until a full lease time after it
-- p_within   looks only at deadlines that passed within this time, past the dead rows of older leases; null for all, which is needed now
--            and then for leases that were locked or committed late. Soon after an outage all are examined, since they are long overdue
-- returns    how many attempts failed; how many leases were examined; the trees that changed; the types that got ready items by failed attempts, and how many;
--            of what was given back [type, priority, first place, how many items] for each type and priority; and figures, without times, and failures, as report_results returns them
-- locks      leases, skipping locked ones
create or replace function jobtree.sweep_leases(
  p_resumed_at timestamptz default '-infinity', p_limit integer default 1000, p_within interval default null
)
returns table (lost integer, leases integer, root_ids uuid[], ready jsonb, given_back json, figures json[], failed json[])
language plpgsql volatile
set jit = off
set enable_seqscan = off
set enable_bitmapscan = off
set plan_cache_mode = force_generic_plan
as $$
declare
  v_now constant timestamptz(3) := clock_timestamp();
  v_from constant timestamptz := case
    when p_within is null or p_resumed_at > v_now - interval '5 minutes' then '-infinity' else v_now - p_within
  end;
  v_leases uuid[];
  v_lost_leases uuid[];
  v_numbers integer[];
  v_waiting uuid[];
  v_given_back json;
begin
  select array_agg(k.id) into v_leases
  from (
    select l.id from jobtree.lease l
    cross join lateral (
      select j.heartbeat_interval_ms from jobtree.job j where j.id = l.job_id and j.cancelled_at is null offset 0
    ) j
    where l.deadline_at >= v_from and l.deadline_at <= v_now and p_resumed_at + 3 * j.heartbeat_interval_ms * interval '1 millisecond' <= v_now
    order by l.deadline_at
    limit p_limit
    for update of l skip locked
  ) k;
  if v_leases is null then
    return query select 0, 0, null::uuid[], null::jsonb, null::json, null::json[], null::json[];
    return;
  end if;

  with silent as (
    select l.id, n, coalesce(get_bit(l.waiting, n - 1) = 1, false) as waits
    from jobtree.lease l
    cross join lateral generate_series(1, l.count) n
    where l.id = any (v_leases) and get_bit(l.open, n - 1) = 1 and coalesce(l.deadlines[n], l.deadline_at) <= v_now
  )
  select array_agg(s.id order by s.id, s.n) filter (where not s.waits), array_agg(s.n order by s.id, s.n) filter (where not s.waits),
    array_agg(jobtree.assignment_id(s.id, s.n)) filter (where s.waits)
  into v_lost_leases, v_numbers, v_waiting
  from silent s;
  if v_waiting is not null then
    select json_agg(json_build_array(b.type, b.priority, b.place, b.count)) into v_given_back
    from (
      select r.type, r.priority, min(r.place) as place, count(*) as count
      from jobtree.release_assignments(v_waiting, true) r
      where r.status = 'RELEASED'
      group by r.type, r.priority
    ) b;
  end if;
  -- The next deadline of leases that still have open items.
  update jobtree.lease l
  set deadline_at = (
    select min(l.deadlines[n]) from generate_series(1, l.count) n where get_bit(l.open, n - 1) = 1 and l.deadlines[n] > v_now
  )
  where l.id = any (v_leases) and l.deadlines is not null;

  -- No item is lost if the silent ones of a lease have been reported meanwhile.
  return query
    select coalesce(cardinality(f.accepted), 0), cardinality(v_leases), f.root_ids, f.ready, v_given_back, f.figures, f.failed
    from (select) o
    left join jobtree.fail_attempts(
      v_lost_leases, v_numbers,
      array_fill('{"code": "HEARTBEAT_LOST", "message": "The worker''s heartbeat was lost."}'::json, array[coalesce(cardinality(v_numbers), 0)]),
      true
    ) f on true;
end
$$;

-- Changes an item that waits: when it is due, its priority, its payload; what is not given stays. An item that its serialize key blocks
-- keeps its place in the line.
--
-- p_changes  {runAt?, priority?, payload?}, at least one of them; runAt null for now, priority null for the job's
-- returns    its tree and type; its priority and its place, from which claims find it, null if it is blocked; and whether this made it
--            ready
-- locks      the queue entry that has the item, or the item itself if it is blocked
-- errors     JT001 no such item; JT002 no or invalid changes; JT007 it does not wait, with the reason in the error's detail: HELD,
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
  v_state text;
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
    select s.state into v_state from jobtree.item_state s where s.job_id = p_job_id and s.position = p_position;
    if v_state is null then
      raise exception 'There is no item % of job %.', p_position, p_job_id using errcode = 'JT001', column = 'itemId';
    end if;
    -- Otherwise it still waits, but another transaction has split its entry or passed it the key: look again.
    if v_state in ('HELD', 'SUCCEEDED', 'FAILED', 'CANCELLED') then
      raise exception 'Item % of job % can''t be changed: its state is %.', p_position, p_job_id, v_state
        using errcode = 'JT007', column = 'itemId', detail = v_state;
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
  insert into jobtree.queue_entry (job_id, position, place, bytes, run_at, attempt, count, priority, type, keyed, ready_at, lost)
  values (
    p_job_id, p_position, v_entry.place, v_item.payload_bytes, v_entry.run_at, v_entry.attempt, 1, v_item.priority, v_entry.type,
    v_entry.keyed, v_entry.ready_at, v_entry.lost
  );
  return query select v_job.root_id, v_entry.type, v_item.priority, v_entry.place, coalesce(made_ready, false);
end
$$;

-- The items of a lease that its worker does not start at once: null if it starts all.
--
-- p_count    how many items the lease has
-- p_starts   how many of them it starts, from the first; null for all
-- p_lost     whether they were lost before: then it tells of each that it starts
create or replace function jobtree.waiting_bits(p_count integer, p_starts integer, p_lost boolean) returns bit(128)
language sql immutable parallel safe
as $$
  select case when p_lost and p_starts is not null or p_starts < p_count then
    (~B'0'::bit(128) << (128 - p_count)) & (~B'0'::bit(128) >> case when p_lost then 0 else greatest(p_starts, 0) end)
  end
$$;
