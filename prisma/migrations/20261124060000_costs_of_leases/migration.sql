-- What leases cost: heartbeats change no index, pages of running items read no other leases, and concurrency limits count by deltas.

-- Not a heartbeat but a sweep moves it on: a heartbeat changes no column that an index has.
alter table "jobtree"."lease" rename column "deadline_at" to "check_at";
alter table "jobtree"."lease" add column "limited_type" text collate "C";
-- Room on each page for the heartbeats of its leases.
alter table "jobtree"."lease" set (fillfactor = 60);
-- For the open leases of a job. The condition is written as in no query of all open leases, so that the planner never takes the index of these.
create index "lease_open" on "jobtree"."lease" ("job_id", "position") where coalesce("check_at", 'infinity') < 'infinity';
create index "lease_limited" on "jobtree"."lease" ("limited_type") where "limited_type" is not null and "check_at" is not null;

create or replace view "jobtree"."assignment" as
select (left(l.id::text, 34) || lpad(to_hex(n), 2, '0'))::uuid as id, l.id as lease_id, l.job_id, l.position + n - 1 as position,
  l.attempt, l.worker, l.claimed_at, l.heartbeat_at, case when l.check_at is not null then coalesce(l.deadlines[n], l.heartbeat_at + 3 * j.heartbeat_interval_ms * interval '1 millisecond') end::timestamptz(3) as deadline_at,
  case
    when get_bit(l.open, n - 1) = 1 and j.cancelled_at is null then 'HELD'
    when o.job_id is not null and not o.failed then 'SUCCEEDED'
    when f.lost then 'LOST'
    when f.job_id is not null then 'FAILED'
    when j.cancelled_at is not null or c.is_cancelled then 'CANCELLED'
    else 'RELEASED'
  end as state
from jobtree.lease l
join jobtree.job j on j.id = l.job_id
cross join lateral generate_series(1, l.count) n
left join jobtree.outcome o on o.job_id = l.job_id and o.position = l.position + n - 1 and o.lease_id = l.id
left join jobtree.failure f on f.job_id = l.job_id and f.position = l.position + n - 1 and f.attempt = l.attempt and f.lease_id = l.id
left join lateral (
  select c.position + c.count > l.position + n - 1 as is_cancelled from jobtree.cancellation c
  where o.job_id is null and c.job_id = l.job_id and c.position <= l.position + n - 1
  order by c.position desc
  limit 1
) c on true;

drop table "jobtree"."queue_lease";
alter table "jobtree"."queue" drop column "limited_at", drop column "first_lease", add column "limited_by" xid8;

-- How many items of each type with a concurrency limit workers hold: the sum of its rows. A claim replaces them with one, and says in which
-- snapshot.
create table "jobtree"."held_delta" (
  "type" text collate "C" not null,
  "items" integer not null,
  "xid" xid8 not null default pg_current_xact_id(),
  "seen" pg_snapshot
) with (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 2000, autovacuum_vacuum_cost_delay = 0);
create index "held_delta_sum" on "jobtree"."held_delta" ("type", "xid") where "seen" is not null;
create index "held_delta_new" on "jobtree"."held_delta" ("type", "xid") where "seen" is null;

drop routine jobtree.adopt_leases(text);
drop routine jobtree.lease_entries(tid[],integer[],integer[],integer[],text[],uuid[]);
drop routine jobtree.lease_entry(tid,integer,integer,integer,text,uuid);
drop routine jobtree.lock_queues(text[]);

set local check_function_bodies = off;

-- Accepts the results of those reports whose lease and item are open: the fast path of reporting. Most calls report under a single lease,
-- for which a few small statements cost less than one large one.
--
-- p_lease_ids, p_numbers, p_results
--            the assignments, none of them twice, and a JSON array of their results
-- p_feeding  true for the results of jobs that feed children, false for all others
-- returns    the trees that changed; the types that got ready items because results freed their serialize keys, and how many; which reports
--            counted, from 1, or null if all did; with p_feeding the finished items, in the order of the reports; and figures as
--            report_results returns them
-- locks      leases in the order of their ids, skipping those that others have locked (a heartbeat, a sweep, a transaction in SQL), whose
--            reports don't count
create or replace function jobtree.accept_results(p_lease_ids uuid[], p_numbers integer[], p_results json, p_feeding boolean)
returns table (root_ids uuid[], ready jsonb, accepted integer[], job_ids uuid[], positions bigint[], figures json[])
language plpgsql volatile
set jit = off
set enable_seqscan = off
set enable_bitmapscan = off
set enable_mergejoin = off
set enable_material = off
set plan_cache_mode = force_generic_plan
as $$
declare
  v_now constant timestamptz(3) := clock_timestamp();
  v_lease record;
  v_bits bit(128);
  v_accepted integer[];
  v_positions bigint[];
  v_bytes bigint;
  v_ready jsonb;
  v_done record;
begin
  if p_lease_ids[1] = all (p_lease_ids) then
    select l.id, l.job_id, l.position, l.open, l.keyed, l.claimed_at, j.root_id, j.type into v_lease from jobtree.lease l
    cross join lateral (
      select j.root_id, j.type from jobtree.job j
      where j.id = l.job_id and j.feeds_children = p_feeding and j.cancelled_at is null
      offset 0
    ) j
    where l.id = p_lease_ids[1]
    for update of l skip locked;
    if found and cardinality(p_numbers) = 1 then
      if (case when p_numbers[1] > 0 then get_bit(v_lease.open, p_numbers[1] - 1) = 1 end) then
        v_bits := jobtree.bit_at(p_numbers[1]);
        v_accepted := '{1}';
        v_positions := array[v_lease.position + p_numbers[1] - 1];
        insert into jobtree.outcome (job_id, position, lease_id, finished_at, result)
        values (v_lease.job_id, v_positions[1], v_lease.id, v_now, p_results -> 0)
        returning octet_length(result::text) into v_bytes;
      end if;
    elsif found then
      with given as (
        select u.n, u.number, u.result
        from rows from (unnest(p_numbers), json_array_elements(p_results)) with ordinality u(number, result, n)
        where case when u.number > 0 then get_bit(v_lease.open, u.number - 1) = 1 end
      ), finished as (
        insert into jobtree.outcome (job_id, position, lease_id, finished_at, result)
        select v_lease.job_id, v_lease.position + g.number - 1, v_lease.id, v_now, g.result from given g
      )
      select bit_or(jobtree.bit_at(g.number)), array_agg(g.n::integer), array_agg(v_lease.position + g.number - 1),
        sum(octet_length(g.result::text))
      into v_bits, v_accepted, v_positions, v_bytes
      from given g;
    end if;
    if v_accepted is null then
      return query select null::uuid[], null::jsonb, '{}'::integer[], null::uuid[], null::bigint[], null::json[];
      return;
    end if;
    update jobtree.lease l
    set open = l.open # v_bits, check_at = case when l.open <> v_bits then l.check_at end
    where l.id = v_lease.id;
    insert into jobtree.progress_delta (root_id, job_id, succeeded, bytes)
    values (v_lease.root_id, v_lease.job_id, cardinality(v_accepted), v_bytes);
    if v_lease.keyed then
      v_ready := jobtree.free_keys(array_fill(v_lease.job_id, array[cardinality(v_positions)]), v_positions);
    end if;
    return query select array[v_lease.root_id], v_ready, case when cardinality(v_accepted) < cardinality(p_numbers) then v_accepted end,
      case when p_feeding then array_fill(v_lease.job_id, array[cardinality(v_accepted)]) end, v_positions,
      array[jobtree.figure_of(v_lease.type, v_now - v_lease.claimed_at, cardinality(v_accepted), 0, 0)];
    return;
  end if;

  with locked as materialized (
    select l.id, l.job_id, l.position, l.open, l.keyed, l.claimed_at, j.root_id, j.type from jobtree.lease l
    cross join lateral (
      select j.root_id, j.type from jobtree.job j
      where j.id = l.job_id and j.feeds_children = p_feeding and j.cancelled_at is null
      offset 0
    ) j
    where l.id = any (p_lease_ids)
    order by l.id
    for update of l skip locked
  ), given as materialized (
    select u.n, u.number, u.result, k.id as lease_id, k.job_id, k.position + u.number - 1 as position, k.keyed
    from rows from (unnest(p_lease_ids), unnest(p_numbers), json_array_elements(p_results)) with ordinality u(lease_id, number, result, n)
    join locked k on k.id = u.lease_id
    where case when u.number > 0 then get_bit(k.open, u.number - 1) = 1 end
  ), finished as (
    insert into jobtree.outcome (job_id, position, lease_id, finished_at, result)
    select g.job_id, g.position, g.lease_id, v_now, g.result from given g
  ), ended as materialized (
    select g.lease_id, bit_or(jobtree.bit_at(g.number)) as bits, count(*) as count, sum(octet_length(g.result::text)) as bytes
    from given g group by g.lease_id
  ), closed as (
    update jobtree.lease l
    set open = l.open # e.bits, check_at = case when l.open <> e.bits then l.check_at end
    from ended e
    where l.id = e.lease_id
  ), counted as (
    insert into jobtree.progress_delta (root_id, job_id, succeeded, bytes)
    select k.root_id, k.job_id, sum(e.count), sum(e.bytes) from ended e join locked k on k.id = e.lease_id group by k.root_id, k.job_id
    returning progress_delta.root_id
  )
  select (select array_agg(distinct c.root_id) from counted c) as root_ids,
    case when count(*) < cardinality(p_numbers) then coalesce(array_agg(g.n::integer), '{}') end as accepted,
    case when p_feeding then array_agg(g.job_id order by g.n) end as job_ids,
    case when p_feeding then array_agg(g.position order by g.n) end as positions,
    array_agg(g.job_id) filter (where g.keyed) as keyed_job_ids, array_agg(g.position) filter (where g.keyed) as keyed_positions,
    (
      select array_agg(t.figure)
      from (
        select jobtree.figure_of(k.type, v_now - k.claimed_at, sum(e.count)::bigint, 0, 0) as figure
        from ended e join locked k on k.id = e.lease_id
        group by k.type, k.claimed_at
      ) t
    ) as figures
  into v_done
  from given g;
  if v_done.keyed_job_ids is not null then
    v_ready := jobtree.free_keys(v_done.keyed_job_ids, v_done.keyed_positions);
  end if;
  return query select v_done.root_ids, v_ready, v_done.accepted, v_done.job_ids, v_done.positions, v_done.figures;
end
$$;

-- Has the open leases of limited types count that began before the concurrency was limited.
--
-- p_types    limited types
-- locks      leases, skipping locked ones, which a later call finds
create or replace function jobtree.adopt_leases(p_types text[])
returns void
language sql volatile
set jit = off
set enable_seqscan = off
set enable_bitmapscan = off
set enable_hashjoin = off
set enable_mergejoin = off
as $$
  with adopted as (
    update jobtree.lease l set limited_type = o.type
    from (
      select l.id, j.type from jobtree.lease l
      cross join lateral (select j.type from jobtree.job j where j.id = l.job_id and j.type = any (p_types) offset 0) j
      where l.check_at is not null and l.limited_type is null
      for update of l skip locked
    ) o
    where l.id = o.id
    returning l.limited_type, l.open
  )
  insert into jobtree.held_delta (type, items)
  select a.limited_type, sum(bit_count(a.open)) from adopted a group by a.limited_type
$$;

-- Cancels the pending items of a cancelled job, about p_limit ranges of them: waiting items leave the queue, and held ones end, which their
-- workers learn from the next heartbeat. promote_blocked passes on the serialize keys that they had. What is locked is left for the next
-- pass: repeat until done.
--
-- p_from     the position to continue from
-- returns    how many items were cancelled, in how many ranges, of which each item with a serialize key is one; the position to continue
--            from, 0 for another pass; and whether nothing is pending any more
-- locks      blocked items, queue entries and leases, skipping locked ones; those of exclude_adders, without which nothing is done for good
create or replace function jobtree.cancel_items(p_job_id uuid, p_from bigint default 0, p_limit integer default 10000)
returns table (cancelled bigint, ranges integer, next_from bigint, done boolean)
language plpgsql volatile
set jit = off
set enable_seqscan = off
set plan_cache_mode = force_generic_plan
as $$
declare
  v_blocked record;
  v_waiting record;
  v_held record;
  v_ended record;
  v_done boolean;
begin
  if not exists (select from jobtree.job j where j.id = p_job_id and j.cancelled_at is not null) then
    return query select 0::bigint, 0, 0::bigint, true;
    return;
  end if;

  -- First the items behind heads: otherwise they would become heads one after the other.
  with picked as materialized (
    select b.ctid as tid from jobtree.blocked_item b
    where b.job_id = p_job_id and b.position >= p_from
    order by b.position
    limit p_limit
    for update skip locked
  ), gone as (
    delete from jobtree.blocked_item b where b.ctid = any (array(select p.tid from picked p)) returning b.position
  )
  select count(*)::integer as ranges, max(g.position) as last, array_agg(g.position) as positions, array_agg(1::bigint) as counts,
    array_agg(false) as keyed
  into v_blocked
  from gone g;

  with near as materialized (
    select q.*, sum(case when q.keyed then q.count else 1 end) over (order by q.position) as cost
    from (
      select q.ctid as tid, q.position, q.count, q.keyed from jobtree.queue_entry q
      where q.job_id = p_job_id and q.position >= p_from
      order by q.position
      limit p_limit
    ) q
  ), picked as materialized (
    select q.ctid as tid from jobtree.queue_entry q
    where q.ctid = any (array(select n.tid from near n where n.cost < p_limit + n.count))
    for update skip locked
  ), gone as (
    delete from jobtree.queue_entry q where q.ctid = any (array(select p.tid from picked p)) returning q.position, q.count, q.keyed
  )
  select coalesce(sum(case when g.keyed then g.count else 1 end), 0)::integer as ranges,
    (select max(n.position) from near n where n.cost < p_limit + n.count having (select max(n.cost) from near n) >= p_limit) as last,
    array_agg(g.position) as positions, array_agg(g.count::bigint) as counts, array_agg(g.keyed) as keyed
  into v_waiting
  from gone g;

  with near as materialized (
    select l.*, sum(case when l.keyed then l.count else 1 end) over (order by l.position, l.id) as cost
    from (
      select l.id, l.position, l.count, l.keyed from jobtree.lease l
      where l.job_id = p_job_id and l.position >= p_from and coalesce(l.check_at, 'infinity') < 'infinity'
      order by l.position
      limit p_limit
    ) l
  ), picked as materialized (
    select l.id, l.position, l.count, l.keyed, l.open from jobtree.lease l
    where l.id = any (array(select n.id from near n where n.cost < p_limit + n.count)) and l.open <> B'0'::bit(128)
    for update skip locked
  ), ended as (
    update jobtree.lease l set open = B'0'::bit(128), check_at = null from picked p where l.id = p.id
    returning p.*
  )
  select (select coalesce(sum(case when p.keyed then p.count else 1 end), 0)::integer from picked p) as ranges,
    (select max(n.position) from near n where n.cost < p_limit + n.count having (select max(n.cost) from near n) >= p_limit) as last,
    array_agg(e.position + r."from") as positions, array_agg(r.count::bigint) as counts, array_agg(e.keyed) as keyed
  into v_held
  from ended e
  cross join lateral jobtree.bit_runs(e.open, e.count) r;

  select coalesce(sum(e.count), 0)::bigint as items, array_agg(p_job_id) as job_ids, array_agg(e.position) as positions,
    array_agg(e.count) as counts, array_agg(e.keyed) as keyed
  into v_ended
  from unnest(
    v_blocked.positions || v_waiting.positions || v_held.positions, v_blocked.counts || v_waiting.counts || v_held.counts,
    v_blocked.keyed || v_waiting.keyed || v_held.keyed
  ) e(position, count, keyed);
  perform jobtree.free_keys(array_agg(p_job_id), array_agg(e.position + n), false)
  from unnest(v_ended.positions, v_ended.counts, v_ended.keyed) e(position, count, keyed)
  cross join lateral generate_series(0, e.count - 1) n
  where e.keyed
  having count(*) > 0;
  perform jobtree.cancel_ranges(
    v_ended.job_ids, v_ended.positions, v_ended.counts, (select j.cancelled_at from jobtree.job j where j.id = p_job_id)
  );
  v_done := cardinality(jobtree.exclude_adders(array[p_job_id])) = 1;
  -- In a single statement: an item that moves between these tables is in one of them in any snapshot.
  v_done := v_done and not exists (
    select from jobtree.queue_entry q where q.job_id = p_job_id
    union all
    select from jobtree.lease l where l.job_id = p_job_id and coalesce(l.check_at, 'infinity') < 'infinity'
    union all
    select from jobtree.blocked_item b where b.job_id = p_job_id
  );
  -- Those of failures that committed before the look above, too.
  update jobtree.ended_head e set held = false where e.job_id = p_job_id and e.held;
  if v_done then
    update jobtree.job j set cancelling = false where j.id = p_job_id and j.cancelling;
  end if;
  return query select
    v_ended.items, v_blocked.ranges + v_waiting.ranges + v_held.ranges,
    coalesce(least(
      case when v_blocked.ranges = p_limit then v_blocked.last end, v_waiting.last, v_held.last
    ) + 1, 0),
    v_done;
end
$$;

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
    set open = l.open # p.ended, check_at = case when l.open <> p.ended then l.check_at end
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
  -- With a filter by states, an item that became ready now would no longer be in the state in which it was selected: promote_blocked does it later.
  select jobtree.free_keys(array_agg(g.job_id), array_agg(g.position + n), p_operation.states is null) into ready
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
-- errors     JT001 no such item; JT005 it can't be claimed, with the reason in the error's detail: HELD, SCHEDULED, WAITING, BLOCKED,
--            SUCCEEDED, FAILED, CANCELLED, PAUSED or LIMITED
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
        select l.* from jobtree.lease_entry(v_entry.tid, (p_position - v_entry.position)::integer, 1, 1, p_worker, null) l;
      exit when found;
    elsif found then
      return query
        with given as materialized (
          select l.* from jobtree.lease_entry(v_entry.tid, (p_position - v_entry.position)::integer, 1, 1, p_worker, null,
            v_queue.concurrency is not null) l
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
  p_durable boolean default true
)
returns table (
  lease_id uuid, request integer, job_id uuid, root_id uuid, type text, first_position bigint, attempt integer, worker text,
  heartbeat_interval_ms integer, claimed_at timestamptz, deadline_at timestamptz, priority smallint, place bigint,
  has_rest boolean, numbers integer[], payloads text, ready_at timestamptz, last_numbers integer[], kind text
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
  v_counting text[];
  v_room integer;
  v_is_keyed boolean;
  v_keyed text[];
begin
  if (1 <= all (p_limits)) is not true then
    raise exception 'limits must be whole numbers of at least 1.' using errcode = 'JT002', column = 'limits';
  elsif (
    cardinality(p_workers) = cardinality(p_types) and cardinality(p_limits) = cardinality(p_types)
    and cardinality(p_claim_ids) in (0, cardinality(p_types))
  ) is not true then
    raise exception 'workers, types, limits and claim ids must have one element for each request.' using errcode = 'JT002', column = 'types';
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
    select array_agg(l.type), array_agg(l.room), array_agg(l.again_in_ms), array_agg(l.type) filter (where l.counts)
    into v_limited, v_rooms, v_again, v_counting
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
        select h.* from jobtree.lease_entries(v_tids, v_froms, v_counts, v_requests, p_workers, p_claim_ids, v_counting) h
      ), noted as materialized (
        select jobtree.note_claims(array_agg(g.lease_id), array_agg(g.type)) from given g where g.type = any (v_limited)
      )
      select g.*, v_kind from given g, noted;
  elsif cardinality(v_tids) = 1 then
    return query
      select h.*, v_kind
      from jobtree.lease_entry(v_tids[1], 0, v_counts[1], v_requests[1], p_workers[v_requests[1]], p_claim_ids[v_requests[1]]) h;
  elsif cardinality(v_tids) > 0 then
    return query
      select h.*, v_kind
      from jobtree.lease_entries(v_tids, v_froms, v_counts, v_requests, p_workers, p_claim_ids) h;
  elsif v_kind = 'LOCKED' then
    return query select null::uuid, null::integer, null::uuid, null::uuid, null::text, null::bigint, null::integer, null::text,
      null::integer, null::timestamptz, null::timestamptz, null::smallint, null::bigint, null::boolean, null::integer[], null::text, null::timestamptz, null::integer[], v_kind;
  end if;
  if v_limited is not null then
    return query
      select null::uuid, null::integer, null::uuid, null::uuid, l.type, null::bigint, null::integer, null::text, null::integer,
        n.now, n.now + l.again_in_ms * interval '1 millisecond', null::smallint, null::bigint, null::boolean, null::integer[], null::text, null::timestamptz, null::integer[],
        case when l.room is null then 'TAKEN' else 'LIMITED' end
      from unnest(v_limited, v_rooms, v_again) l(type, room, again_in_ms), (select clock_timestamp() as now) n
      where coalesce(l.room, 0) = 0;
  end if;
  if v_keyed is not null then
    return query
      select null::uuid, null::integer, null::uuid, null::uuid, k.type, null::bigint, null::integer, null::text, null::integer,
        null::timestamptz, null::timestamptz, null::smallint, null::bigint, null::boolean, null::integer[], null::text, null::timestamptz, null::integer[],
        'KEYED'
      from unnest(v_keyed) k(type);
  end if;
end
$$;

-- Compares what the deltas say with the leases of limited types, and adds the difference, so that no error lasts. Also has leases count
-- that began before the concurrency was limited, and removes the deltas of types that are not limited any more.
--
-- returns    the types whose deltas were wrong, and by how much
-- locks      an advisory lock, without waiting, since two calls would add a difference twice; those of adopt_leases; at the end rows of
--            queue, skipping locked ones
create or replace function jobtree.correct_held()
returns table (type text, items integer)
language plpgsql volatile
set jit = off
set enable_seqscan = off
set enable_bitmapscan = off
set enable_mergejoin = off
as $$
#variable_conflict use_column
begin
  if not pg_try_advisory_xact_lock(hashtextextended('jobtree.correct_held', 0)) then
    return;
  end if;
  if exists (select from jobtree.queue q where q.concurrency is not null) then
    perform jobtree.adopt_leases(array(select q.type from jobtree.queue q where q.concurrency is not null));
  end if;
  return query
    -- In one snapshot: whatever ends an item changes both.
    with wrong as (
      select q.type, h.items - coalesce(d.items, 0) as items
      from jobtree.queue q
      cross join lateral (
        select coalesce(sum(bit_count(l.open)), 0) as items from jobtree.lease l where l.limited_type = q.type and l.check_at is not null
      ) h
      cross join lateral (select sum(d.items) as items from jobtree.held_delta d where d.type = q.type) d
      where q.concurrency is not null
    )
    insert into jobtree.held_delta (type, items) select w.type, w.items from wrong w where w.items <> 0
    returning held_delta.type, held_delta.items;
  delete from jobtree.held_delta d
  where not exists (select from jobtree.queue q where q.type = d.type and q.concurrency is not null);
  -- Claims need not look any more, even if a transaction from before the limit lasts: the next call adopts what it has claimed.
  update jobtree.queue q set limited_by = null
  where q.ctid = any (array(select q.ctid from jobtree.queue q where q.limited_by is not null for no key update skip locked));
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
    set open = l.open # e.bits, check_at = case when l.open <> e.bits then l.check_at end
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
    perform jobtree.requeue(v_ended.job_ids, v_ended.positions, v_ended.attempts, v_ended.priorities, v_ended.waits, true);
  end if;
  return query select v_ended.root_ids, jobtree.add_up(v_ended.ready, v_freed), v_ended.ns, v_ended.due, v_ended.figures, v_ended.failed;
end
$$;

-- Records that items of a lease have ended, whatever ended them, if the concurrency of their type is limited: the trigger of lease.
--
-- locks      none
create or replace function jobtree.give_back_places()
returns trigger
language plpgsql volatile
as $$
begin
  insert into jobtree.held_delta (type, items) values (new.limited_type, bit_count(new.open) - bit_count(old.open));
  return null;
end
$$;

-- What adds up to how many items of a limited type workers hold: the latest sum, and the deltas that are not in it. The sum says which
-- transactions had ended before it; the deltas of the others are found by their transactions, past all that earlier sums have removed,
-- of which an old snapshot keeps the dead rows.
--
-- returns    where each row is, and what it adds
-- locks      none
create or replace function jobtree.held_deltas(p_type text)
returns table (tid tid, items integer)
language sql stable
set jit = off
set enable_seqscan = off
set enable_bitmapscan = off
set enable_hashjoin = off
set enable_mergejoin = off
as $$
  with latest as materialized (
    select d.ctid as tid, d.items, array(select pg_snapshot_xip(d.seen)) || d.xid as running,
      -- After a restore into another cluster the ids of transactions begin anew.
      case when pg_snapshot_xmax(d.seen) <= pg_snapshot_xmax(pg_current_snapshot()) then pg_snapshot_xmax(d.seen) else '0' end as next
    from jobtree.held_delta d
    where d.type = p_type and d.seen is not null
    order by d.xid desc
    limit 1
  )
  select l.tid, l.items from latest l
  union all
  select d.ctid, d.items from jobtree.held_delta d
  where d.type = p_type and d.seen is null and d.xid >= coalesce((select l.next from latest l), '0')
  union all
  select d.* from latest l
  cross join lateral unnest(l.running) r(xid)
  cross join lateral (
    select d.ctid, d.items from jobtree.held_delta d where d.type = p_type and d.seen is null and d.xid = r.xid offset 0
  ) d
  where r.xid < l.next
$$;

-- Keeps leases alive: the deadline of each moves to three heartbeat intervals from now. If only some of a lease's open items are named,
-- those get deadlines of their own, and the others keep theirs.
--
-- p_lease_ids, p_named   leases, none twice, and a mask of the items that are named in each: bit_at
-- returns    the named assignments that are not HELD, with their status: assignment_status
-- locks      leases in the order of their ids, skipping locked ones: these count as held, and nobody can take them back meanwhile
-- durability the commit does not wait for the disk: losing a heartbeat costs at most the lease
create or replace function jobtree.keep_leases(p_lease_ids uuid[], p_named bit(128)[])
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
    select k.*, u.named
    from (select u.id, u.named from unnest(p_lease_ids, p_named) u(id, named) order by u.id) u
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
  set heartbeat_at = v_now,
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
-- p_workers, p_claim_ids   of the requests: the worker, and the claim id, if any
-- p_limited_types   the types whose leases count against a concurrency limit (note_claims)
-- returns    a row for each lease: the number of its request, from 1; whether items remain behind it in its entry; numbers, null for all of
--            its items; the payloads in order, as JSON texts separated by the record separator U+001E, which JSON can't contain; and the
--            numbers of the items that fail for good if this attempt fails, as last_attempts returns them
-- locks      none new. It deletes the entries, inserts leases, and adds a delta for a job that had not started. Entries of a cancelled job
--            are not leased but counted as cancelled
create or replace function jobtree.lease_entries(
  p_tids tid[], p_froms integer[], p_counts integer[], p_requests integer[], p_workers text[], p_claim_ids uuid[],
  p_limited_types text[] default null
)
returns table (
  lease_id uuid, request integer, job_id uuid, root_id uuid, type text, first_position bigint, attempt integer, worker text,
  heartbeat_interval_ms integer, claimed_at timestamptz, deadline_at timestamptz, priority smallint, place bigint,
  has_rest boolean, numbers integer[], payloads text, ready_at timestamptz, last_numbers integer[]
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
      w.heartbeat_interval_ms, w.max_failures_per_item, u."from" + u.count < w.count as has_rest, i.payloads, i.bytes, w.ready_at, w.count as entry_count, w.bytes as entry_bytes
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
    insert into jobtree.queue_entry (job_id, position, place, bytes, attempt, count, priority, type, keyed, ready_at)
    select p.job_id, max(p.position + p.count), max(p.place + p.count), greatest(p.entry_bytes - sum(p.bytes), 0), p.attempt,
      p.entry_count - sum(p.count), p.priority, p.type, p.keyed, p.ready_at
    from part p
    group by p.tid, p.job_id, p.entry_bytes, p.attempt, p.entry_count, p.priority, p.type, p.keyed, p.ready_at
    having p.entry_count > sum(p.count)
  ), leased as (
    insert into jobtree.lease (
      id, job_id, claim_id, position, claimed_at, heartbeat_at, check_at, attempt, count, priority, open, worker, keyed, limited_type
    )
    select p.id, p.job_id, p_claim_ids[p.request], p.position, v_now, v_now,
      v_now + 3 * p.heartbeat_interval_ms * interval '1 millisecond', p.attempt, p.count, p.priority,
      (~B'0'::bit(128)) << (128 - p.count), p_workers[p.request], p.keyed,
      case when p.type = any (p_limited_types) then p.type end
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
    end
  from part p
  order by p.n;
end
$$;

-- Turns one queue entry, or a part of it, into a lease. For claim_item, and for claim_items if one entry is enough, as for most claims: a
-- few small statements cost less than the large one of lease_entries.
--
-- p_tid      where the entry is: a row that this transaction has locked
-- p_from, p_count   the items: the first one in the entry, from 0, and how many
-- p_request, p_worker, p_claim_id   whose lease it is; p_claim_id is null for a claim that can't be repeated
-- p_is_limited   whether it counts against a concurrency limit (note_claims)
-- returns    as lease_entries; no row if the job was cancelled, in which case all items of the entry count as cancelled
-- locks      none new
create or replace function jobtree.lease_entry(
  p_tid tid, p_from integer, p_count integer, p_request integer, p_worker text, p_claim_id uuid, p_is_limited boolean default false
)
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
    q.priority, q.type, q.keyed, q.run_at, q.ready_at
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
      v_entry.priority, v_entry.type, v_entry.keyed, v_entry.ready_at, p_from, p_count);
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
  -- An item that is due but not promoted has been ready since its run_at.
  ready_at := coalesce(v_entry.run_at, v_entry.ready_at);
  if attempt > v_job.max_failures_per_item then
    last_numbers := jobtree.last_attempts(job_id, first_position, p_count, attempt, v_job.max_failures_per_item);
  end if;
  insert into jobtree.lease (
    id, job_id, claim_id, position, claimed_at, heartbeat_at, check_at, attempt, count, priority, open, worker, keyed, limited_type
  )
  values (
    lease_id, v_entry.job_id, p_claim_id, first_position, v_now, v_now, deadline_at, v_entry.attempt, p_count, v_entry.priority,
    (~B'0'::bit(128)) << (128 - p_count), p_worker, v_entry.keyed,
    case when p_is_limited then v_entry.type end
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

-- Gives a claim the right to decide about limited types: until its transaction ends, no other claim gives out items of them. So no two
-- claims take the same room. Also adds up what has ended since the last claim.
--
-- p_types    the types; the answer leaves out those that are neither paused nor limited
-- returns    for each how many items may be claimed, and when to look again (queue_rooms); and whether its concurrency is limited, so that
--            new leases count. room is null if another claim is deciding, until that one commits
-- locks      the rows of queue that are not paused, skipping locked ones
-- errors     JT002 the transaction would not see what other claims have committed meanwhile
create or replace function jobtree.lock_queues(p_types text[])
returns table (type text, room integer, again_in_ms integer, counts boolean)
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
  v_queue record;
  v_locked text[] := '{}';
begin
  if current_setting('transaction_isolation') not in ('read committed', 'read uncommitted') then
    raise exception 'Claims of types with limits need the isolation level READ COMMITTED.' using errcode = 'JT002', column = 'types';
  end if;
  for v_queue in
    select q.type, q.concurrency, q.limited_by, q.limited_by < pg_snapshot_xmin(pg_current_snapshot()) as is_over from jobtree.queue q
    where q.type = any (p_types) and not q.paused and (q.concurrency is not null or q.rate_limit is not null)
    order by q.type
    for no key update skip locked
  loop
    v_locked := v_locked || v_queue.type;
    continue when v_queue.concurrency is null;
    if v_queue.limited_by is not null then
      perform jobtree.adopt_leases(array[v_queue.type]);
      update jobtree.queue q set limited_by = null where q.type = v_queue.type and v_queue.is_over;
    end if;
    if (select count(*) from jobtree.held_deltas(v_queue.type)) > 1 then
      with gone as (
        delete from jobtree.held_delta d where d.ctid = any (array(select h.tid from jobtree.held_deltas(v_queue.type) h)) returning d.items
      )
      insert into jobtree.held_delta (type, items, seen) select v_queue.type, sum(g.items), pg_current_snapshot() from gone g;
    end if;
  end loop;

  -- New statements, which see what earlier claims have committed.
  return query
    select r.*, q.concurrency is not null
    from jobtree.queue_rooms(array(
      select q.type from jobtree.queue q where q.type = any (p_types) and (q.paused or q.type = any (v_locked))
    )) r
    cross join lateral (select q.concurrency from jobtree.queue q where q.type = r.type offset 0) q;
  return query
    select q.type, null::integer, 0, null::boolean from jobtree.queue q
    where q.type = any (p_types) and q.type <> all (v_locked) and not q.paused and (q.concurrency is not null or q.rate_limit is not null);
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
    when p_last_job_id is null then jobtree.jobs_of_operation(p_operation)
    when p_last_job_id = p_operation.next_job_id then array[p_last_job_id]
  end;
  v_first constant bigint := coalesce((select min(u) from unnest(p_operation.item_positions) u), 0);
  v_end constant bigint := p_operation.before_position - 1;
  v_states constant text[] := p_operation.states;
  -- Whether the items themselves must be read.
  v_by_item constant boolean := num_nonnulls(
    p_operation.added_from, p_operation.added_until, p_operation.dedupe_keys, p_operation.item_positions, p_operation.codes
  ) > 0;
begin
  return query
  with pending as (
    select q.job_id, q.position, q.count::integer as count, q.attempt, null::uuid as lease_id, false as blocked, ~B'0'::bit(128) as open
    from jobtree.queue_entry q
    where p_operation.kind = 'CANCEL'
      and (v_jobs is null or q.job_id = any (v_jobs)) and q.position > v_first - 128 and q.position <= v_end
      and (q.job_id, q.position) > (p_operation.next_job_id, p_operation.next_position - 127)
      and (p_last_job_id is null or (q.job_id, q.position) <= (p_last_job_id, p_last_position))
      and (p_operation.types is null or q.type = any (p_operation.types))
      and (v_states is null or case
        when q.run_at = 'infinity' then 'WAITING' when q.run_at <= v_now or q.run_at is null then 'READY'
        when q.attempt > 1 then 'RETRYING' else 'SCHEDULED'
      end = any (v_states))
    union all
    select q.job_id, q.position, q.count, q.attempt, null, false, ~B'0'::bit(128)
    from jobtree.queue_entry q
    where p_operation.kind = 'PROMOTE'
      -- Written as in the index of the scheduled entries of each job.
      and coalesce(q.run_at, 'infinity') < 'infinity'
      and (v_jobs is null or q.job_id = any (v_jobs)) and q.position > v_first - 128 and q.position <= v_end
      and (q.job_id, q.position) > (p_operation.next_job_id, p_operation.next_position - 127)
      and (p_last_job_id is null or (q.job_id, q.position) <= (p_last_job_id, p_last_position))
      and (p_operation.types is null or q.type = any (p_operation.types))
      and q.ready_at <= p_operation.requested_at
      and case when q.run_at <= v_now then 'READY' when q.attempt > 1 then 'RETRYING' else 'SCHEDULED' end = any (v_states)
    union all
    select l.job_id, l.position, l.count, l.attempt, l.id, false, l.open
    from jobtree.lease l
    where p_operation.kind = 'CANCEL' and coalesce(l.check_at, 'infinity') < 'infinity'
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
      and (p_operation.types is null or b.type = any (p_operation.types))
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

-- Records what was claimed of limited types, so that the next claim counts it.
--
-- p_lease_ids, p_types   new leases of this transaction, and their types, whose rows of queue it has locked
-- returns    how many leases these were
create or replace function jobtree.note_claims(p_lease_ids uuid[], p_types text[])
returns integer
language plpgsql volatile
set jit = off
set enable_seqscan = off
set enable_bitmapscan = off
set enable_hashjoin = off
set enable_mergejoin = off
set plan_cache_mode = force_generic_plan
as $$
begin
  insert into jobtree.held_delta (type, items)
  select l.limited_type, sum(l.count) from jobtree.lease l
  where l.id = any (p_lease_ids) and l.limited_type is not null
  group by l.limited_type;

  -- A slice counts until an interval after its end, so a claim counts for the full interval, and at most a hundredth longer. The
  -- leases are older than this statement, but their times are rounded.
  insert into jobtree.rate_slice (type, ends_at, claims)
  select s.type, s.ends_at, s.claims
  from (
    select u.type, date_bin(q.width, clock_timestamp() + interval '1 millisecond', 'epoch') + q.width as ends_at, sum(l.count) as claims
    from unnest(p_types, p_lease_ids) u(type, lease_id)
    cross join lateral (
      select q.rate_interval_ms * interval '10 microseconds' as width from jobtree.queue q
      where q.type = u.type and q.rate_limit is not null
      offset 0
    ) q
    cross join lateral (select l.count from jobtree.lease l where l.id = u.lease_id offset 0) l
    group by 1, 2
  ) s
  on conflict (type, ends_at) do update set claims = rate_slice.claims + excluded.claims;
  return cardinality(p_lease_ids);
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
      (select q.job_id, q.position, q.position + q.count - 1, q.count
      from jobtree.queue_entry q
      where p_operation.kind = 'PROMOTE' and (q.job_id, q.position) > (from_job_id, from_position) and q.job_id <= v_until
        and q.position < p_operation.before_position
        -- Written as in the index of the scheduled entries of each job.
        and coalesce(q.run_at, 'infinity') < 'infinity'
      order by q.job_id, q.position
      limit p_ranges)
      union all
      (select b.job_id, b.position, b.position, 1
      from jobtree.blocked_item b
      where p_operation.kind = 'CANCEL' and (b.job_id, b.position) > (from_job_id, from_position) and b.job_id <= v_until
        and b.position < p_operation.before_position
      order by b.job_id, b.position
      limit p_ranges)
      union all
      (select l.job_id, l.position, l.position, l.count
      from jobtree.lease l
      where p_operation.kind = 'CANCEL' and (l.job_id, l.position) > (from_job_id, from_position) and l.job_id <= v_until
        and l.position < p_operation.before_position and coalesce(l.check_at, 'infinity') < 'infinity'
      order by l.job_id, l.position
      limit p_ranges)
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
-- returns    the items that are ready, scheduled, waiting for other jobs, blocked behind their serialize keys, and held by workers; and for
--            how long the oldest ready item has been ready, in milliseconds: null if none is ready
create or replace function jobtree.queue_depths(p_types text[] default null, p_after text default null)
returns table (
  type text, ready bigint, scheduled bigint, waiting bigint, blocked bigint, running bigint, oldest_ready_ms bigint
)
language sql stable
as $$
  with entries as (
    select q.type, coalesce(sum(q.count) filter (where q.run_at is null), 0)::bigint as ready,
      coalesce(sum(q.count) filter (where q.run_at < 'infinity'), 0)::bigint as scheduled,
      coalesce(sum(q.count) filter (where q.run_at = 'infinity'), 0)::bigint as waiting,
      min(q.ready_at) filter (where q.run_at is null) as since
    from jobtree.queue_entry q
    where (p_types is null or q.type = any (p_types)) and (p_after is null or q.type > p_after)
    group by q.type
  ), held as (
    select j.type, sum(h.items)::bigint as running
    from (
      select l.job_id, sum(bit_count(l.open)) as items from jobtree.lease l
      where l.check_at is not null
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
  order by type
$$;

-- How many more items of limited types may be claimed now. Never fewer than the limits allow; a claim that must not exceed them has locked
-- the rows (lock_queues).
--
-- p_types    the types; the answer leaves out those that are neither paused nor limited
-- returns    the room of each, 0 if it is paused or at a limit; and in how many milliseconds to look again once the room is used up: for a
--            rate when its oldest claims stop counting, otherwise soon, since nobody can foresee when an item ends
-- locks      none
create or replace function jobtree.queue_rooms(p_types text[])
returns table (type text, room integer, again_in_ms integer)
language plpgsql stable
set jit = off
set enable_seqscan = off
set enable_bitmapscan = off
set enable_hashjoin = off
set enable_mergejoin = off
set plan_cache_mode = force_generic_plan
as $$
#variable_conflict use_column
declare
  v_now constant timestamptz := clock_timestamp();
begin
  return query
    select q.type, case when q.paused then 0 else greatest(0, least(h.places, r.claims, 1000000))::integer end,
      case
        when q.paused then 1000
        when r.claims <= coalesce(h.places, r.claims)
          then ceil(extract(epoch from coalesce(r.oldest, v_now) + r.interval - v_now) * 1000)::integer
        else 100
      end
    from jobtree.queue q
    cross join lateral (
      select q.concurrency - coalesce(sum(d.items), 0) as places from jobtree.held_deltas(case when q.concurrency is not null then q.type end) d
    ) h
    cross join lateral (
      select q.rate_limit - coalesce(sum(s.claims), 0) as claims, min(s.ends_at) as oldest, i.interval
      from (select q.rate_interval_ms * interval '1 millisecond' as interval) i
      left join jobtree.rate_slice s on s.type = q.type and s.ends_at > v_now - i.interval
      group by i.interval
    ) r
    where q.type = any (p_types) and (q.paused or q.concurrency is not null or q.rate_limit is not null);
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
    set open = l.open # g.bits, check_at = case when l.open <> g.bits then l.check_at end
    from (select g.lease_id, bit_or(jobtree.bit_at(g.number)) as bits from given g group by g.lease_id) g
    where l.id = g.lease_id
  )
  select jsonb_object_agg(g.id, jsonb_build_array(g.type, g.priority, g.position)) as by_id,
    array_agg(g.job_id) as job_ids, array_agg(g.position) as positions,
    array_agg(g.attempt) as attempts, array_agg(g.priority) as priorities
  into v_given
  from given g;

  perform jobtree.requeue(v_given.job_ids, v_given.positions, v_given.attempts, v_given.priorities, null, false);
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
  has_rest boolean, numbers integer[], payloads text, ready_at timestamptz, last_numbers integer[]
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
    set heartbeat_at = v_now, deadlines = null
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
    k.claimed_at::timestamptz, v_now + 3 * k.heartbeat_interval_ms * interval '1 millisecond', k.priority, null::bigint, false, i.numbers, i.payloads, null::timestamptz,
    case when k.attempt > k.max_failures_per_item then
      jobtree.last_attempts(k.job_id, k.position, k.count, k.attempt, k.max_failures_per_item)
    end
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

-- Changes the settings of a type for all servers at once: they apply to claims that begin after the commit. A type without settings has no
-- row and costs its claims nothing.
--
-- p_settings JSON {paused?, concurrency?, rate?: {limit, intervalMs}, lifetimeMs?, priority?, maxFailuresPerItem?, backoffMs?,
--            backoffJitter?, heartbeatIntervalMs?, deadLetterAlert?: {endpoint, count, intervalMs}}: missing settings stay as they are, and
--            null removes one. priority to heartbeatIntervalMs are defaults of new jobs; the alert: raise_alerts
-- locks      the type's row of queue: waits for a claim of the type in progress
-- notifies   send_hint, topic work: there may be work of the type again
-- errors     JT002, with the field in the error's column
create or replace function jobtree.set_queue(p_type text, p_settings json)
returns void
language plpgsql volatile
set jit = off
set enable_seqscan = off
set enable_hashjoin = off
set enable_mergejoin = off
as $$
declare
  v_settings jsonb;
  v_old jobtree.queue;
  v_new jobtree.queue;
begin
  v_settings := jobtree.check_queue(p_type, p_settings);
  loop
    insert into jobtree.queue (type) values (p_type) on conflict (type) do nothing;
    select * into v_old from jobtree.queue q where q.type = p_type for update;
    -- The row is missing if another call has just removed the last setting.
    exit when found;
  end loop;

  update jobtree.queue q
  set paused = case when v_settings ? 'paused' then coalesce(s.paused, false) else q.paused end,
    concurrency = case when v_settings ? 'concurrency' then s.concurrency else q.concurrency end,
    rate_limit = case when v_settings ? 'rate' then (s.rate ->> 'limit')::integer else q.rate_limit end,
    rate_interval_ms = case when v_settings ? 'rate' then (s.rate ->> 'intervalMs')::integer else q.rate_interval_ms end,
    lifetime_ms = case when v_settings ? 'lifetimeMs' then s."lifetimeMs" else q.lifetime_ms end,
    priority = case when v_settings ? 'priority' then s.priority else q.priority end,
    max_failures_per_item = case when v_settings ? 'maxFailuresPerItem' then s."maxFailuresPerItem" else q.max_failures_per_item end,
    backoff_ms = case when v_settings ? 'backoffMs' then s."backoffMs" else q.backoff_ms end,
    backoff_jitter = case when v_settings ? 'backoffJitter' then round(s."backoffJitter", 9) else q.backoff_jitter end,
    heartbeat_interval_ms = case when v_settings ? 'heartbeatIntervalMs' then s."heartbeatIntervalMs" else q.heartbeat_interval_ms end
  from jsonb_to_record(v_settings) s(
    paused boolean, concurrency integer, rate jsonb, "lifetimeMs" integer, priority smallint, "maxFailuresPerItem" integer,
    "backoffMs" integer[], "backoffJitter" numeric, "heartbeatIntervalMs" integer
  )
  where q.type = p_type
  returning q.* into v_new;

  if v_new.concurrency is null then
    delete from jobtree.held_delta d where d.type = p_type;
  elsif v_old.concurrency is null then
    -- Leases of an earlier limit may still count.
    with gone as (
      delete from jobtree.held_delta d where d.type = p_type
    )
    insert into jobtree.held_delta (type, items, seen)
    select p_type, coalesce(sum(bit_count(l.open)), 0), pg_current_snapshot() from jobtree.lease l
    where l.limited_type = p_type and l.check_at is not null;
    perform jobtree.adopt_leases(array[p_type]);
    -- The leases of claims that are in progress count once these have ended.
    update jobtree.queue q set limited_by = pg_current_xact_id() where q.type = p_type;
  end if;
  if v_new.rate_limit is null then
    delete from jobtree.rate_slice s where s.type = p_type;
  end if;
  delete from jobtree.queue q
  where q.type = p_type and not q.paused and num_nonnulls(
    q.concurrency, q.rate_limit, q.lifetime_ms, q.priority, q.max_failures_per_item, q.backoff_ms, q.backoff_jitter, q.heartbeat_interval_ms
  ) = 0;
  if v_settings ? 'deadLetterAlert' then
    perform jobtree.set_alert(p_type, v_settings -> 'deadLetterAlert');
  end if;
  perform jobtree.wake_workers(p_type, 100);
end
$$;

-- Gives items back to be tried later: each is scheduled, and its next attempt has the number of this one. It is not a failure, and nothing
-- remains of it but the lease.
--
-- p_lease_ids, p_numbers   assignments whose leases this transaction has locked, none twice
-- p_delays   how long each waits, in milliseconds
-- returns    which of them counted, from 1, and when each of these is due; those that are not open, or whose job is cancelled, don't count
-- locks      none new
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
    set open = l.open # g.bits, check_at = case when l.open <> g.bits then l.check_at end
    from (select g.lease_id, bit_or(jobtree.bit_at(g.number)) as bits from given g group by g.lease_id) g
    where l.id = g.lease_id
  )
  select array_agg(g.n) as ns, array_agg(g.job_id) as job_ids, array_agg(g.position) as positions, array_agg(g.attempt) as attempts,
    array_agg(g.priority) as priorities, array_agg(g.due_at) as due
  into v_given
  from given g;

  perform jobtree.requeue(v_given.job_ids, v_given.positions, v_given.attempts, v_given.priorities, v_given.due, true);
  return query select v_given.ns, v_given.due;
end
$$;

-- Takes items back from workers that have fallen silent: in leases past their deadline, the attempts at items whose own deadline is
-- over fail with the code HEARTBEAT_LOST. Call it again at once as long as a batch was full.
--
-- Heartbeats change no index: a lease that got some is found at its first deadline, too, and then moves on to its present one.
--
-- p_resumed_at   what note_sweep returned: nothing is taken back until a full lease time after it
-- p_within   looks only at deadlines that passed within this time, past the dead rows of older leases; null for all, which is needed now
--            and then for leases that were locked or committed late. Soon after an outage all are examined, since they are long overdue
-- returns    how many items were lost; how many leases were due; the trees that changed; the types that got ready items, and how many; and
--            figures, without times, and failures, as report_results returns them
-- locks      leases, skipping locked ones
create or replace function jobtree.sweep_leases(
  p_resumed_at timestamptz default '-infinity', p_limit integer default 1000, p_within interval default null
)
returns table (lost integer, leases integer, root_ids uuid[], ready jsonb, figures json[], failed json[])
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
  v_from constant timestamptz := case
    when p_within is null or p_resumed_at > v_now - interval '5 minutes' then '-infinity' else v_now - p_within
  end;
  v_leases uuid[];
  v_lost_leases uuid[];
  v_numbers integer[];
begin
  select array_agg(k.id) into v_leases
  from (
    select l.id from jobtree.lease l
    cross join lateral (
      select j.heartbeat_interval_ms from jobtree.job j where j.id = l.job_id and j.cancelled_at is null offset 0
    ) j
    where l.check_at >= v_from and l.check_at <= v_now and p_resumed_at + 3 * j.heartbeat_interval_ms * interval '1 millisecond' <= v_now
    order by l.check_at
    limit p_limit
    for update of l skip locked
  ) k;
  if v_leases is null then
    return query select 0, 0, null::uuid[], null::jsonb, null::json[], null::json[];
    return;
  end if;

  with due as materialized (
    select l.id, n, coalesce(l.deadlines[n], l.heartbeat_at + 3 * j.heartbeat_interval_ms * interval '1 millisecond') as deadline
    from jobtree.lease l
    cross join lateral (select j.heartbeat_interval_ms from jobtree.job j where j.id = l.job_id offset 0) j
    cross join lateral generate_series(1, l.count) n
    where l.id = any (v_leases) and get_bit(l.open, n - 1) = 1
  ), moved as (
    update jobtree.lease l set check_at = d.next
    from (select d.id, min(d.deadline) as next from due d where d.deadline > v_now group by d.id) d
    where l.id = d.id
  )
  select array_agg(d.id order by d.id, d.n), array_agg(d.n order by d.id, d.n) into v_lost_leases, v_numbers
  from due d
  where d.deadline <= v_now;

  -- No item is lost if all leases have moved on, or the silent items were reported meanwhile.
  return query
    select coalesce(cardinality(f.accepted), 0), cardinality(v_leases), f.root_ids, f.ready, f.figures, f.failed
    from (select) o
    left join jobtree.fail_attempts(
      v_lost_leases, v_numbers,
      array_fill('{"code": "HEARTBEAT_LOST", "message": "The worker''s heartbeat was lost."}'::json, array[coalesce(cardinality(v_numbers), 0)]),
      true
    ) f on true;
end
$$;

create trigger "lease_places" after update of "open" on "jobtree"."lease" for each row
  when (old.limited_type is not null and new.open <> old.open) execute function jobtree.give_back_places();

select jobtree.adopt_leases(array(select q.type from "jobtree"."queue" q where q.concurrency is not null));
