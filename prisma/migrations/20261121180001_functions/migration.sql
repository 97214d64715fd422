set local check_function_bodies = off;

-- Stores which endpoints are called when a tree, or each job of it, is complete.
--
-- p_callbacks   up to 10 of {endpoint, on?: TREE|JOB}; TREE by default; duplicates count once
-- errors     JT002, with the field in the error's column, also for an unknown endpoint, and if the tree would have more than 10
create or replace function jobtree.add_callbacks(p_root_id uuid, p_callbacks jsonb)
returns void
language plpgsql volatile
set jit = off
set enable_seqscan = off
as $$
declare
  v_problem record;
begin
  if jsonb_array_length(p_callbacks) > 10 then
    raise exception 'callbacks has % entries; the limit is 10.', jsonb_array_length(p_callbacks) using errcode = 'JT002', column = 'callbacks';
  end if;
  select format('callbacks[%s]', c.n - 1) || coalesce('.' || nullif(p.field, ''), '') as field, p.message into v_problem
  from jsonb_array_elements(p_callbacks) with ordinality c(value, n)
  cross join lateral (
    select i.field, i.message from jobtree.input_problem(c.value, '{endpoint,on}') i
    union all
    select 'on', format('is %s; it must be TREE or JOB', left((c.value -> 'on')::text, 80)) where coalesce(nullif(c.value -> 'on', 'null'), '"TREE"') not in ('"TREE"', '"JOB"')
    union all
    select 'endpoint', 'is missing' where c.value ->> 'endpoint' is null
    union all
    select 'endpoint', format('is %s, but there is no endpoint of that name', c.value ->> 'endpoint')
    where not exists (select from jobtree.callback_endpoint e where e.name = c.value ->> 'endpoint')
    limit 1
  ) p
  order by c.n
  limit 1;
  if found then
    raise exception '% %.', v_problem.field, v_problem.message using errcode = 'JT002', column = v_problem.field;
  end if;

  insert into jobtree.callback (root_id, endpoint, event)
  select p_root_id, c.value ->> 'endpoint', coalesce(c.value ->> 'on', 'TREE')
  from jsonb_array_elements(p_callbacks) c(value)
  on conflict do nothing;
  if (select count(*) from jobtree.callback c where c.root_id = p_root_id) > 10 then
    raise exception 'The tree would have more than 10 callbacks.' using errcode = 'JT002', column = 'callbacks';
  end if;
end
$$;

-- Adds the callbacks' deliveries for jobs that have just been completed, and for the trees of which these were the last. The fold calls it in
-- its transaction: if a crash undoes that, the next fold adds the same messages with the same ids.
--
-- p_root_ids the trees
-- p_job_ids  the completed jobs, at least one of each tree, whose job_progress rows already show this completion
-- locks      the trees' rows of callback; only another fold of such a tree would wait for them, and there is none
create or replace function jobtree.add_deliveries(p_root_ids uuid[], p_job_ids uuid[])
returns void
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
  v_root_ids constant uuid[] := array(
    select r from unnest(p_root_ids) r cross join lateral (select from jobtree.callback c where c.root_id = r limit 1) c
  );
begin
  if cardinality(v_root_ids) = 0 then
    return;
  end if;

  with counted as (
    update jobtree.callback c
    set completions = c.completions + 1
    from unnest(v_root_ids) r(id)
    where c.root_id = r.id and c.event = 'TREE'
      and (select p.open_jobs from jobtree.job_progress p where p.job_id = r.id order by p.version desc limit 1) = 0
    returning c.*
  ), tree as materialized (
    select j.root_id, count(*) as jobs, sum(p.item_count) as item_count, sum(p.succeeded) as succeeded, sum(p.failed) as failed,
      sum(p.cancelled) as cancelled, max(p.completed_at) as completed_at, max(p.tree_outcome) as outcome
    from (select distinct c.root_id from counted c) c
    join jobtree.job j on j.root_id = c.root_id
    cross join lateral (select * from jobtree.job_progress p where p.job_id = j.id order by p.version desc limit 1) p
    group by j.root_id
  ), message as (
    select 'job' as subject, m.id, m.root_id, c.endpoint, m.completions, m.completed_at, json_build_object(
      'jobId', 'Job:' || m.id, 'rootId', 'Job:' || m.root_id, 'type', jobtree.name_within(m.type, c.endpoint),
      'dedupeKey', m.dedupe_key, 'outcome', m.outcome, 'cancelReason', m.cancel_reason,
      'itemCount', m.item_count, 'succeeded', m.succeeded, 'failed', m.failed, 'cancelled', m.cancelled, 'completions', m.completions
    ) as data
    from (
      select j.id, j.root_id, j.type, j.dedupe_key, j.cancel_reason, p.completed_at, p.outcome, p.item_count, p.succeeded, p.failed, p.cancelled,
        p.completions
      from unnest(p_job_ids) u(id)
      join jobtree.job j on j.id = u.id
      cross join lateral (select * from jobtree.job_progress p where p.job_id = u.id order by p.version desc limit 1) p
      where p.completed_at is not null
      offset 0
    ) m
    join jobtree.callback c on c.root_id = m.root_id and c.event = 'JOB'
    union all
    select 'tree', r.id, r.id, c.endpoint, c.completions, t.completed_at, json_build_object(
      'rootId', 'Job:' || r.id, 'type', jobtree.name_within(r.type, c.endpoint),
      'dedupeKey', r.dedupe_key, 'outcome', t.outcome, 'cancelReason', r.cancel_reason, 'jobs', t.jobs,
      'itemCount', t.item_count, 'succeeded', t.succeeded, 'failed', t.failed, 'cancelled', t.cancelled, 'completions', c.completions
    )
    from counted c
    join tree t on t.root_id = c.root_id
    join jobtree.job r on r.id = c.root_id
  )
  insert into jobtree.callback_delivery (id, message_id, endpoint, event, root_id, body, created_at, due_at)
  select jobtree.new_id(), format('%s_%s_%s', m.subject, m.id, m.completions), m.endpoint, upper(m.subject), m.root_id,
    jobtree.callback_body(m.subject || '.completed', m.completed_at, m.data)::text, v_now, v_now
  from message m
  on conflict do nothing;
end
$$;

-- Has servers add the lines of an upload to a job, and seal the job at the end of the file: leaseImports.
--
-- p_type     the type of the job
-- p_file     {source: {uploadId}, format, encoding?, delimiter?, quote?, header?}; servers validate the values
-- locks      the upload's row, shared
-- errors     JT001 no such upload; JT002 the upload is not complete, or the job has a file
create or replace function jobtree.add_file(p_job_id uuid, p_type text, p_file jsonb)
returns void
language plpgsql volatile
set jit = off
set enable_seqscan = off
as $$
declare
  v_upload jobtree.upload;
begin
  if p_file #>> '{source,uploadId}' !~* '^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$' then
    raise exception 'file.source.uploadId is not the id of an upload.' using errcode = 'JT002', column = 'file.source.uploadId';
  end if;
  select * into v_upload from jobtree.upload u where u.id = (p_file #>> '{source,uploadId}')::uuid and u.removed_at is null for share;
  if v_upload.id is null then
    raise exception 'There is no upload %.', p_file #>> '{source,uploadId}' using errcode = 'JT001', column = 'file.source.uploadId';
  end if;
  if v_upload.sha256 is null then
    raise exception 'Upload % is not complete: % bytes of it are stored.', v_upload.id, v_upload.size using errcode = 'JT002', column = 'file.source.uploadId';
  end if;
  insert into jobtree.file_import (job_id, type, upload_id, options, size, created_at)
  values (p_job_id, p_type, v_upload.id, jsonb_strip_nulls(p_file - 'source'), v_upload.size, clock_timestamp())
  on conflict do nothing;
  if not found then
    raise exception 'Job % has a file.', p_job_id using errcode = 'JT002', column = 'file';
  end if;
end
$$;

-- Adds items to a job that is not sealed, and with p_seal seals it in the same transaction. A call with p_seal whose items the job has already,
-- by their dedupe keys, may be repeated: the answer of the first one may have been lost.
--
-- p_items    as insert_items has it; may be empty
-- p_traces   the traces that the items belong to: trace_items; null for none
-- returns    the tree's root, the job's type, and what insert_items returns
-- locks      the job's row (lock_open_job)
-- errors     those of lock_open_job; JT002 invalid items (check_items, trace_items); 22003, 22007, 22008, 22P02 or 23514 for a value out of
--            bounds; JT004 p_seal on a job that its parent seals
create or replace function jobtree.add_items(p_job_id uuid, p_items json, p_seal boolean default false, p_traces json default null)
returns table (root_id uuid, type text, positions bigint[], added boolean[], ready integer)
language plpgsql volatile
set jit = off
set enable_seqscan = off
set plan_cache_mode = force_generic_plan
as $$
declare
  v_payloads text[];
  v_job jobtree.job;
begin
  v_payloads := jobtree.check_items(p_items, 'items');
  v_job := jobtree.lock_open_job(p_job_id, p_seal, p_seal and v_payloads is null);
  root_id := v_job.root_id;
  type := v_job.type;
  ready := 0;
  if v_job.sealed_at is not null then
    positions := array(
      select i.position from json_array_elements(p_items) with ordinality e(value, n)
      cross join lateral (
        select i.position from jobtree.job_item i where i.job_id = p_job_id and i.dedupe_key = e.value ->> 'dedupeKey' offset 0
      ) i
      order by e.n
    );
    if cardinality(positions) < json_array_length(p_items) then
      perform jobtree.lock_open_job(p_job_id, p_seal);
    end if;
    added := array_fill(false, array[cardinality(positions)]);
    return next;
    return;
  end if;
  if v_payloads is not null then
    positions := jobtree.positions_from(jobtree.insert_payloads(v_job, v_payloads), cardinality(v_payloads));
    ready := case when v_job.waits or v_job.run_at > clock_timestamp() then 0 else cardinality(v_payloads) end;
  elsif json_array_length(p_items) > 0 then
    select i.positions, i.added, i.ready into positions, added, ready from jobtree.insert_items(v_job, p_items) i;
  else
    positions := '{}';
    added := '{}';
  end if;
  if p_traces is not null then
    perform jobtree.trace_items(p_job_id, case when added is null then positions else array(
      select case when u.added then u.position end from unnest(positions, added) with ordinality u(position, added, n) order by u.n
    ) end, p_traces);
  end if;
  if p_seal then
    perform jobtree.seal_job(p_job_id);
  end if;
  return next;
end
$$;

-- The variant of add_items for servers, for items that consist of a payload only, as nearly all do.
--
-- p_payloads at least one JSON text; the separator is the record separator U+001E, which JSON can't contain
-- p_traces   the traces that the items belong to: trace_items; null for none
-- returns    the tree's root, the job's type, and the first position of each 1,024 items; the positions of these are consecutive
-- locks      the job's row (lock_open_job)
-- errors     those of lock_open_job; 22P02 or 22P05 for a text that is not JSON, or that Postgres can't store
create or replace function jobtree.add_payloads(p_job_id uuid, p_payloads text, p_traces json default null)
returns table (root_id uuid, type text, first_positions bigint[])
language plpgsql volatile
set plan_cache_mode = force_generic_plan
as $$
declare
  v_job jobtree.job;
  v_payloads constant text[] := string_to_array(p_payloads, E'\x1e');
  v_firsts bigint[];
begin
  if strpos(p_payloads, '\u') > 0 then
    -- As in check_items.
    perform array_to_json(v_payloads::json[])::jsonb;
  end if;
  v_job := jobtree.lock_open_job(p_job_id, false);
  v_firsts := jobtree.insert_payloads(v_job, v_payloads);
  if p_traces is not null then
    perform jobtree.trace_items(p_job_id, jobtree.positions_from(v_firsts, cardinality(v_payloads)), p_traces);
  end if;
  return query select v_job.root_id, v_job.type, v_firsts;
end
$$;

-- Adds counts by name: {"resize": 3} and {"resize": 1, "mail": 2} make {"resize": 4, "mail": 2}. Null counts as empty.
--
-- returns    a JSON object
create or replace function jobtree.add_up(p_counts jsonb, p_more jsonb) returns jsonb
language sql immutable
as $$
  select case
    when p_counts is null then p_more
    when p_more is null then p_counts
    else (
      select jsonb_object_agg(s.key, s.count)
      from (
        select c.key, sum(c.value::bigint) as count
        from (select * from jsonb_each_text(p_counts) union all select * from jsonb_each_text(p_more)) c
        group by c.key
      ) s
    )
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

-- The id of the n-th assignment of a lease: the lease's id, with n as its last byte. Plain SQL, so that the planner inlines it.
create or replace function jobtree.assignment_id(p_lease_id uuid, p_number integer) returns uuid
language sql immutable parallel safe
as $$
  select (left(p_lease_id::text, 34) || lpad(to_hex(p_number), 2, '0'))::uuid
$$;

-- The number of an assignment in its lease, from 1; 0 for an id that no assignment can have.
create or replace function jobtree.assignment_number(p_assignment_id uuid) returns integer
language sql immutable parallel safe
as $$
  select case when n <= 128 then n else 0 end from get_byte(uuid_send(p_assignment_id), 15) n
$$;

-- The mask in which only the bit of a lease's n-th item is set. Plain SQL, so that the planner inlines it.
create or replace function jobtree.bit_at(p_number integer) returns bit(128)
language sql immutable parallel safe
as $$
  select (B'1'::bit(128) >> (p_number - 1))::bit(128)
$$;

-- The runs of ones in a mask of p_count bits.
--
-- returns    a row for each run: its first bit, counted from 0, and its length
create or replace function jobtree.bit_runs(p_bits bit(128), p_count integer)
returns table ("from" integer, count integer)
language sql immutable parallel safe
as $$
  -- The usual case: all bits are ones.
  select 0, p_count where bit_count(p_bits) = p_count
  union all
  (select min(b.n), count(*)::integer
  from (
    select n, n - row_number() over (order by n) as run
    from generate_series(0, p_count - 1) n
    where bit_count(p_bits) < p_count and get_bit(p_bits, n) = 1
  ) b
  group by b.run)
$$;

-- Fails items for good: writes their outcomes and dead letters, and counts them. An item with a serialize key passes it to the next one in
-- its line, or keeps it until the dead letter is replayed or discarded, as its job says.
--
-- p_items    the items, none twice, which are no longer in an entry or an open lease
-- p_keyed    whether any of them may have a key
-- returns    the types that got ready items, and how many
-- locks      those of promote_next
create or replace function jobtree.bury_items(p_items jobtree.dead_item[], p_keyed boolean)
returns jsonb
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
  v_passing record;
begin
  with dead as materialized (
    select u.job_id, u.position, u.lease_id, clock_timestamp()::timestamptz(3) as at, u.code, jobtree.message_pattern(u.message) as pattern,
      j.root_id, j.type
    from unnest(p_items) u
    cross join lateral (select j.root_id, j.type from jobtree.job j where j.id = u.job_id offset 0) j
  ), failed as (
    insert into jobtree.outcome (job_id, position, lease_id, finished_at, failed)
    select d.job_id, d.position, d.lease_id, d.at, true from dead d
  ), kept as (
    insert into jobtree.dead_letter (job_id, position, type, died_at, code, pattern, fingerprint)
    select d.job_id, d.position, d.type, d.at, d.code, d.pattern, jobtree.fingerprint(d.type, d.code, d.pattern) from dead d
  )
  insert into jobtree.progress_delta (root_id, job_id, failed, started)
  select d.root_id, d.job_id, count(*), bool_or(d.lease_id is not null) from dead d group by d.root_id, d.job_id;
  if p_keyed is not true then
    return null;
  end if;

  with ended as materialized (
    select u.job_id, u.position, j.blocks_on_failure
    from unnest(p_items) u
    cross join lateral (select j.blocks_on_failure from jobtree.job j where j.id = u.job_id offset 0) j
  ), held as (
    insert into jobtree.ended_head (job_id, position, key, held)
    select e.job_id, e.position, i.serialize_key, true
    from ended e
    join jobtree.job_item i on i.job_id = e.job_id and i.position = e.position
    -- An item that expired behind the head doesn't have the key, so it can't keep it.
    cross join lateral (
      select from jobtree.serialize_key k
      where k.key = i.serialize_key collate "C" and k.job_id = e.job_id and k.position = e.position
      offset 0
    ) k
    where e.blocks_on_failure
  )
  select array_agg(e.job_id) as job_ids, array_agg(e.position) as positions into v_passing from ended e where not e.blocks_on_failure;
  return jobtree.free_keys(v_passing.job_ids, v_passing.positions);
end
$$;

-- The body of a message to an endpoint, in the form of Standard Webhooks.
--
-- p_type     the event: job.completed, tree.completed, dead_letters.alert
-- p_data     the event's data; below 20 kB in all
-- returns    a JSON object
create or replace function jobtree.callback_body(p_type text, p_at timestamptz, p_data json)
returns json
language sql stable
as $$
  select json_build_object(
    'type', p_type, 'timestamp', to_char(p_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'), 'data', p_data
  )
$$;

-- Cancels what a claim found of jobs that were cancelled meanwhile.
--
-- p_picks    picks of entries that this transaction has locked; those that were leased are gone, and are passed by
-- locks      none new. Leaves the keys to promote_blocked, as free_keys can
create or replace function jobtree.cancel_entries(p_picks jobtree.claim_pick[])
returns void
language plpgsql volatile
set jit = off
set enable_seqscan = off
set enable_bitmapscan = off
set plan_cache_mode = force_generic_plan
as $$
declare
  v_gone jobtree.item_range[];
begin
  with gone as (
    delete from jobtree.queue_entry q where q.ctid = any (array(select p.tid from unnest(p_picks) p)) returning q.*
  )
  select array_agg(row(g.job_id, g.position, g.count, g.keyed)::jobtree.item_range) into v_gone from gone g;
  perform jobtree.cancel_ranges(array_agg(g), j.cancelled_at)
  from unnest(v_gone) g
  cross join lateral (select j.cancelled_at from jobtree.job j where j.id = g.job_id offset 0) j
  group by j.cancelled_at;
end
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
  select count(*)::integer as cost, max(g.position) as last, array_agg(row(p_job_id, g.position, 1, false)::jobtree.item_range) as ranges
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
  select coalesce(sum(case when g.keyed then g.count else 1 end), 0)::integer as cost,
    (select max(n.position) from near n where n.cost < p_limit + n.count having (select max(n.cost) from near n) >= p_limit) as last,
    coalesce(sum(g.count), 0) as items, array_agg(row(p_job_id, g.position, g.count, g.keyed)::jobtree.item_range) as ranges
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
  select (select coalesce(sum(case when p.keyed then p.count else 1 end), 0)::integer from picked p) as cost,
    (select max(n.position) from near n where n.cost < p_limit + n.count having (select max(n.cost) from near n) >= p_limit) as last,
    coalesce(sum(r.count), 0) as items, array_agg(row(p_job_id, e.position + r."from", r.count, e.keyed)::jobtree.item_range) as ranges
  into v_held
  from ended e
  cross join lateral jobtree.bit_runs(e.open, e.count) r;

  perform jobtree.cancel_ranges(
    v_blocked.ranges || v_waiting.ranges || v_held.ranges, (select j.cancelled_at from jobtree.job j where j.id = p_job_id)
  );
  v_done := cardinality(jobtree.exclude_adders(array[p_job_id])) = 1;
  update jobtree.ended_head e set held = false
  where e.ctid = any (array(select h.ctid from jobtree.ended_head h where h.job_id = p_job_id and h.held limit p_limit));
  -- In a single statement: an item that moves between these tables is in one of them in any snapshot.
  v_done := v_done and not exists (
    select from jobtree.queue_entry q where q.job_id = p_job_id
    union all
    select from jobtree.lease l where l.job_id = p_job_id and coalesce(l.check_at, 'infinity') < 'infinity'
    union all
    select from jobtree.blocked_item b where b.job_id = p_job_id
    union all
    select from jobtree.ended_head e where e.job_id = p_job_id and e.held
  );
  if v_done then
    update jobtree.job j set cancelling = false where j.id = p_job_id and j.cancelling;
  end if;
  return query select
    v_blocked.cost + v_waiting.items + v_held.items, v_blocked.cost + v_waiting.cost + v_held.cost,
    coalesce(least(case when v_blocked.cost = p_limit then v_blocked.last end, v_waiting.last, v_held.last) + 1, 0), v_done;
end
$$;

-- Cancels a job and all jobs below it. Marks the jobs: from this commit on they accept no items and give none to workers, and what is
-- pending in them counts as cancelled. Up to p_limit ranges of items leave the queue, or their workers, in this call; cancel_items does the
-- rest, and the sweep of any server calls it if nobody else does. Cancelling twice does nothing.
--
-- p_reason   the jobs' cancel_reason: REQUESTED, or IDLE from expire_tree
-- returns    the tree's root, and the jobs of the subtree that have more to cancel
-- locks      the tree's row, shared, unless it is being deleted, so that none of its jobs is just being completed; the jobs' rows in the order of their ids; then those of
--            cancel_items
-- errors     JT001 no such job
create or replace function jobtree.cancel_job(p_job_id uuid, p_limit integer default 10000, p_reason text default 'REQUESTED')
returns table (root_id uuid, cancelling uuid[])
language plpgsql volatile
set jit = off
set enable_seqscan = off
set enable_bitmapscan = off
set enable_hashjoin = off
set enable_mergejoin = off
as $$
#variable_conflict use_column
declare
  v_jobs uuid[];
  v_job_id uuid;
  v_root uuid;
  v_rest uuid[] := '{}';
  v_left integer := p_limit;
  v_step record;
begin
  with recursive subtree as (
    select j.id, j.root_id from jobtree.job j where j.id = p_job_id
    union all
    select c.id, s.root_id from jobtree.job c join subtree s on c.parent_id = s.id
  )
  select array_agg(s.id order by s.id), (array_agg(s.root_id))[1] into v_jobs, v_root from subtree s;
  if v_jobs is null then
    raise exception 'There is no job %.', p_job_id using errcode = 'JT001', column = 'jobId';
  end if;

  perform 1 from jobtree.tree t where t.root_id = v_root and t.deletion is null for share;
  perform 1 from jobtree.job j where j.id = any (v_jobs) order by j.id for no key update;
  update jobtree.job j
  set cancelled_at = clock_timestamp(), cancel_reason = p_reason, cancelling = true, waits = false, sealed_at = coalesce(j.sealed_at, clock_timestamp())
  where j.id = any (v_jobs) and j.cancelled_at is null
    and (select p.completed_at from jobtree.job_progress p where p.job_id = j.id order by p.version desc limit 1) is null;
  -- Only for jobs that still exist: this may have waited for delete_trees.
  insert into jobtree.progress_delta (root_id, job_id)
  select j.root_id, j.id from jobtree.job j where j.id = any (v_jobs);

  for v_job_id in select j.id from jobtree.job j where j.id = any (v_jobs) and j.cancelling order by j.id
  loop
    if v_left > 0 then
      select * into v_step from jobtree.cancel_items(v_job_id, 0, v_left);
      v_left := v_left - v_step.ranges;
      continue when v_step.done;
    end if;
    v_rest := v_rest || v_job_id;
  end loop;
  return query select v_root, v_rest;
end
$$;

-- Cancels pending items. Waiting items leave the queue or the line of their key; held ones end, which their workers learn from the next
-- heartbeat or report. Serialize keys that they had pass to the next items.
--
-- p_ranges   the items (matching_pending)
-- p_now      whether the next items proceed at once, as free_keys has it
-- returns    how many items were cancelled: locked ones are left; the trees that changed; and the types that got ready items, and how many
-- locks      blocked items, queue entries, leases and those of promote_next, skipping locked ones
create or replace function jobtree.cancel_pending(p_ranges jobtree.pending_range[], p_now boolean)
returns table (done bigint, root_ids uuid[], ready jsonb)
language plpgsql volatile
set jit = off
set enable_seqscan = off
set enable_bitmapscan = off
set enable_hashjoin = off
set enable_mergejoin = off
set plan_cache_mode = force_generic_plan
as $$
declare
  v_blocked jobtree.item_range[];
  v_waiting jobtree.item_range[];
  v_held jobtree.item_range[];
begin
  with picked as materialized (
    select b.ctid as tid, b.job_id, b.position
    from unnest(p_ranges) r
    join jobtree.blocked_item b on b.job_id = r.job_id and b.position = r.position
    where r.blocked
    order by b.job_id, b.position
    for update of b skip locked
  ), gone as (
    delete from jobtree.blocked_item b where b.ctid = any (array(select p.tid from picked p))
  )
  select array_agg(row(p.job_id, p.position, 1, false)::jobtree.item_range) into v_blocked from picked p;

  select array_agg(row(e.job_id, e.position + r."from", r.count, e.keyed)::jobtree.item_range) into v_waiting
  from jobtree.take_entries(p_ranges) t
  cross join lateral unnest(t.entries, t.taken)
    e(job_id, position, place, bytes, run_at, attempt, count, priority, type, keyed, ready_at, lost, taken)
  cross join lateral jobtree.bit_runs(e.taken, e.count) r;

  with picked as materialized (
    select l.id, l.job_id, l.position, l.count, l.keyed, l.open & r.items as items
    from unnest(p_ranges) r
    join jobtree.lease l on l.id = r.lease_id
    order by l.id
    for update of l skip locked
  ), ended as (
    update jobtree.lease l
    set open = l.open # p.items, check_at = case when l.open <> p.items then l.check_at end
    from picked p
    where l.id = p.id
  )
  select array_agg(row(p.job_id, p.position + r."from", r.count, p.keyed)::jobtree.item_range) into v_held
  from picked p
  cross join lateral jobtree.bit_runs(p.items, p.count) r;

  select coalesce(sum(g.count), 0), array_agg(distinct j.root_id) into done, root_ids
  from unnest(v_blocked || v_waiting || v_held) g
  cross join lateral (select j.root_id from jobtree.job j where j.id = g.job_id offset 0) j;
  ready := jobtree.cancel_ranges(v_blocked || v_waiting || v_held, clock_timestamp(), p_now);
  return next;
end
$$;

-- Stores that items are cancelled, neighbours in one range, counts them, and passes on the serialize keys that they had.
--
-- p_ranges   the items, none twice
-- p_at       when they were cancelled
-- p_now      whether the next items of their keys proceed at once, as free_keys has it
-- returns    the types that got ready items, and how many
-- locks      those of free_keys
create or replace function jobtree.cancel_ranges(p_ranges jobtree.item_range[], p_at timestamptz, p_now boolean default false)
returns jsonb
language plpgsql volatile
set jit = off
set enable_seqscan = off
set enable_hashjoin = off
set enable_mergejoin = off
set plan_cache_mode = force_generic_plan
as $$
declare
  v_keyed record;
begin
  with kept as (
    insert into jobtree.cancellation (job_id, position, count, cancelled_at)
    select g.job_id, min(g.position), sum(g.count), p_at
    from (
      select u.*, u.position - sum(u.count) over (partition by u.job_id order by u.position) + u.count as run from unnest(p_ranges) u
    ) g
    group by g.job_id, g.run
    returning job_id, count
  ), counted as (
    insert into jobtree.progress_delta (root_id, job_id, cancelled)
    select j.root_id, k.job_id, k.count
    from (select k.job_id, sum(k.count) as count from kept k group by k.job_id) k
    cross join lateral (select j.root_id from jobtree.job j where j.id = k.job_id offset 0) j
  )
  select array_agg(u.job_id) as job_ids, array_agg(u.position + n) as positions into v_keyed
  from unnest(p_ranges) u
  cross join lateral generate_series(0, u.count - 1) n
  where u.keyed;
  return case when v_keyed.positions is not null then jobtree.free_keys(v_keyed.job_ids, v_keyed.positions, p_now) end;
end
$$;

-- Rejects new items that insert_items can't take. Nearly all items are a payload and nothing else, {"payload": …} without a space, which
-- comparing two lengths shows: an object with further keys is longer than its payload by more than the twelve bytes of the key, the colon
-- and the braces. Only the others are checked one by one. Priorities, instants and the length of dedupe keys are left to casts and the
-- table's constraints.
--
-- p_items    as insert_items takes them
-- p_field    the name of the list in errors: items
-- returns    the texts of the payloads, for insert_payloads, if the items have nothing else; null otherwise, and if there are no items
-- errors     JT002, with the field in the error's column; 22P05 or 22P02 for a character that Postgres can't store
create or replace function jobtree.check_items(p_items json, p_field text)
returns text[]
language plpgsql immutable
set plan_cache_mode = force_generic_plan
as $$
declare
  v_payloads text[];
  v_problem record;
  v_deep text;
begin
  if json_typeof(p_items) is distinct from 'array' then
    raise exception '% must be a list.', p_field using errcode = 'JT002', column = p_field;
  end if;
  -- Of the type jsonb, which rejects what Postgres can't store, \u0000 and half a surrogate pair, where json would have only a later reader
  -- fail. Searching for the escape costs next to nothing; parsing the whole text does not.
  if strpos(p_items::text, '\u') > 0 then
    perform p_items::jsonb;
  end if;
  select case when bool_and(coalesce(octet_length(g.item::text) - octet_length(g.payload) = 12, false)) then array_agg(g.payload) end
  into v_payloads
  from (
    select e.value as item, (e.value -> 'payload')::text as payload from json_array_elements(p_items) e(value) offset 0
  ) g;
  -- Most batches have fewer lists and objects in total than the nesting limit of a single payload.
  if octet_length(p_items::text) - octet_length(replace(replace(p_items::text, '[', ''), '{', '')) > 256 then
    select format('%s[%s].payload', p_field, e.n - 1) into v_deep
    from json_array_elements(p_items) with ordinality e(value, n)
    where json_typeof(e.value) = 'object' and jobtree.is_too_deep((e.value -> 'payload')::text)
    limit 1;
    if v_deep is not null then
      raise exception '% is nested more than 256 levels deep.', v_deep using errcode = 'JT002', column = v_deep;
    end if;
  end if;
  if v_payloads is not null then
    return v_payloads;
  end if;

  for v_problem in
    select format('%s[%s]', p_field, e.n - 1) || coalesce('.' || nullif(p.field, ''), '') as field, p.message
    from json_array_elements(p_items) with ordinality e(json, n)
    cross join lateral (select e.json::jsonb as value) v
    cross join lateral jobtree.input_problem(v.value, '{payload,dedupeKey,priority,runAt,serializeKey}') p
    where case
      when jsonb_typeof(v.value) <> 'object' then true
      when v.value - 'payload' = '{}' then false
      else v.value - '{payload,dedupeKey,priority,runAt,serializeKey}'::text[] <> '{}'
        or jsonb_typeof(v.value -> 'dedupeKey') <> 'string'
        or jsonb_typeof(v.value -> 'serializeKey') <> 'string' or not jobtree.is_name(v.value ->> 'serializeKey', 255)
    end
    limit 1
  loop
    raise exception '% %.', v_problem.field, v_problem.message using errcode = 'JT002', column = v_problem.field;
  end loop;
  return null;
end
$$;

-- Rejects a job of a tree that create_job can't take; its children are checked separately.
--
-- p_job      as create_job has it
-- p_items    its items, as they were sent; null if it has none
-- p_path     where it stands: the place of each ancestor and of itself among its siblings, from 1
-- p_jobs     how many jobs its tree has
-- p_before   what is before the path in the names of fields
-- returns    what check_items returns
-- errors     JT002, with the field in the error's column
create or replace function jobtree.check_job(p_job jsonb, p_items json, p_path integer[], p_jobs bigint, p_before text)
returns text[]
language plpgsql stable
as $$
declare
  v_at constant text := p_before || (select coalesce(string_agg(format('children[%s].', n - 1), '' order by o), '') from unnest(p_path) with ordinality p(n, o));
  -- The field, and what is wrong with it.
  v_problem text[];
begin
  if cardinality(p_path) > 32 then
    raise exception 'The tree is more than 32 levels deep below its root.' using errcode = 'JT002', column = p_before || 'children';
  end if;
  if p_jobs > 1000 then
    raise exception 'The tree has % jobs; the limit is 1000.', p_jobs using errcode = 'JT002', column = p_before || 'children';
  end if;
  select array[p.field, p.message] into v_problem
  from jobtree.input_problem(p_job, array[
    'type', 'dedupeKey', 'priority', 'runAt', 'maxFailuresPerItem', 'backoffMs', 'backoffJitter', 'heartbeatIntervalMs',
    'finalStage', 'toleratedFailureCount', 'toleratedFailurePercentage', 'serializeOnFailure', 'name', 'after', 'sealed', 'feed', 'items', 'file',
    'callbacks', 'traceContext', 'children', 'retentionSeconds', 'idleExpirySeconds'
  ]) p;
  v_problem := coalesce(v_problem, case
    when p_job ->> 'type' is null then '{type,is missing}'
    when cardinality(p_path) > 0 and p_job ->> 'callbacks' is not null then array['callbacks', 'can''t be set: callbacks belong to the root']
    when cardinality(p_path) > 0 and p_job ->> 'traceContext' is not null then array['traceContext', 'can''t be set: it belongs to the root']
    when cardinality(p_path) > 0 and p_job ?| '{retentionSeconds,idleExpirySeconds}' then array[
      case when p_job ? 'retentionSeconds' then 'retentionSeconds' else 'idleExpirySeconds' end,
      'can''t be set: a tree is kept as a whole, so it belongs to the root'
    ]
    when cardinality(p_path) = 0 and p_job ->> 'feed' is not null then array['feed', 'can''t be set: the root has no parent to feed it']
    when p_job ->> 'feed' is not null and (p_job ->> 'sealed')::boolean
      then array['sealed', 'can''t be set: the job is fed by its parent, whose completion seals it']
    when p_job ->> 'file' is not null and (p_job ->> 'feed' is not null or (p_job ->> 'sealed')::boolean)
      then array['file', 'can''t be set: the job would be sealed by its parent, or is sealed already']
  end);
  if v_problem is not null then
    v_problem[1] := rtrim(v_at || v_problem[1], '.');
    raise exception '% %.', coalesce(nullif(v_problem[1], ''), 'The tree'), v_problem[2] using errcode = 'JT002', column = v_problem[1];
  end if;
  if p_job ->> 'items' is null then
    return null;
  end if;
  return jobtree.check_items(p_items, v_at || 'items');
end
$$;

-- Rejects anything but a W3C trace context.
--
-- p_context  {traceparent, tracestate?}
-- errors     JT002, with the field in the error's column
create or replace function jobtree.check_trace_context(p_context json)
returns void
language plpgsql immutable
as $$
begin
  if json_typeof(p_context) is distinct from 'object' or coalesce(p_context ->> 'traceparent', '') !~ '^[0-9a-f]{2}-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}$' then
    raise exception 'traceContext.traceparent must be a W3C traceparent: 00-<32 hexadecimal digits>-<16>-<2>.'
      using errcode = 'JT002', column = 'traceContext.traceparent';
  end if;
  if p_context ->> 'tracestate' !~ '^[ -~]+$' or length(p_context ->> 'tracestate') > 512 then
    raise exception 'traceContext.tracestate must be a W3C tracestate: 1 to 512 visible ASCII characters.'
      using errcode = 'JT002', column = 'traceContext.tracestate';
  end if;
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
returns setof jobtree.claimed_lease
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
  v_lease jobtree.claimed_lease;
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
    if found then
      v_lease := jobtree.lease_entry(
        row(v_entry.tid, p_position - v_entry.position, 1, 1, 0)::jobtree.claim_pick, p_worker, null, null, null, v_queue.concurrency is not null
      );
      if v_lease.lease_id is not null then
        if v_room is not null then
          perform jobtree.note_claims(array[v_lease.lease_id], array[v_lease.type]);
        end if;
        return next v_lease;
        return;
      end if;
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
returns setof jobtree.claimed_lease
language plpgsql volatile
set jit = off
set enable_seqscan = off
set enable_bitmapscan = off
set plan_cache_mode = force_generic_plan
as $$
declare
  -- What lock_queues says of each limited type, by type.
  v_queues jsonb;
  v_repeated jobtree.claimed_lease[];
  v_picked record;
  v_request integer;
  v_lease jobtree.claimed_lease;
  v_leased integer := 0;
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
    v_queues := '{}';
  elsif not p_durable then
    perform set_config('synchronous_commit', 'off', true);
  end if;
  if cardinality(p_claim_ids) > 0 then
    v_repeated := jobtree.repeat_claim(p_claim_ids, p_workers);
    if v_repeated is not null then
      return query select * from unnest(v_repeated);
      return;
    end if;
  end if;
  if v_queues is not null then
    select jsonb_object_agg(l.type, l) into v_queues from jobtree.lock_queues(p_types) l;
  end if;

  if cardinality(p_range_types) = 0 then
    select array_agg(t.type order by t.n), array_agg(32767), array_agg(-32768), array_agg(0)
    into p_range_types, p_range_highs, p_range_lows, p_range_places
    from (select w.type, min(w.n) as n from unnest(p_types) with ordinality w(type, n) group by w.type) t;
  end if;
  if cardinality(p_range_types) > 8 then
    -- One query for all types costs less than a cursor for each.
    select array_agg(r.type order by r.n), array_agg(r.high order by r.n), array_agg(r.low order by r.n), array_agg(r.place order by r.n)
    into p_range_types, p_range_highs, p_range_lows, p_range_places
    from unnest(p_range_types, p_range_highs, p_range_lows, p_range_places) with ordinality r(type, high, low, place, n)
    where exists (
      select from jobtree.queue_entry q
      where q.type = r.type and q.run_at is null
        and (-q.priority::integer, q.place) >= (-r.high, r.place) and -q.priority::integer <= -r.low
      -- Forces a probe for each range instead of a join: the queue may be larger than the statistics say.
      offset 0
    );
  end if;
  v_picked := jobtree.pick_entries(p_types, p_limits, p_range_types, p_range_highs, p_range_lows, p_range_places, v_queues);

  if cardinality(v_picked.picks) = 1 then
    v_request := v_picked.picks[1].request;
    v_lease := jobtree.lease_entry(
      v_picked.picks[1], p_workers[v_request], p_claim_ids[v_request], p_starts[v_request], v_picked.kind,
      coalesce((v_queues -> p_types[v_request] ->> 'counts')::boolean, false)
    );
    if v_lease.lease_id is not null then
      v_leased := 1;
      return next v_lease;
      if v_queues ? v_lease.type then
        perform jobtree.note_claims(array[v_lease.lease_id], array[v_lease.type]);
      end if;
    end if;
  elsif v_queues is null and v_picked.picks is not null then
    return query select * from jobtree.lease_entries(v_picked.picks, p_workers, p_claim_ids, p_starts, v_picked.kind);
    get diagnostics v_leased = row_count;
  elsif v_picked.picks is not null then
    return query
      with given as materialized (
        select l.* from jobtree.lease_entries(
          v_picked.picks, p_workers, p_claim_ids, p_starts, v_picked.kind,
          array(select q.type from jsonb_each(v_queues) q(type, limits) where (q.limits -> 'counts')::boolean)
        ) l
      ), noted as materialized (
        select jobtree.note_claims(array_agg(g.lease_id), array_agg(g.type)) from given g where v_queues ? g.type
      )
      select g.* from given g, noted;
    get diagnostics v_leased = row_count;
  end if;
  if v_leased < cardinality(v_picked.picks) then
    perform jobtree.cancel_entries(v_picked.picks);
  end if;
  if v_queues is not null or v_picked.keyed is not null or v_picked.picks is null and v_picked.kind = 'LOCKED' then
    return query
      select l.* from (
        select case when q.limits -> 'room' = 'null' then 'TAKEN' else 'LIMITED' end as kind, q.type, clock_timestamp() as claimed_at,
          clock_timestamp() + (q.limits ->> 'again_in_ms')::integer * interval '1 millisecond' as deadline_at
        from jsonb_each(v_queues) q(type, limits)
        where q.limits -> 'room' in ('null', '0') or q.type = any (v_picked.used_up)
        union all select 'KEYED', k, null, null from unnest(v_picked.keyed) k
        union all select 'LOCKED', null, null, null where v_picked.picks is null and v_picked.kind = 'LOCKED'
      ) m
      cross join lateral jsonb_populate_record(null::jobtree.claimed_lease, to_jsonb(m)) l;
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
declare
  -- The types whose limit is new. One that is limited while this goes on is left to the next call.
  v_new constant text[] := array(select q.type from jobtree.queue q where q.limited_by is not null);
begin
  if not pg_try_advisory_xact_lock(hashtextextended('jobtree.correct_held', 0)) then
    return;
  end if;
  perform jobtree.adopt_leases(array_agg(q.type)) from jobtree.queue q where q.concurrency is not null having count(*) > 0;
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
  where q.ctid = any (array(select q.ctid from jobtree.queue q where q.type = any (v_new) for no key update skip locked));
end
$$;

-- How often each name occurs in a list: {name: count}; null for an empty list.
--
-- returns    a JSON object
create or replace function jobtree.count_names(p_names text[]) returns jsonb
language sql immutable
as $$
  select jsonb_object_agg(c.name, c.count) from (select u.name, count(*) as count from unnest(p_names) u(name) group by u.name) c
$$;

-- Creates a whole tree of jobs, with the items that it starts with.
--
-- p_tree     JSON of the root: {type, maxFailuresPerItem?, backoffMs?, backoffJitter?, heartbeatIntervalMs?, priority?,
--            runAt?, finalStage?, toleratedFailureCount?, toleratedFailurePercentage?, serializeOnFailure?, name?, after?, dedupeKey?, sealed?,
--            feed?, items?, file?, callbacks?, traceContext?, children?, retentionSeconds?, idleExpirySeconds?}; children are the same, and any
--            depth up to 32. after: link_jobs. Only for the root: callbacks (add_callbacks); traceContext, for the items that the tree
--            starts with (check_trace_context); retentionSeconds and idleExpirySeconds, which default to the servers' settings, and are
--            never if they are null. Only for children: feed, {source: SUCCESSES|REPORTS, forEach?, payload?, serializeKey?}
--            (feed_items). file: add_file, which has a server add the lines of an upload and seal the job.
--            The defaults of priority, failures, backoff and heartbeats come from the queue of the type, if it has them.
--            A job without children is a final stage unless finalStage says otherwise. The ids of the jobs ascend in the order of
--            the document, parents before their children.
-- returns    the root's id, and whether it is new; if another job of the type has the dedupeKey, that job's id
-- errors     JT002 a tree that is too deep or too large, a child's dedupeKey that is in use, or an invalid job, items (check_job),
--            after (link_jobs), callbacks (add_callbacks) or file (add_file)
create or replace function jobtree.create_job(p_tree json)
returns table (job_id uuid, created boolean)
language sql volatile
set jit = off
set enable_seqscan = off
as $$
  select c.job_id, c.created from jobtree.create_jobs(json_build_array(p_tree)) c
$$;

-- Creates trees of jobs, with the items that they start with: all of them, or none. create_job creates one.
--
-- p_trees    JSON array of trees as create_job takes them, up to 1,000
-- returns    for each tree, in order, its root's id, and whether it is new; if another job of the type has the dedupeKey, also one of this
--            call, that job's id
-- errors     JT002 too many trees, and as from create_job; for an invalid job, with more than one tree, its tree as [n], from 0, before the field
create or replace function jobtree.create_jobs(p_trees json)
returns table (job_id uuid, created boolean)
language plpgsql volatile
set jit = off
set enable_seqscan = off
set plan_cache_mode = force_generic_plan
as $$
#variable_conflict use_column
declare
  v_prefix text;
  v_keys text[];
  v_given record;
  v_made record;
  v_node record;
begin
  if json_typeof(p_trees) is distinct from 'array' or json_array_length(p_trees) > 1000 then
    raise exception 'trees must be a list of up to 1000.' using errcode = 'JT002', column = 'trees';
  end if;
  v_prefix := case when json_array_length(p_trees) > 1 then '[%s].' else '' end;
  if strpos(p_trees::text, '"serializeKey"') > 0 then
    -- The keys of all jobs at once and in order: other trees may lock the same ones.
    select jobtree.lock_keys(array_agg(i.value ->> 'serializeKey')) into v_keys
    from json_array_elements(p_trees) t(tree)
    cross join lateral jobtree.tree_nodes(t.tree) n
    cross join lateral json_array_elements(case json_typeof(n.spec -> 'items') when 'array' then n.spec -> 'items' end) i
    -- Items of jobs that wait for others enter no line yet, and check_job rejects invalid keys.
    where coalesce(json_array_length(case json_typeof(n.spec -> 'after') when 'array' then n.spec -> 'after' end), 0) = 0
      and jobtree.is_name(i.value ->> 'serializeKey', 255);
  end if;

  with node as materialized (
    select t.n as tree, n.path, n.spec, cardinality(n.path) as depth,
      row_number() over (order by t.n, n.path)::integer as place, count(*) over (partition by t.n) as jobs
    from json_array_elements(p_trees) with ordinality t(tree, n)
    cross join lateral jobtree.tree_nodes(t.tree) n
  ), checked as materialized (
    select n.*, jobtree.check_job(n.spec::jsonb, n.spec -> 'items', n.path, n.jobs, format(v_prefix, n.tree - 1)) as payloads
    from (select n.* from node n order by n.place offset 0) n
  )
  select json_agg(c.spec order by c.place) as specs, array_agg(c.place order by c.place) filter (where c.path = '{}') as tops,
    array_agg(r.place order by c.place) as roots, array_agg(p.place order by c.place) as parents, array_agg(c.depth order by c.place) as depths,
    (select array_agg(u.payload order by c.place, u.n) from checked c cross join lateral unnest(c.payloads) with ordinality u(payload, n)) as payloads,
    (select array_agg(c.place order by c.place) from checked c cross join lateral unnest(c.payloads)) as owners
  into v_given
  from checked c
  join checked r on r.tree = c.tree and r.path = '{}'
  left join checked p on p.tree = c.tree and c.path <> '{}' and p.path = c.path[:c.depth - 1];
  if v_given.specs is null then
    return;
  end if;

  select array_agg(m.job_id order by m.n) as ids, array_agg(m.created order by m.n) as created into v_made
  from jobtree.insert_jobs(v_given.specs, v_given.payloads, v_given.owners, false, v_given.roots, v_given.parents, v_given.depths)
    with ordinality m(job_id, created, n);
  for v_node in
    select g.id, s.type, s.callbacks, s.file, case when json_array_length(s.items) > 0 and g.n not in (select u from unnest(v_given.owners) u) then s.items end as items
    from rows from (json_array_elements(v_given.specs), unnest(v_made.ids), unnest(v_made.created)) with ordinality g(spec, id, created, n)
    cross join lateral json_to_record(g.spec) s(type text, callbacks jsonb, file jsonb, items json)
    where g.created
    order by g.n
  loop
    if v_node.callbacks is not null then
      perform jobtree.add_callbacks(v_node.id, v_node.callbacks);
    end if;
    if v_node.items is not null then
      perform jobtree.insert_items(j, v_node.items) from jobtree.job j where j.id = v_node.id;
    end if;
    if v_node.file is not null then
      perform jobtree.add_file(v_node.id, v_node.type, v_node.file);
    end if;
  end loop;

  for v_node in
    select t.tree, t.tree -> 'traceContext' as trace, v_made.ids[v_given.tops[t.n]] as id, v_made.created[v_given.tops[t.n]] as created
    from json_array_elements(p_trees) with ordinality t(tree, n)
    order by t.n
  loop
    return query select v_node.id, v_node.created;
    continue when not v_node.created;
    if json_typeof(v_node.trace) <> 'null' then
      perform jobtree.check_trace_context(v_node.trace);
      insert into jobtree.trace_context (job_id, position, count, traceparent, tracestate)
      select j.id, b.first, b.last - b.first + 1, v_node.trace ->> 'traceparent', v_node.trace ->> 'tracestate'
      from jobtree.job j
      cross join lateral (
        select min(i.position) as first, max(i.position) as last from jobtree.job_item i where i.job_id = j.id group by i.position / 1024
      ) b
      where j.root_id = v_node.id;
    end if;
    -- However it is written.
    if strpos(v_node.tree::text, '"after"') > 0 or strpos(v_node.tree::text, '\u') > 0 then
      perform jobtree.link_jobs(v_node.id, v_node.tree);
    end if;
  end loop;
  if v_keys is not null then
    delete from jobtree.serialize_key k where k.key = any (v_keys) and k.job_id is null;
  end if;
end
$$;

-- The variant of create_jobs for servers: for roots that they have checked, without children, that start with items without settings of their own,
-- as nearly all small jobs are. They may come from several callers, so it waits only for a moment if an open transaction has a dedupe key.
--
-- p_jobs     JSON array of jobs as create_job takes them, without their items
-- p_payloads the items of all jobs, at least one of each, as JSON texts; the separator is the record separator U+001E, which JSON can't contain
-- p_owners   for each of these its job: the place in p_jobs, from 1
-- returns    as insert_jobs
-- locks      as insert_jobs
-- errors     55P03 if another transaction has one of the dedupe keys, and may not commit; and as insert_jobs
create or replace function jobtree.create_plain_jobs(p_jobs json, p_payloads text, p_owners integer[])
returns table (job_id uuid, created boolean)
language sql volatile
set lock_timeout = '20ms'
as $$
  select i.job_id, i.created from jobtree.insert_jobs(p_jobs, string_to_array(p_payloads, E'\x1e'), p_owners, true) i
$$;

-- Begins to delete a tree: cancels what is pending in it and frees its dedupe keys at once. delete_trees, called by any server, then deletes
-- it in batches. Calling it twice does nothing; a tree that is being reaped is deleted without further delay.
--
-- returns    the jobs that have more to cancel: cancel_items
-- locks      the tree, unless it is being deleted already; those of cancel_job
-- errors     JT001 no such job; JT002 not a root
create or replace function jobtree.delete_job(p_job_id uuid)
returns uuid[]
language plpgsql volatile
set jit = off
set enable_seqscan = off
set enable_bitmapscan = off
set enable_hashjoin = off
set enable_mergejoin = off
as $$
declare
  v_root_id uuid;
  v_cancelling uuid[];
begin
  select j.root_id into v_root_id from jobtree.job j where j.id = p_job_id;
  if v_root_id is null then
    raise exception 'There is no job %.', p_job_id using errcode = 'JT001', column = 'jobId';
  end if;
  if v_root_id <> p_job_id then
    raise exception 'Job % is not a root: only whole trees are deleted.', p_job_id using errcode = 'JT002', column = 'jobId';
  end if;
  perform 1 from jobtree.tree t where t.root_id = p_job_id and t.deletion is distinct from 'REQUESTED' for no key update;
  select c.cancelling into v_cancelling from jobtree.cancel_job(p_job_id) c;
  update jobtree.job j set dedupe_key = null where j.root_id = p_job_id and j.dedupe_key is not null;
  update jobtree.tree t
  set deletion = 'REQUESTED', deletion_requested_at = coalesce(t.deletion_requested_at, clock_timestamp()),
    item_count = coalesce(t.item_count, (
      select sum(p.item_count) from jobtree.job j join jobtree.job_progress p on p.job_id = j.id where j.root_id = p_job_id
    ))
  where t.root_id = p_job_id and t.deletion is distinct from 'REQUESTED';
  return v_cancelling;
end
$$;

-- Deletes up to p_limit items of trees that reap_trees has marked, using delete_trees: up to a hundred small ones together, and a part of
-- a large tree. The order is random, so that several servers rarely meet at a tree, and a locked tree doesn't always delay the same ones.
--
-- returns    whether it has done anything
-- locks      those of delete_trees: skips locked trees, and waits a moment for locked rows of jobs. If one stays locked, it deletes tree
--            after tree, and skips those with such rows
create or replace function jobtree.delete_reaped(p_limit integer default 2000)
returns boolean
language plpgsql volatile
set lock_timeout = '20ms'
set jit = off
set enable_seqscan = off
as $$
declare
  v_batch record;
  v_root_id uuid;
  v_done boolean := false;
begin
  for v_batch in
    select array_agg(c.root_id) as roots, p_limit - min(c.before) as items
    from (
      select o.root_id, o.cost, sum(o.cost) over (order by o.place) - o.cost as before
      from (
        -- Even an empty tree has a cost.
        select t.root_id, random() as place, greatest(t.item_count - t.deleted_items, p_limit / 100, 1) as cost
        from jobtree.tree t where t.deletion = 'REAPED'
      ) o
    ) c
    where c.before < p_limit
    group by c.before + c.cost > p_limit
    order by c.before + c.cost > p_limit
  loop
    begin
      if jobtree.delete_trees(v_batch.roots, v_batch.items::integer) is not null then
        v_done := true;
      end if;
    exception
      when lock_not_available then
        foreach v_root_id in array v_batch.roots loop
          begin
            if jobtree.delete_trees(array[v_root_id], greatest(v_batch.items / cardinality(v_batch.roots), 1)::integer) is not null then
              v_done := true;
            end if;
          exception
            when lock_not_available then null;
          end;
        end loop;
    end;
  end loop;
  return v_done;
end
$$;

-- Deletes up to p_limit items of trees that delete_job or reap_trees has marked and whose cancellation is counted, and up to twice as many
-- leases and failures, and finally the trees themselves: one after the other, but what goes of all of them at once. Each call continues
-- where the last one stopped.
--
-- returns    whether the trees are gone, except for those that it skips: trees that are not complete yet, or that another transaction is
--            deleting; null if it skips all that there are
-- locks      the trees, skipping locked ones; leases by id; at the end imports, and then the jobs' rows in the order of their ids
create or replace function jobtree.delete_trees(p_root_ids uuid[], p_limit integer default 10000)
returns boolean
language plpgsql volatile
set jit = off
set enable_seqscan = off
set enable_bitmapscan = off
set enable_hashjoin = off
set enable_mergejoin = off
set plan_cache_mode = force_generic_plan
as $$
declare
  v_roots uuid[] := array(
    select t.root_id from jobtree.tree t
    where t.root_id = any (p_root_ids) and t.deletion is not null and t.completed_at is not null
    for update skip locked
  );
  v_job record;
  v_root_id uuid;
  v_next_id uuid;
  v_jobs uuid[];
  v_first bigint := 0;
  v_left bigint := p_limit;
  v_count bigint;
  v_last bigint;
  v_deleted bigint;
begin
  if v_roots = '{}' then
    return case when not exists (select from jobtree.tree t where t.root_id = any (p_root_ids) and t.deletion is not null) then true end;
  end if;
  for v_job in
    select j.root_id, j.id, case when j.id = t.next_job_id then t.next_position else 0 end as first
    from jobtree.tree t
    join jobtree.job j on j.root_id = t.root_id and j.id >= coalesce(t.next_job_id, t.root_id)
    where t.root_id = any (v_roots)
    order by j.root_id, j.id
  loop
    if v_root_id is distinct from v_job.root_id then
      v_root_id := v_job.root_id;
      v_deleted := 0;
    end if;
    v_next_id := v_job.id;
    -- A job of which only a part is left, or is to be deleted, goes alone: for all others the range of positions is everything.
    exit when v_left <= 0 or v_jobs is not null and greatest(v_first, v_job.first) > 0;
    select max(i.position), count(*) into v_last, v_count
    from (select i.position from jobtree.job_item i where i.job_id = v_job.id and i.position >= v_job.first order by i.position limit v_left) i;
    exit when v_count = v_left and v_jobs is not null;
    v_jobs := v_jobs || v_job.id;
    v_first := v_job.first;
    v_deleted := v_deleted + v_count;
    v_job.first := v_last + 1;
    exit when v_count = v_left;
    -- Even an empty job has a cost.
    v_left := v_left - greatest(v_count, p_limit / 100, 1);
    v_next_id := null;
  end loop;
  if v_next_id is null or v_next_id <> all (v_jobs) then
    v_last := 9223372036854775807;
  end if;

  -- An item may have very many of these.
  delete from jobtree.lease l where l.id = any (array(
    select l.id from jobtree.lease l where l.job_id = any (v_jobs) and l.position between v_first and v_last limit 2 * p_limit
  ));
  get diagnostics v_count = row_count;
  if v_count = 2 * p_limit then
    return false;
  end if;
  delete from jobtree.failure f where f.ctid = any (array(
    select f.ctid from jobtree.failure f where f.job_id = any (v_jobs) and f.position between v_first and v_last limit 2 * p_limit
  ));
  get diagnostics v_count = row_count;
  if v_count = 2 * p_limit then
    return false;
  end if;
  delete from jobtree.outcome o where o.job_id = any (v_jobs) and o.position between v_first and v_last;
  -- After the leases, which note_items locks first.
  delete from jobtree.item_note n where n.job_id = any (v_jobs) and n.position between v_first and v_last;
  delete from jobtree.dead_letter d where d.job_id = any (v_jobs) and d.position between v_first and v_last;
  delete from jobtree.cancellation c where c.job_id = any (v_jobs) and c.position between v_first and v_last;
  -- promote_blocked passes the key on later.
  update jobtree.ended_head e set held = false where e.job_id = any (v_jobs) and e.position between v_first and v_last and e.held;
  delete from jobtree.replay r where r.job_id = any (v_jobs) and r.position between v_first and v_last;
  delete from jobtree.trace_context t where t.job_id = any (v_jobs) and t.position between v_first and v_last;
  delete from jobtree.job_item i where i.job_id = any (v_jobs) and i.position between v_first and v_last;

  if v_next_id is not null then
    update jobtree.tree t
    set deleted_items = t.deleted_items + v_deleted, next_position = v_job.first, next_job_id = v_next_id
    where t.root_id = v_root_id;
    v_roots := array(select r from unnest(v_roots) r where r < v_root_id);
    if v_roots = '{}' then
      return false;
    end if;
  end if;
  -- Before the jobs: the order in which importing servers lock them.
  delete from jobtree.file_import f where f.job_id = any (array(select j.id from jobtree.job j where j.root_id = any (v_roots)));
  -- Another call that cancels or deletes a tree has these rows locked, and leaves deltas behind.
  v_jobs := array(select j.id from jobtree.job j where j.root_id = any (v_roots) order by j.id for update);
  with gone as (delete from jobtree.job_progress p where p.job_id = any (v_jobs) returning p.job_id, p.item_count, p.bytes)
  insert into jobtree.stored_delta (tenant, items, bytes)
  select jobtree.tenant_of(r.type), -sum(g.item_count), -sum(g.bytes)
  from gone g join jobtree.job j on j.id = g.job_id join jobtree.job r on r.id = j.root_id
  group by 1;
  delete from jobtree.progress_delta d where d.root_id = any (v_roots);
  delete from jobtree.callback c where c.root_id = any (v_roots);
  delete from jobtree.job j where j.id = any (v_jobs);
  delete from jobtree.tree t where t.root_id = any (v_roots);
  return v_next_id is null;
end
$$;

-- Finds a circle among jobs that wait for each other, by depth-first search: each job is entered once, and each edge is followed once.
--
-- p_count    the number of jobs, which are numbered from 1
-- p_jobs, p_afters   the edges: which job waits for which
-- returns    the jobs of one circle, each waiting for the next, and the last for the first; null if there is none
create or replace function jobtree.dependency_circle(p_count integer, p_jobs integer[], p_afters integer[])
returns integer[]
language plpgsql immutable
as $$
declare
  -- The jobs that each job waits for: those of job n are at v_next[n] to v_last[n].
  v_targets integer[];
  v_next integer[];
  v_last integer[];
  -- Of each job: 0 before it is entered, then its place on the current path, and -1 once it was left.
  v_place integer[] := array_fill(0, array[p_count]);
  v_path integer[] := array_fill(0, array[p_count]);
  v_depth integer;
  v_job integer;
  v_after integer;
begin
  select array_agg(e.after order by e.job, e.after) into v_targets from unnest(p_jobs, p_afters) e(job, after);
  select array_agg(s.until - s.count + 1 order by s.job), array_agg(s.until order by s.job) into v_next, v_last
  from (
    select j.job, count(e.job)::integer as count, (sum(count(e.job)) over (order by j.job))::integer as until
    from generate_series(1, p_count) j(job)
    left join unnest(p_jobs) e(job) on e.job = j.job
    group by j.job
  ) s;

  for v_start in 1 .. p_count loop
    continue when v_place[v_start] <> 0;
    v_depth := 1;
    v_path[1] := v_start;
    v_place[v_start] := 1;
    while v_depth > 0 loop
      v_job := v_path[v_depth];
      if v_next[v_job] > v_last[v_job] then
        v_place[v_job] := -1;
        v_depth := v_depth - 1;
        continue;
      end if;
      v_after := v_targets[v_next[v_job]];
      v_next[v_job] := v_next[v_job] + 1;
      if v_place[v_after] > 0 then
        return v_path[v_place[v_after]:v_depth];
      elsif v_place[v_after] = 0 then
        v_depth := v_depth + 1;
        v_path[v_depth] := v_after;
        v_place[v_after] := v_depth;
      end if;
    end loop;
  end loop;
  return null;
end
$$;

-- Discards dead letters: the items stay failed. promote_blocked passes on the serialize keys that they kept.
--
-- p_job_ids, p_positions   the items; those that are not dead letters are ignored
-- returns    how many were dead letters
-- locks      the dead letters, in their order
create or replace function jobtree.discard_items(p_job_ids uuid[], p_positions bigint[])
returns integer
language sql volatile
set jit = off
set enable_seqscan = off
set enable_bitmapscan = off
set enable_hashjoin = off
set enable_mergejoin = off
set plan_cache_mode = force_generic_plan
as $$
  with locked as materialized (
    select d.ctid as tid from jobtree.dead_letter d
    join unnest(p_job_ids, p_positions) u(job_id, position) on d.job_id = u.job_id and d.position = u.position
    order by d.job_id, d.position
    for update of d
  ), gone as (
    delete from jobtree.dead_letter d where d.ctid = any (array(select l.tid from locked l)) returning d.job_id, d.position
  ), passed as (
    update jobtree.ended_head e set held = false from gone g where e.job_id = g.job_id and e.position = g.position
  )
  select count(*)::integer from gone
$$;

-- Enqueues one piece of work: a sealed job with a single item.
--
-- p_type     the type of the job
-- p_payload  any JSON
-- p_options  JSON: dedupeKey, priority, runAt, serializeKey, maxFailuresPerItem, backoffMs and the other options of a root (create_job),
--            except items, sealed, name, after, file, feed, finalStage and children
-- p_wake     whether an idle worker is woken at commit (wake_workers)
-- returns    the job's id, and whether it is new; if another job of the type has the dedupeKey, that job's id
-- errors     JT002 invalid input, as from create_job
create or replace function jobtree.enqueue(p_type text, p_payload json default null, p_options json default '{}', p_wake boolean default true)
returns table (job_id uuid, created boolean)
language plpgsql volatile
as $$
declare
  v_name text;
  v_job json;
begin
  if json_typeof(p_options) is distinct from 'object' then
    raise exception 'options must be an object.' using errcode = 'JT002', column = 'options';
  end if;
  select k into v_name from json_object_keys(p_options) k
  where k = any (array['type', 'payload', 'items', 'sealed', 'name', 'after', 'file', 'feed', 'finalStage', 'children', 'idleExpirySeconds'])
  limit 1;
  if v_name is not null then
    raise exception '% is not an option of enqueue.', v_name using errcode = 'JT002', column = v_name;
  end if;
  -- Of json, which keeps the payload's text.
  select json_object_agg(f.key, f.value) into v_job
  from (
    select o.key, o.value from json_each(p_options) o where o.key <> 'serializeKey'
    union all
    select 'type', to_json(p_type)
    union all
    select 'sealed', to_json(true)
    union all
    select 'items', json_build_array(json_build_object('payload', p_payload, 'serializeKey', p_options -> 'serializeKey'))
  ) f;
  select c.job_id, c.created into job_id, created from jobtree.create_job(v_job) c;
  if p_wake and created then
    perform jobtree.wake_workers(p_type, 1);
  end if;
  return next;
end
$$;

-- Puts items into the lines of their serialize keys: an item whose key is free becomes its head and enters the queue; the others wait
-- behind, where no claim sees them.
--
-- p_items    items with keys, in the order in which they are to run
-- p_last     whether heads go to the end of what is ready, or to their own place
-- returns    how many of them are ready
-- locks      the keys' rows in order, on which calls that finish a head and calls that queue behind it wait for each other
create or replace function jobtree.enter_keys(p_items jobtree.waiting_item[], p_last boolean)
returns integer
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
  v_heads record;
  v_waiting record;
begin
  with given as materialized (
    select u.n, u.job_id, u.position, i.key
    from unnest(p_items) with ordinality u(job_id, position, attempt, priority, run_at, lost, n)
    cross join lateral (
      select i.serialize_key collate "C" as key from jobtree.job_item i where i.job_id = u.job_id and i.position = u.position offset 0
    ) i
  ), taken as (
    insert into jobtree.serialize_key as k (key, job_id, position, turn)
    select f.key, f.job_id, f.position, nextval('jobtree.blocked_item_turn_seq')
    from (select distinct on (g.key) g.* from given g order by g.key, g.n) f
    -- A key that has a head is locked and stays as it is; one without gets this head.
    on conflict (key) do update set job_id = excluded.job_id, position = excluded.position, turn = excluded.turn
    where k.job_id is null
    returning k.job_id, k.position
  )
  select array_agg(t.job_id) as job_ids, array_agg(t.position) as positions into v_heads from taken t;

  -- The items behind draw their turns in a new statement, once all keys are locked.
  with given as materialized (
    select u.*, (u.job_id, u.position) not in (select h.* from unnest(v_heads.job_ids, v_heads.positions) h(job_id, position)) as waits
    from unnest(p_items) with ordinality u(job_id, position, attempt, priority, run_at, lost, n)
  ), behind as (
    insert into jobtree.blocked_item (key, job_id, position, type, priority, attempt, run_at, waits_since)
    select i.serialize_key, g.job_id, g.position, j.type, g.priority, g.attempt, g.run_at,
      case when g.attempt = 1 then greatest(i.created_at, i.run_at) end
    from given g
    -- Looked up one by one: a join might scan all items of the job for each.
    cross join lateral (select i.* from jobtree.job_item i where i.job_id = g.job_id and i.position = g.position offset 0) i
    cross join lateral (select j.type from jobtree.job j where j.id = g.job_id offset 0) j
    where g.waits
    order by g.n
  )
  select array_agg(row(g.job_id, g.position, g.attempt, g.priority, g.run_at, g.lost)::jobtree.waiting_item) as items,
    count(*) filter (where g.run_at is null)::integer as ready
  into v_waiting
  from given g
  where not g.waits;
  if v_waiting.items is not null then
    perform jobtree.requeue(v_waiting.items, p_last);
  end if;
  return v_waiting.ready;
end
$$;

-- How many items a queue entry may have whose largest payload has so many bytes: at most 128, so that claims of several servers seldom meet
-- at one, and about 1 MB in all, so that the size of an answer is known from its entries.
create or replace function jobtree.entry_size(p_largest integer) returns integer
language sql immutable parallel safe
as $$
  select greatest(1, least(128, 1000000 / greatest(p_largest, 1)))
$$;

-- The jobs of trees that were sealed or may end once their deltas are read, or have too many failures for the number of their items, if no
-- transaction is adding to them: as long as this transaction lasts, what is read of them from now on is exact.
--
-- p_root_ids the trees
-- returns    up to 2,000 jobs in each layer, since Postgres has room for a limited number of locks; the caller tries again with what is left
-- locks      those of exclude_adders
create or replace function jobtree.exact_jobs(p_root_ids uuid[])
returns uuid[]
language plpgsql volatile
set jit = off
set enable_seqscan = off
set enable_bitmapscan = off
set enable_mergejoin = off
set plan_cache_mode = force_generic_plan
as $$
begin
  return jobtree.exclude_adders(array(
    select s.job_id
    from (
      select d.job_id, sum(d.items::bigint - d.succeeded - d.failed - d.cancelled) as more, sum(d.items) as items, sum(d.failed) as failed
      from unnest(p_root_ids) r(id)
      cross join lateral (select d.* from jobtree.progress_delta d where d.root_id = r.id offset 0) d
      group by d.job_id
    ) s
    cross join lateral (select j.* from jobtree.job j where j.id = s.job_id offset 0) j
    cross join lateral (select p.* from jobtree.job_progress p where p.job_id = s.job_id order by p.version desc limit 1) p
    where j.sealed_at is not null and p.completed_at is null
      and (
        not p.sealed
        or not j.waits and p.item_count - p.succeeded - p.failed - p.cancelled + s.more = 0
        -- Exactly, as in fold_layer.
        or j.cancelled_at is null and 100 * (p.failed + s.failed) > j.tolerated_failure_percentage::numeric * (p.item_count + s.items)
      )
    -- Of one tree the ids begin alike: the limit cuts one tree, not all of them.
    order by s.job_id
    limit 2000
  ));
end
$$;

-- Accepts outcomes and gives out new work in one transaction: what a worker does all the time, in one round trip and with one wait
-- for the disk. First the reports, as in report_results, then the claims, as in claim_items.
--
-- p_lease_ids … p_kinds   as report_results takes them
-- p_workers … p_starts   as claim_items takes them; the claims are durable, like the reports
-- returns    one row for the reports, of kind REPORTED, with what report_results returns; then those of claim_items
-- locks      those of report_results, skipping locked ones, then those of claim_items
-- errors     those of claim_items, and then no report counts
create or replace function jobtree.exchange(
  p_lease_ids uuid[], p_numbers integer[], p_values json, p_kinds text[],
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
  select * into v_reported from jobtree.report_results(p_lease_ids, p_numbers, p_values, p_kinds, false);
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

-- Finds out to which jobs no other transaction is adding (hold_jobs). Until this one ends, others wait before they add to these: call it for
-- jobs that take no more items, or shortly before the end.
--
-- returns    those of the jobs; what was added to them is visible to the next statement
-- locks      an advisory lock for each job, exclusively, leaving out those that are held. It never waits
create or replace function jobtree.exclude_adders(p_job_ids uuid[])
returns uuid[]
language sql volatile
as $$
  select array(select u from unnest(p_job_ids) u where pg_try_advisory_xact_lock(hashtextextended('job ' || u, 0)))
$$;

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
set jit = off
set enable_seqscan = off
set enable_bitmapscan = off
set enable_hashjoin = off
set enable_mergejoin = off
set plan_cache_mode = force_generic_plan
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

-- Cancels a tree that has been idle for longer than its expiry, with the cancel_reason IDLE.
--
-- p_expiry_seconds    the expiry of trees without their own; null for never
-- returns             the jobs that have more to cancel: cancel_items; null if the tree was not due
-- locks               the tree's row, shared, as cancel_job does; the jobs' rows in the order of their ids, waiting a moment for transactions that seal them; those of exclude_adders,
--                     and if a transaction is adding to the tree it is not idle; then those of cancel_job
create or replace function jobtree.expire_tree(p_root_id uuid, p_expiry_seconds integer)
returns uuid[]
language plpgsql volatile
set jit = off
set enable_seqscan = off
set enable_bitmapscan = off
set lock_timeout = '100ms'
as $$
declare
  v_open uuid[];
begin
  perform 1 from jobtree.tree t where t.root_id = p_root_id for share;
  perform 1 from jobtree.job j where j.root_id = p_root_id order by j.id for no key update;
  v_open := array(select j.id from jobtree.job j where j.root_id = p_root_id and j.sealed_at is null);
  if cardinality(jobtree.exclude_adders(v_open)) < cardinality(v_open) then
    return null;
  end if;
  -- From here on, everything that was added meanwhile is visible.
  return (
    select c.cancelling
    from jobtree.tree t
    cross join lateral jobtree.cancel_job(t.root_id, p_reason => 'IDLE') c
    where t.root_id = p_root_id
      and jobtree.idle_since(t.root_id) <= clock_timestamp()
        - nullif(coalesce(t.idle_expiry_seconds, p_expiry_seconds), -1) * interval '1 second'
  );
end
$$;

-- Ends attempts that failed: stores the failure, and puts the item back into the queue, to wait for the time given in the failure or for its
-- backoff; or fails the item for good, if the failure is permanent or the item has failed more than maxFailuresPerItem times. Failures and
-- the steps of the backoff count from when the item was added or replayed. The first and the last twenty failures of an item are kept.
-- A snoozed item is put back, too, but that is not a failure: its next attempt has the number of this one, and nothing remains of it but the
-- lease, for a while (prune_leases). It waits anew from the end of the snooze, and so does its lifetime.
-- A worker that dies loses all its items, and only one of them may be the cause. So an item that is lost in its last attempt becomes a
-- suspect: it is tried up to three times more, alone, and fails for good if it is lost each time. Not if maxFailuresPerItem is 0: such an item
-- must not be repeated.
--
-- p_lease_ids, p_numbers   assignments, each once
-- p_failures what went wrong, in the same order: {code, message, permanent?, retryAfterMs?, stack?}, or {snoozeMs}
-- p_lost     whether the attempts failed because their heartbeats stopped
-- p_ns       an index for each; null for 1 and so on
-- returns    among others the indexes of what counted, and when the item of each is due again: null if it is not
-- locks      leases in the order of their ids, skipping locked ones, whose failures don't count, nor do those of items that are not open;
--            then those of promote_next
create or replace function jobtree.fail_attempts(
  p_lease_ids uuid[], p_numbers integer[], p_failures json[], p_lost boolean, p_ns integer[] default null
)
returns jobtree.ended_attempts
language plpgsql volatile
set jit = off
set enable_seqscan = off
set enable_mergejoin = off
set enable_bitmapscan = off
set enable_material = off
set plan_cache_mode = force_generic_plan
-- Unlike in sweep_leases, which calls it: or each assignment would be compared with each lease.
set enable_hashjoin = on
as $$
declare
  v_now constant timestamptz(3) := clock_timestamp();
  v_ended record;
  v_freed jsonb;
begin
  with locked as materialized (
    -- The same draw for all items of a lease, so that items that fail together wait together.
    select l.id, l.job_id, l.position, l.open, l.attempt, l.priority, l.worker, l.keyed, l.claimed_at, j.*, random() as draw from jobtree.lease l
    cross join lateral (
      select j.root_id, j.type, j.max_failures_per_item, j.backoff_ms, j.backoff_jitter
      from jobtree.job j where j.id = l.job_id and j.cancelled_at is null offset 0
    ) j
    where l.id = any (p_lease_ids)
    order by l.id
    for update of l skip locked
  ), ended as materialized (
    select k.*, k.position + u.number - 1 as item, u.number, coalesce(p_ns[u.n], u.n::integer) as n,
      u.failure ->> 'code' as code, u.failure ->> 'message' as message, u.failure ->> 'stack' as stack, s.is_snoozed,
      not s.is_snoozed and (coalesce((u.failure ->> 'permanent')::boolean, false)
        or s.tries > k.max_failures_per_item + case when p_lost and k.max_failures_per_item > 0 then 3 else 0 end) as is_final,
      (v_now + interval '1 millisecond' * coalesce(
        coalesce(u.failure ->> 'snoozeMs', u.failure ->> 'retryAfterMs')::double precision,
        (1 + k.backoff_jitter * k.draw) * coalesce(k.backoff_ms[least(s.tries, cardinality(k.backoff_ms))], 0)
      ))::timestamptz(3) as due_at
    from unnest(p_lease_ids, p_numbers, p_failures) with ordinality u(lease_id, number, failure, n)
    join locked k on k.id = u.lease_id
    cross join lateral (
      -- An item on its first attempt was never replayed.
      select u.failure ->> 'snoozeMs' is not null as is_snoozed, k.attempt - coalesce(case when k.attempt > 1 then (
        select r.attempt from jobtree.replay r where r.job_id = k.job_id and r.position = k.position + u.number - 1
      ) end, 0) as tries
      offset 0
    ) s
    where case when u.number > 0 then get_bit(k.open, u.number - 1) = 1 end
  ), closed as (
    update jobtree.lease l set open = l.open # e.bits, check_at = case when l.open <> e.bits then l.check_at end
    from (select d.id, bit_or(jobtree.bit_at(d.number)) as bits from ended d group by d.id) e
    -- As in succeed_attempts.
    where l.id = any (array[e.id])
  ), kept as (
    insert into jobtree.failure (job_id, position, attempt, lease_id, at, retry_at, lost, code, message, worker, stack)
    select e.job_id, e.item, e.attempt, e.id, v_now, case when not e.is_final then e.due_at end, p_lost, e.code, e.message, e.worker, e.stack
    from ended e where not e.is_snoozed
  ), snoozed as (
    update jobtree.job_item i set run_at = e.due_at
    from ended e where e.is_snoozed and i.job_id = any (array[e.job_id]) and i.position = e.item
  )
  select array_agg(distinct e.root_id) filter (where not e.is_snoozed) as root_ids,
    jobtree.count_names(array_agg(e.type) filter (where not e.is_final and e.due_at <= v_now)) as ready,
    array_agg(e.n) as ns, array_agg(case when not e.is_final then e.due_at end) as due,
    array_agg(row(
      e.job_id, e.item, e.attempt + (not e.is_snoozed)::integer, e.priority, case when e.due_at > v_now then e.due_at end, p_lost
    )::jobtree.waiting_item) filter (where not e.is_final) as waiting,
    array_agg(row(e.job_id, e.item, e.id, e.code, e.message)::jobtree.dead_item) filter (where e.is_final) as dead,
    bool_or(e.keyed) filter (where e.is_final) as keyed, max(e.attempt) > 40 as is_late, bool_or(e.is_snoozed) as is_snoozed,
    (
      select array_agg(json_build_array(t.type, case when not p_lost then round(extract(epoch from v_now - t.claimed_at) * 1000) end, 0, t.failed, t.dead))
      from (
        select e.type, e.claimed_at, count(*) as failed, count(*) filter (where e.is_final) as dead
        from ended e where not e.is_snoozed group by e.type, e.claimed_at
      ) t
    ) as figures,
    (
      select array_agg(json_build_array(
        t.type, t.job_id, t.item, t.attempt, t.worker, t.code, left(t.message, 1000), case when not t.is_final then t.due_at end, t.count
      ))
      from (
        select distinct on (e.job_id, e.code, e.is_final) e.*, count(*) over (partition by e.job_id, e.code, e.is_final) as count
        from ended e where not e.is_snoozed order by e.job_id, e.code, e.is_final, e.item
      ) t
    ) as failed
  into v_ended
  from ended e;

  if v_ended.dead is not null then
    v_freed := jobtree.bury_items(v_ended.dead, v_ended.keyed);
  end if;
  if v_ended.is_late then
    -- Of each item the failure that is no longer among the last twenty.
    delete from jobtree.failure f where f.ctid = any (array(
      select o.tid from unnest(p_lease_ids, p_numbers) u(lease_id, number)
      cross join lateral (select l.* from jobtree.lease l where l.id = u.lease_id and l.attempt > 40 offset 0) l
      cross join lateral (
        select o.ctid as tid from jobtree.failure n
        join jobtree.failure o on o.job_id = n.job_id and o.position = n.position and o.attempt = n.attempt - 20
        where n.job_id = l.job_id and n.position = l.position + u.number - 1 and n.attempt = l.attempt and n.lease_id = l.id
        limit 1
      ) o
    ));
  end if;
  if v_ended.is_late or v_ended.is_snoozed then
    perform jobtree.prune_leases(p_lease_ids);
  end if;
  if v_ended.waiting is not null then
    perform jobtree.requeue(v_ended.waiting, true);
  end if;
  return row(
    v_ended.root_ids, jobtree.add_up(v_ended.ready, v_freed), cardinality(v_ended.ns), v_ended.ns, v_ended.due, v_ended.figures, v_ended.failed
  )::jobtree.ended_attempts;
end
$$;

-- Creates the items of child jobs from successes of their parents: by each child's mapping, and from the new items that
-- the reports list. A cancelled child gets none.
--
-- p_job_ids, p_positions   items that have just succeeded in this transaction
-- p_new_items  for each, the JSON array of new items in its report, if any
-- returns    the types of the children that got ready items, and how many: {type: count}
-- locks      none new: the caller holds the children and has locked the serialize keys of the new items (lock_fed)
create or replace function jobtree.feed_children(p_job_ids uuid[], p_positions bigint[], p_new_items json[])
returns jsonb
language plpgsql volatile
set jit = off
set enable_seqscan = off
set enable_bitmapscan = off
set enable_hashjoin = off
set enable_mergejoin = off
set plan_cache_mode = force_generic_plan
as $$
declare
  v_child jobtree.job;
  -- Its mapping, and the new items that reports list.
  v_source text;
  v_payloads json[];
  v_parents bigint[];
  v_by integer[];
  v_fed bigint[];
  v_items json;
  v_count integer;
  v_ready jsonb;
  v_is_traced boolean;
begin
  for v_child in
    select c.* from jobtree.job c
    where c.id = any (array(select f.id from jobtree.job f where f.feed is not null and f.parent_id = any (p_job_ids)))
    order by c.id
  loop
    continue when v_child.cancelled_at is not null;
    v_is_traced := exists (select from jobtree.trace_context t where t.job_id = v_child.parent_id);
    foreach v_source in array '{SUCCESSES,REPORTS}'::text[] loop
      v_payloads := null;
      v_items := null;
      if v_source = 'REPORTS' and p_new_items is not null then
        select json_agg(e.value order by u.n, e.n), array_agg(u.n::integer order by u.n, e.n), array_agg(u.position order by u.n, e.n)
        into v_items, v_by, v_parents
        from unnest(p_job_ids, p_positions, p_new_items) with ordinality u(job_id, position, new_items, n)
        cross join lateral json_array_elements(u.new_items) with ordinality e(value, n)
        where u.job_id = v_child.parent_id and e.value ->> 'type' = v_child.type;
      elsif v_source = 'SUCCESSES' and v_child.feed ->> 'source' = v_source then
        select array_agg(p.payload order by u.n) filter (where not v_child.feed ? 'serializeKey'),
          json_agg(json_build_object('payload', p.payload, 'serializeKey', p.key) order by u.n) filter (where v_child.feed ? 'serializeKey'),
          array_agg(u.n::integer order by u.n), array_agg(u.position order by u.n)
        into v_payloads, v_items, v_by, v_parents
        from unnest(p_job_ids, p_positions) with ordinality u(job_id, position, n)
        join jobtree.outcome o on o.job_id = u.job_id and o.position = u.position
        left join jobtree.job_item i on v_child.feed ?| '{forEach,payload,serializeKey}' and i.job_id = u.job_id and i.position = u.position
        cross join lateral (
          select o.result as payload, null as key where not v_child.feed ?| '{forEach,payload,serializeKey}'
          union all
          select f.payload, jobtree.tenant_beginning(v_child.type) || (f.key #>> '{}')
          from jobtree.feed_items(v_child.feed, i.payload, o.result) f
          where v_child.feed ?| '{forEach,payload,serializeKey}'
        ) p
        where u.job_id = v_child.parent_id;
      end if;

      if v_items is not null then
        select array(select case when r.added then r.position end from unnest(i.positions, i.added) with ordinality r(position, added, n) order by r.n),
          i.ready
        into v_fed, v_count
        from jobtree.insert_items(v_child, v_items, v_parents) i;
      elsif v_payloads is not null then
        v_fed := jobtree.insert_payloads(v_child, v_payloads::text[], v_parents);
        v_count := cardinality(v_payloads);
      else
        continue;
      end if;
      if v_is_traced then
        -- To the traces of the items that fed them.
        insert into jobtree.trace_context (job_id, position, count, traceparent, tracestate)
        select v_child.id, c.position, 1, t.traceparent, t.tracestate
        from unnest(case when v_items is null then jobtree.positions_from(v_fed, v_count) else v_fed end, v_by) c(position, by)
        cross join lateral (
          select x.* from jobtree.trace_context x
          where x.job_id = p_job_ids[c.by] and x.position <= p_positions[c.by]
          order by x.job_id desc, x.position desc
          limit 1
        ) t
        where c.position is not null and t.position + t.count > p_positions[c.by];
      end if;
      v_ready := jobtree.add_up(v_ready, jsonb_build_object(v_child.type, v_count));
    end loop;
  end loop;
  return v_ready;
end
$$;

-- Finds a path of a mapping that leads nowhere though it is not optional, for one success of a parent. forEach is not examined: it has to lead
-- to a list (feed_problem).
--
-- p_feed     as feed_items takes it. The caller has bounded what it would create (feed_size)
-- returns    the path, and the element where it leads nowhere, from 1; no row if each path leads somewhere
create or replace function jobtree.feed_gap(p_feed jsonb, p_payload json, p_result json)
returns table (path text, element bigint)
language sql immutable
as $$
  select t.path, c.n
  from jobtree.feed_items(p_feed, p_payload, p_result) c
  cross join lateral (
    select p_feed ->> 'serializeKey' as path
    union all
    select e.value from jsonb_each_text(case jsonb_typeof(p_feed -> 'payload') when 'object' then p_feed -> 'payload' else '{}' end) e
    union all
    select p_feed ->> 'payload' where jsonb_typeof(p_feed -> 'payload') = 'string'
  ) t
  where t.path is not null and jobtree.feed_value(t.path, p_payload, p_result, c.element) is null
  limit 1
$$;

-- The new items that one success of a parent creates for a child. Plain SQL, so that the planner inlines it, and drops what is not wanted.
--
-- p_feed     {forEach?: path to a list, payload?: a path, or an object whose values are paths, serializeKey?: a path to a text or a number}.
--            A path is payload, result or (with forEach) element, followed by keys or list positions, separated by dots:
--            result.lines.0.amount. Without payload: the element, or the whole result. No path leads nowhere, unless it ends with ? (feed_gap)
-- returns    one item, or one for each element of the list; no row if forEach does not lead to a list. The key is without the tenant of the
--            child's type, which is part of the stored key; null, or a JSON null, for an item without a key
create or replace function jobtree.feed_items(p_feed jsonb, p_payload json, p_result json)
returns table (payload json, key json, n bigint, element json)
language sql immutable
as $$
  select case jsonb_typeof(p_feed -> 'payload')
      when 'object' then (
        select coalesce(json_object_agg(t.key, jobtree.feed_value(t.value, p_payload, p_result, c.element)), '{}')
        from jsonb_each_text(p_feed -> 'payload') t
      )
      else jobtree.feed_value(
        coalesce(p_feed ->> 'payload', case when p_feed ->> 'forEach' is null then 'result' else 'element' end), p_payload, p_result, c.element
      )
    end, jobtree.feed_value(p_feed ->> 'serializeKey', p_payload, p_result, c.element), c.n, c.element
  from (select jobtree.feed_value(p_feed ->> 'forEach', p_payload, p_result, null) as list) f
  cross join lateral (
    select null::json as element, null::bigint as n where p_feed ->> 'forEach' is null
    union all
    select e.value, e.n from json_array_elements(case json_typeof(f.list) when 'array' then f.list else '[]' end) with ordinality e(value, n)
    where p_feed ->> 'forEach' is not null
  ) c
$$;

-- Finds what is wrong with a success whose job feeds child jobs: a forEach that does not lead to a list, a path that leads nowhere, new items
-- of a type that is not the type of exactly one fed child, more than 1,000 new items, more than 20 MB of them by mappings (a report of a few
-- kilobytes could create gigabytes), an invalid serialize key or one of a tenant that the child's type does not belong to, or a payload that
-- is nested too deeply once a mapping wraps it in an object. The mappings of cancelled children don't matter.
--
-- p_job_id   the job of the item
-- p_payload  the item's payload
-- p_report   {result, newItems?}
-- returns    the first problem: the field, and a sentence about it; no row if there is none
create or replace function jobtree.feed_problem(p_job_id uuid, p_payload json, p_report json)
returns table (field text, message text)
language sql stable
as $$
  with child as (
    select c.type, c.feed from jobtree.job c
    where c.parent_id = p_job_id and c.feed ->> 'source' = 'SUCCESSES' and c.cancelled_at is null
  )
  select p.field, p.message
  from (
    select coalesce(p_report -> 'result', 'null') as result, case json_typeof(p_report -> 'newItems') when 'array' then p_report -> 'newItems' end as new_items
  ) r
  cross join lateral (
    select 'result' as field, format('%s is not a list, so it can''t feed the job of type %s.', c.feed ->> 'forEach', c.type) as message
    from child c
    cross join lateral (select json_typeof(jobtree.feed_value(c.feed ->> 'forEach', p_payload, r.result, null)) as kind) l
    where c.feed ->> 'forEach' is not null and l.kind is distinct from 'array' and not (c.feed ->> 'forEach' like '%?' and l.kind = 'null')
    union all
    select 'newItems', format('The job has %s fed children of type %s; new items need exactly one.', f.children, n.value ->> 'type')
    from json_array_elements(r.new_items) n
    cross join lateral (
      select count(*) as children from jobtree.job c
      where c.parent_id = p_job_id and c.feed is not null and c.type = n.value ->> 'type'
    ) f
    where f.children <> 1
    union all
    select 'result',
      case when m.items > 1000 then format('The report would create %s new items; the limit is 1000.', m.items)
        else format('The report would create about %s MB of new items; the limit is 20 MB.', ceil(m.bytes / 1e6)) end
    from (
      select coalesce(sum(z.items), 0) + coalesce(json_array_length(r.new_items), 0) as items, coalesce(sum(z.bytes), 0) as bytes
      from child c
      cross join lateral jobtree.feed_size(c.feed, p_payload, r.result) z
    ) m
    where m.items > 1000 or m.bytes > 20e6
    union all
    select 'result', format('%s leads nowhere%s, so it can''t feed the job of type %s. If it may be missing, the mapping says %1$s?',
      g.path, case when g.element is not null then format(' in element %s of %s', g.element, c.feed ->> 'forEach') else '' end, c.type)
    from child c
    cross join lateral jobtree.feed_gap(c.feed, p_payload, r.result) g
    union all
    select 'result', format('%s is neither a text of 1 to 255 characters nor a number, so it can''t be the serialize key of a new item of type %s.',
      c.feed ->> 'serializeKey', c.type)
    from child c
    cross join lateral jobtree.feed_items(c.feed, p_payload, r.result) i
    where c.feed ? 'serializeKey' and (json_typeof(i.key) not in ('null', 'string', 'number')
      or json_typeof(i.key) <> 'null' and length(i.key #>> '{}') not between 1 and 255)
    union all
    select 'result', format('%s is a name of a tenant, so it can''t be the serialize key of a new item of type %s.', c.feed ->> 'serializeKey', c.type)
    from child c
    cross join lateral jobtree.feed_items(c.feed, p_payload, r.result) i
    where c.feed ? 'serializeKey' and jobtree.tenant_of(c.type) = '' and jobtree.tenant_of(i.key #>> '{}') <> ''
    union all
    select 'result', format('New items of type %s would be nested more than 256 levels deep.', c.type)
    from child c
    cross join lateral jsonb_each_text(case jsonb_typeof(c.feed -> 'payload') when 'object' then c.feed -> 'payload' else '{}' end) t(key, path)
    -- An element has fewer levels than the list that it comes from.
    where t.path !~ '^element' and jobtree.is_too_deep(jobtree.feed_value(t.path, p_payload, r.result, null)::text, 255)
    limit 1
  ) p
$$;

-- What one success of a parent would create for a child by its mapping, without creating it.
--
-- p_feed     as feed_items takes it
-- returns    how many items, and about how many bytes their payloads have in all: too high if the mapping takes parts of list elements
create or replace function jobtree.feed_size(p_feed jsonb, p_payload json, p_result json)
returns table (items bigint, bytes bigint)
language sql immutable
as $$
  select min(c.items), coalesce(sum(
    case split_part(t.path, '.', 1)
      -- All elements together are no larger than the list.
      when 'element' then pg_column_size(c.list)
      -- The same value for each item.
      else c.items * pg_column_size(jobtree.feed_value(t.path, p_payload, p_result, null))
    end + c.items * length(t.key)
  ), 0)::bigint
  from (
    select l.list,
      case
        when p_feed ->> 'forEach' is null then 1
        when json_typeof(l.list) = 'array' then json_array_length(l.list)
        else 0
      end::bigint as items
    from (select jobtree.feed_value(p_feed ->> 'forEach', p_payload, p_result, null) as list) l
  ) c
  left join lateral (
    select e.key, e.value as path
    from jsonb_each_text(case jsonb_typeof(p_feed -> 'payload') when 'object' then p_feed -> 'payload' else '{}' end) e
    union all
    select '', coalesce(p_feed ->> 'payload', case when p_feed ->> 'forEach' is null then 'result' else 'element' end)
    where jsonb_typeof(p_feed -> 'payload') is distinct from 'object'
  ) t on true
$$;

-- The value that a path of a feed leads to: payload, result or element, followed by keys or list positions, separated by dots. A path that
-- ends with ? is optional. Each path is looked up in its own root: an object of all three would be copied for every element of a list.
--
-- returns    any JSON; for a path that leads nowhere the JSON null if it is optional, else no value
create or replace function jobtree.feed_value(p_path text, p_payload json, p_result json, p_element json)
returns json
language sql immutable
as $$
  select coalesce(
    case split_part(f.path, '.', 1) when 'payload' then p_payload when 'result' then p_result when 'element' then p_element end
      #> (string_to_array(f.path, '.'))[2:],
    case when f.is_optional then json 'null' end
  )
  from (select right(p_path, 1) = '?' as is_optional, case when right(p_path, 1) = '?' then left(p_path, -1) else p_path end as path) f
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

-- Gives new jobs their counters, and the plain items that they start with: the items and their queue entries.
--
-- p_job_ids, p_numbers   the jobs, all of each tree, and their places in the call
-- p_payloads, p_owners, p_counted   as insert_jobs takes them; the payloads of other jobs are left out
create or replace function jobtree.fill_jobs(p_job_ids uuid[], p_numbers integer[], p_payloads text[], p_owners integer[], p_counted boolean)
returns void
language plpgsql volatile
set jit = off
set enable_seqscan = off
set enable_nestloop = off
set plan_cache_mode = force_generic_plan
as $$
declare
  v_now constant timestamptz(3) := clock_timestamp();
  -- The items of a job are contiguous within a block, and jobs share blocks.
  v_blocks constant bigint[] := array(select nextval('jobtree.block_seq') * 1024 from generate_series(1, cardinality(p_payloads), 1024));
begin
  with job as materialized (
    select u.number, j.id, j.root_id, j.type, j.priority, j.run_at, j.sealed_at is not null as is_sealed,
      -- While the job waits for others nothing is due, until release_items examines it again.
      case when j.waits then 'infinity' when j.run_at > v_now then j.run_at end as due_at, count(*) over (partition by j.root_id) as jobs
    from unnest(p_job_ids, p_numbers) u(id, number)
    cross join lateral (select j.* from jobtree.job j where j.id = u.id offset 0) j
  ), item as (
    insert into jobtree.job_item (job_id, position, created_at, payload_bytes, run_at, payload)
    select j.id, v_blocks[(p.n - 1) / 1024 + 1] + (p.n - 1) % 1024, v_now, octet_length(p.payload), j.run_at, p.payload::json
    from unnest(p_payloads, p_owners) with ordinality p(payload, owner, n)
    join job j on j.number = p.owner
    returning job_id, position, payload_bytes
  ), placed as (
    select i.*, i.position - min(i.position) over block as n, jobtree.entry_size(max(i.payload_bytes) over block) as size
    from item i
    window block as (partition by i.job_id, i.position / 1024)
  ), queued as (
    insert into jobtree.queue_entry (job_id, position, place, bytes, run_at, attempt, count, priority, type)
    select j.id, e.position, e.position, e.bytes, j.due_at, 1, e.count, j.priority, j.type
    from (
      select p.job_id, min(p.position) as position, sum(p.payload_bytes) as bytes, count(*) as count
      from placed p
      group by p.job_id, p.position / 1024, p.n / p.size
    ) e
    join job j on j.id = e.job_id
  ), filled as materialized (
    select j.*, coalesce(s.items, 0) as items, coalesce(s.bytes, 0) as bytes
    from job j
    left join (select i.job_id, count(*) as items, sum(i.payload_bytes) as bytes from item i group by i.job_id) s on s.job_id = j.id
  ), counted as (
    insert into jobtree.job_progress (job_id, version, is_root, sealed, open_jobs, item_count, bytes)
    select f.id, 0, f.id = f.root_id, f.is_sealed, case when f.id = f.root_id then f.jobs else 0 end,
      case when p_counted then f.items else 0 end, case when p_counted then f.bytes else 0 end
    from filled f
  ), left_to_folds as (
    insert into jobtree.progress_delta (root_id, job_id, items, bytes)
    select f.root_id, f.id, f.items, f.bytes from filled f where not p_counted and (f.items > 0 or f.is_sealed)
  )
  insert into jobtree.stored_delta (tenant, items, bytes)
  select t.tenant, sum(t.items), sum(t.bytes)
  from (
    select jobtree.tenant_of(f.type) as tenant, sum(f.items) as items, sum(f.bytes) as bytes from filled f where p_counted group by f.type
  ) t
  group by t.tenant;
end
$$;

-- Examines the next open jobs and records which trees are idle, and since when, and which recorded ones are no longer idle.
-- Every server slowly goes through all open jobs this way.
--
-- p_from              the job to continue after
-- p_limit             how many jobs
-- p_idle_seconds      how long a tree must be idle to be recorded, or its expiry if that is shorter
-- p_expiry_seconds    the expiry of trees without their own; null for never
-- returns             the job to continue after, null at the end; and the trees that have expired: expire_tree
-- locks               the trees, for an instant; skips locked ones
create or replace function jobtree.find_idle(p_from uuid, p_limit integer, p_idle_seconds integer, p_expiry_seconds integer)
returns table (next_from uuid, expired uuid[])
language plpgsql volatile
set jit = off
set enable_seqscan = off
set enable_bitmapscan = off
set enable_hashjoin = off
set enable_mergejoin = off
set plan_cache_mode = force_generic_plan
as $$
declare
  v_now constant timestamptz := clock_timestamp();
  v_idle constant interval := p_idle_seconds * interval '1 second';
  v_jobs uuid[];
begin
  select array_agg(o.job_id) into v_jobs
  from (
    select o.job_id
    from (values (true), (false)) r(is_root)
    cross join lateral (
      (select p.job_id from jobtree.job_progress p
       where p.is_root = r.is_root and p.started_at is null and p.completed_at is null and p.job_id > p_from
       order by p.job_id limit p_limit)
      union all
      (select p.job_id from jobtree.job_progress p
       where p.is_root = r.is_root and p.started_at is not null and p.completed_at is null and p.job_id > p_from
       order by p.job_id limit p_limit)
    ) o
    order by o.job_id
    limit p_limit
  ) o;
  if cardinality(v_jobs) = p_limit then
    next_from := v_jobs[p_limit];
  end if;

  with quiet as materialized (
    select distinct j.root_id, r.expiry
    from unnest(v_jobs) u(id)
    join jobtree.job j on j.id = u.id
    cross join lateral (
      select nullif(coalesce(t.idle_expiry_seconds, p_expiry_seconds), -1) * interval '1 second' as expiry
      from jobtree.tree t where t.root_id = j.root_id
    ) r
    cross join lateral (select * from jobtree.job_progress p where p.job_id = j.id order by p.version desc limit 1) p
    where j.sealed_at is null and j.feed is null and p.succeeded + p.failed + p.cancelled = p.item_count
      and p.changed_at <= v_now - least(v_idle, r.expiry)
  ), idle as materialized (
    select q.root_id, q.expiry, jobtree.idle_since(q.root_id) as since from quiet q
  ), free as materialized (
    select t.root_id, i.since from idle i join jobtree.tree t on t.root_id = i.root_id
    where i.since <= v_now - least(v_idle, i.expiry) and t.idle_since is distinct from i.since
    for no key update of t skip locked
  ), noted as (
    update jobtree.tree t set idle_since = f.since from free f where t.root_id = f.root_id
  )
  select array_agg(i.root_id) into expired from idle i where i.since <= v_now - i.expiry;
  update jobtree.tree t set idle_since = null
  where t.root_id = any (array(
    select t.root_id from jobtree.tree t
    where t.idle_since is not null and t.root_id > p_from and (next_from is null or t.root_id <= next_from)
      and jobtree.idle_since(t.root_id) is null
    for no key update skip locked
  ));
  return next;
end
$$;

-- The group of dead letters that a failure belongs to. "1 cell" and "3 cells" are of one: a plural s after a number doesn't count.
create or replace function jobtree.fingerprint(p_type text, p_code text, p_pattern text) returns uuid
language sql immutable parallel safe
as $$
  select md5(p_type || E'\x1f' || p_code || E'\x1f' || regexp_replace(p_pattern, '(… \w+)s\M', '\1', 'g'))::uuid
$$;

-- Creates the trees of a schedule's due occurrences and sets its next occurrence in one transaction, so that each occurrence is created
-- once, however many servers try. If an earlier tree still runs, the schedule decides whether an occurrence is created, skipped or queued.
-- If create_job no longer accepts the template, that is recorded, and affects no other occurrence or schedule.
-- Or creates the first occurrence that it has queued, once all trees that it created before are complete, or may run beside others by now.
--
-- p_expected     the next occurrence as the caller read it; if it has changed, another server was faster. Null for a queued one
-- p_occurrences  the occurrences to create, in order; earlier due ones are missed and left out
-- p_next_at      the next occurrence after these; null if there is none or it can't be computed, which pauses the schedule
-- p_error        why it can't be computed
-- p_refusal      why none of them is created, in which case they have failed; null to create them
-- returns        the new roots, and how many items of each type are ready; no row if there is nothing to create yet, or another server is
--                working on it
-- locks          the schedule's row, skipping it if locked, then those of create_job
-- errors         whatever may pass when it is tried again
create or replace function jobtree.fire_schedule(
  p_name text, p_expected timestamptz default null, p_occurrences timestamptz[] default null, p_next_at timestamptz default null,
  p_error text default null, p_refusal text default null
)
returns table (root_ids uuid[], ready jsonb)
language plpgsql volatile
set jit = off
set enable_seqscan = off
-- In case another client has locked a serialize key: other schedules wait for this one.
set lock_timeout = '100ms'
set plan_cache_mode = force_generic_plan
as $$
declare
  v_is_queued constant boolean := p_expected is null;
  v_schedule jobtree.schedule;
  v_at timestamptz(3);
  v_root_id uuid;
begin
  select * into v_schedule from jobtree.schedule s
  -- The server may have read long ago that a queued one may begin, and a lock is a write.
  where s.name = p_name and case when v_is_queued then s.queued <> '{}' and s.paused_at is null
      and (s.overlap = 'ALLOW' or jobtree.open_roots(s.open_root_ids) = '{}')
    else s.next_at = p_expected and s.next_at <= clock_timestamp() end
  for update skip locked;
  v_schedule.open_root_ids := jobtree.open_roots(v_schedule.open_root_ids);
  -- Another server may have begun one before the lock.
  if v_schedule.name is null or v_is_queued and v_schedule.overlap <> 'ALLOW' and v_schedule.open_root_ids <> '{}' then
    return;
  end if;

  root_ids := '{}';
  if v_is_queued then
    p_occurrences := v_schedule.queued[1:1];
    v_schedule.queued := v_schedule.queued[2:];
  elsif p_expected <> all (p_occurrences) then
    v_schedule.skipped_at := p_expected;
    v_schedule.skip_reason := 'MISSED';
  end if;
  foreach v_at in array p_occurrences loop
    if p_refusal is not null then
      v_schedule.failed_at := v_at;
      v_schedule.error := left(p_refusal, 1000);
    elsif v_is_queued or v_schedule.overlap = 'ALLOW' or v_schedule.open_root_ids = '{}' and v_schedule.queued = '{}' then
      begin
        select c.job_id into v_root_id from jobtree.create_job(v_schedule.template) c;
        update jobtree.job j set schedule_name = p_name, occurrence_at = v_at where j.id = v_root_id;
        v_schedule.last_root_id := v_root_id;
        v_schedule.last_occurrence_at := v_at;
        v_schedule.open_root_ids := v_schedule.open_root_ids || v_root_id;
        v_schedule.failed_at := null;
        v_schedule.error := null;
        root_ids := root_ids || v_root_id;
      exception when others then
        -- What may pass is tried again: a lock, a full disk, the end of the session.
        if left(sqlstate, 2) in ('08', '25', '40', '53', '55', '57', '58', 'XX') then
          raise;
        end if;
        v_schedule.failed_at := v_at;
        v_schedule.error := left(sqlerrm, 1000);
      end;
    elsif v_schedule.overlap = 'QUEUE' and cardinality(v_schedule.queued) < 100 then
      v_schedule.queued := v_schedule.queued || v_at;
    else
      v_schedule.skipped_at := v_at;
      v_schedule.skip_reason := case v_schedule.overlap when 'QUEUE' then 'QUEUE_FULL' else 'OVERLAP' end;
    end if;
  end loop;

  update jobtree.schedule s
  set next_at = case when v_is_queued then s.next_at else p_next_at end,
    paused_at = case when not v_is_queued and p_next_at is null then clock_timestamp() end,
    queued = v_schedule.queued, open_root_ids = v_schedule.open_root_ids, last_root_id = v_schedule.last_root_id,
    last_occurrence_at = v_schedule.last_occurrence_at, skipped_at = v_schedule.skipped_at, skip_reason = v_schedule.skip_reason,
    failed_at = case when p_error is null then v_schedule.failed_at else p_expected end,
    error = coalesce(left(p_error, 1000), v_schedule.error)
  where s.name = p_name;
  ready := jobtree.ready_items(root_ids);
  return next;
end
$$;

-- Folds the deltas of trees once: adds them to the counters, and ends the jobs of which all items are done. What follows from that is the caller's
-- to do (fold_trees). A job ends, and counts as sealed, only if all its deltas were read while nothing could be added to it (exact_jobs), and so does
-- a percentage of failures count; trees in which that matters, but of which not all deltas were to be read, are left as they are.
--
-- p_root_ids the trees, none twice, whose rows are locked
-- p_from     for each tree the delta to read from
-- returns    the new state of each job that changed, and of each root: with the last delta read of the tree (0 for none); and whether the job
--            ends now, has more failures than it tolerates, could not be judged since a transaction is adding to it, or is complete with others
--            that wait for it or are fed by it. For a tree that is left a row without a state, which is not whole
-- locks      those of exact_jobs
create or replace function jobtree.fold_layer(p_root_ids uuid[], p_from bigint[])
returns table (
  root_id uuid, is_whole boolean, last_delta bigint, progress jobtree.job_progress, ends boolean, fails boolean, is_busy boolean, leads_on boolean
)
language plpgsql volatile
set jit = off
set enable_seqscan = off
set enable_bitmapscan = off
set enable_mergejoin = off
set plan_cache_mode = force_generic_plan
as $$
#variable_conflict use_column
declare
  v_now constant timestamptz(3) := clock_timestamp();
  v_tens constant bigint := floor(extract(epoch from v_now) / 10);
  v_exact constant uuid[] := case when 0 = any (p_from) then jobtree.exact_jobs(array(
    select t.root_id from unnest(p_root_ids, p_from) t(root_id, from_delta) where t.from_delta = 0
  )) end;
begin
  return query
  with read as materialized (
    select d.*, t.from_delta > 0 as is_partial
    from unnest(p_root_ids, p_from) t(root_id, from_delta)
    cross join lateral (
      select d.*, d.ctid as tid from jobtree.progress_delta d where d.root_id = t.root_id and d.id >= t.from_delta offset 0
    ) d
  ), summed as (
    select r.root_id, r.job_id, true as is_read, bool_or(r.is_partial) as is_partial, sum(r.items) as items, sum(r.succeeded) as succeeded,
      sum(r.failed) as failed, sum(r.cancelled) as cancelled, sum(r.bytes) as bytes, bool_or(r.started or r.succeeded > 0) as started, max(r.id) as last
    from read r
    group by r.root_id, r.job_id
    union all
    -- The root's row counts the open jobs and the failures of the tree.
    select r.root_id, r.root_id, false, false, 0, 0, 0, 0, 0, false, 0
    from read r
    group by r.root_id
    having not bool_or(r.job_id = r.root_id)
  ), counted as (
    select s.root_id, s.is_read, s.is_partial, s.last, s.items as more_items, s.bytes as more_bytes, s.failed as more_failed,
      p.tid, p.state, p.job_id, p.is_root, p.item_count + s.items as item_count, p.succeeded + s.succeeded as succeeded,
      p.failed + s.failed as failed, p.item_count + s.items - p.succeeded - s.succeeded - p.failed - s.failed - p.cancelled - s.cancelled as undone,
      p.cancelled + s.cancelled as cancelled, p.open_jobs, coalesce(p.started_at, case when s.started then v_now end) as started_at,
      p.completed_at, s.is_read and p.completed_at is null as is_open, p.sealed as is_sealed, p.bytes + s.bytes as bytes,
      case when s.is_read then jobtree.next_pace(p.pace, s.succeeded + s.failed, v_tens) else p.pace end as pace,
      j.type, j.sealed_at, j.waits, j.awaited or j.feeds_children as has_followers, j.failed_at, j.cancelled_at,
      j.tolerated_failure_count, j.tolerated_failure_percentage, p.job_id in (select e from unnest(v_exact) e) as is_exact
    from summed s
    cross join lateral (
      select p.*, p.ctid as tid, p as state from jobtree.job_progress p where p.job_id = s.job_id order by p.version desc limit 1
    ) p
    cross join lateral (select j.* from jobtree.job j where j.id = s.job_id offset 0) j
  ), compared as (
    select c.*, c.is_open and c.sealed_at is not null and not c.is_sealed as seals,
      c.is_open and c.sealed_at is not null and not c.waits and c.undone = 0 as is_even,
      c.is_open and c.cancelled_at is null and coalesce(c.failed > c.tolerated_failure_count, false) as is_over,
      -- Not in floating point, where 57 of 10,000 would be more than 0.57 %.
      c.is_open and c.cancelled_at is null and c.sealed_at is not null and coalesce(100 * c.failed > c.tolerated_failure_percentage::numeric * c.item_count, false) as is_over_share
    from counted c
  ), judged as (
    select c.*, c.is_even and c.is_exact and not c.is_over and not c.is_over_share as ends, c.is_over or c.is_over_share and c.is_exact as fails,
      (c.seals or c.is_even or c.is_over_share) and not c.is_exact and not c.is_over as is_busy,
      case when c.failed_at is not null then 'FAILED' when c.cancelled_at is not null then 'CANCELLED' when c.failed = 0 then 'SUCCEEDED'
        when c.succeeded > 0 then 'PARTIAL' else 'FAILED' end as verdict
    from compared c
  ), summed_up as (
    select j.*, count(*) filter (where j.ends) over tree as ending, sum(j.more_items) over tree as tree_items, sum(j.more_bytes) over tree as tree_bytes,
      sum(j.more_failed) over tree as more_tree_failed, max(j.last) over tree as tree_last,
      case when j.is_root then array_agg(j.verdict) filter (where j.ends) over tree end as verdicts,
      not bool_or(j.is_partial and (j.is_busy or j.undone < 0)) over tree as is_whole
    from judged j
    window tree as (partition by j.root_id)
  ), folded as materialized (
    select f.*, e.ending as root_ending, f.is_root and f.ending > 0 and f.ending = f.open_jobs as ends_tree,
      f.is_read and f.has_followers and (f.ends or f.completed_at is not null) as leads_on,
      f.is_read or f.is_root and (f.ending > 0 or f.more_tree_failed <> 0) as changes
    from summed_up f
    cross join lateral (select case when f.is_root then f.ending else 0 end as ending) e
    where f.is_whole
  ), consumed as (
    delete from jobtree.progress_delta d where d.ctid = any (array(
      select r.tid from read r where r.root_id not in (select s.root_id from summed_up s where not s.is_whole)
    ))
  ), written as (
    update jobtree.job_progress p
    set version = p.version + 1, changed_at = v_now, sealed = p.sealed or f.seals and f.is_exact,
      item_count = f.item_count, succeeded = f.succeeded, failed = f.failed, cancelled = f.cancelled,
      bytes = f.bytes, pace = f.pace, started_at = f.started_at, completions = p.completions + f.ends::integer,
      completed_at = case when f.ends then v_now else p.completed_at end, outcome = case when f.ends then f.verdict else p.outcome end,
      open_jobs = p.open_jobs - f.root_ending, tree_failed = p.tree_failed + case when f.is_root then f.more_tree_failed else 0 end,
      tree_outcome = case when f.root_ending > 0 then jobtree.worst_outcome(p.tree_outcome || f.verdicts) else p.tree_outcome end
    from folded f
    where f.changes and p.ctid = f.tid
    returning f.tid, p as state
  ), completed as (
    update jobtree.tree t set completed_at = v_now where t.root_id = any (array(select f.root_id from folded f where f.ends_tree))
  ), stored as (
    insert into jobtree.stored_delta (tenant, items, bytes)
    select t.tenant, sum(t.items), sum(t.bytes)
    from (
      select jobtree.tenant_of(f.type) as tenant, f.tree_items as items, f.tree_bytes as bytes
      from folded f
      where f.is_root and (f.tree_items <> 0 or f.tree_bytes <> 0)
    ) t
    group by t.tenant
  )
  select f.root_id, true, f.tree_last, coalesce(w.state, f.state), f.ends, f.fails, f.is_busy, f.leads_on
  from folded f
  left join written w on w.tid = f.tid
  union all
  select distinct s.root_id, false, 0::bigint, null::jobtree.job_progress, false, false, false, false from summed_up s where not s.is_whole;
end
$$;

-- Adds what folds, uploads and deletions have recorded to each tenant's total. Every server calls it about once a second. The commit does
-- not wait for the disk: after a crash the records are back, and are added again.
--
-- p_limit    the maximum number of records
-- p_from     the record to read from: a low-water mark that skips the dead rows of what was added before; 0 now and then, for records that
--            committed late
-- returns    how many there were, and the last one; null for none
-- locks      records, skipping locked ones; the rows of tenants in their order
create or replace function jobtree.fold_stored(p_limit integer default 10000, p_from bigint default 0)
returns table (records integer, last_record bigint)
language plpgsql volatile
set jit = off
set enable_seqscan = off
set enable_bitmapscan = off
set plan_cache_mode = force_generic_plan
as $$
begin
  perform set_config('synchronous_commit', 'off', true);
  return query
  with taken as materialized (
    select d.id from jobtree.stored_delta d where d.id >= p_from order by d.id limit p_limit for update skip locked
  ), consumed as (
    delete from jobtree.stored_delta d where d.id = any (array(select t.id from taken t)) returning d.tenant, d.items, d.bytes
  ), added as (
    insert into jobtree.stored as s (tenant, items, bytes)
    select c.tenant, sum(c.items), sum(c.bytes) from consumed c group by c.tenant order by c.tenant
    on conflict (tenant) do update set items = s.items + excluded.items, bytes = s.bytes + excluded.bytes
  )
  select count(*)::integer, max(t.id) from taken t;
end
$$;

-- Turns the deltas of trees into counters, completes jobs, and notifies listeners. All trees are folded at once, a layer at a time: what the end
-- of jobs has sealed, released or cancelled is examined in the next one.
--
-- A job is complete when it is sealed, waits for no other job, and succeeded + failed + cancelled = itemCount. Its completion seals the
-- children that it feeds and releases jobs that wait for it, which may complete those in turn; the tree is complete when openJobs on the
-- root's row is 0, and its retention counts from then on. Jobs in which more items failed than they tolerate are ended here.
--
-- p_root_ids the trees, none twice; of more than 1,000, the others are left for a later call
-- p_from     for each tree the delta to read from: a low-water mark that skips the dead rows of deltas folded before. A fold from 0 finds
--            deltas below it that committed late
-- returns    no row for a tree that another fold has (try again); for each other one the last delta read (0 for none); whether to try again,
--            since more layers may end, or a job could not be sealed, released or ended yet; whether a transaction that is adding to such a
--            job is the reason; and whether work is left for cancel_items or release_items. Deltas of a deleted tree are deleted
-- locks      the trees, then the rows of jobs to be ended, sealed or released, and those of exact_jobs, skipping locked
--            ones, so the order does not matter
-- notifies   tell_progress
-- durability the commit does not wait for the disk, so that Postgres's notification lock is held only for an instant; after a crash the
--            deltas are back, and are counted again
create or replace function jobtree.fold_trees(p_root_ids uuid[], p_from bigint[])
returns table (root_id uuid, last_delta bigint, retry boolean, held_up boolean, unfinished boolean)
language plpgsql volatile
set jit = off
set enable_seqscan = off
set enable_bitmapscan = off
set enable_mergejoin = off
set plan_cache_mode = force_generic_plan
-- In case another client has locked deltas: other trees wait for these.
set lock_timeout = '50ms'
as $$
#variable_conflict use_column
declare
  -- Each layer costs in proportion to the deltas of all before it, and other trees wait for this one.
  c_most_layers constant integer := 10;
  -- The advisory lock of a job that ends is kept until this transaction ends, and Postgres has room for some thousands; another layer may add
  -- 2,000 (exact_jobs).
  c_most_ended constant integer := 2000;
  v_ended integer := 0;
  v_folded uuid[];
  v_roots uuid[];
  v_from bigint[];
  v_layer record;
  v_next record;
  -- The last delta read of each tree, by its root; more than one of trees of several layers.
  v_read uuid[] := '{}';
  v_lasts bigint[] := '{}';
  -- The jobs that the next fold must examine again, later their trees; and the trees in which work is left.
  v_again uuid[] := '{}';
  v_unfinished uuid[] := '{}';
begin
  perform set_config('synchronous_commit', 'off', true);
  select array_agg(t.root_id), array_agg(t.from_delta) into v_roots, v_from
  from unnest(p_root_ids[:1000], p_from[:1000]) t(root_id, from_delta)
  cross join lateral (
    select from jobtree.tree r where r.root_id = t.root_id for no key update skip locked
  ) r;
  v_folded := v_roots;
  if cardinality(v_roots) is distinct from cardinality(p_root_ids[:1000]) then
    v_folded := v_roots || array(
      select r from unnest(p_root_ids[:1000]) r where not exists (select from jobtree.tree t where t.root_id = r)
    );
    delete from jobtree.progress_delta d where d.root_id = any (v_folded[coalesce(cardinality(v_roots), 0) + 1:]);
  end if;

  for n in 1..case when v_roots is null then 0 else c_most_layers end loop
    select array_agg(f.progress) filter (where f.is_whole) as rows, array_agg(f.root_id) filter (where not f.is_whole) as left_roots,
      array_agg(f.root_id) filter (where (f.progress).is_root) as read_roots, array_agg(f.last_delta) filter (where (f.progress).is_root) as lasts,
      array_agg(distinct f.root_id) filter (where f.ends) as ended_roots, array_agg((f.progress).job_id) filter (where f.ends) as ended,
      array_agg((f.progress).job_id) filter (where f.leads_on) as leading, array_agg((f.progress).job_id) filter (where f.fails) as failing,
      array_agg((f.progress).job_id) filter (where f.is_busy) as busy
    into v_layer
    from jobtree.fold_layer(v_roots, v_from) f;
    v_read := v_read || v_layer.read_roots;
    v_lasts := v_lasts || v_layer.lasts;
    v_again := v_again || v_layer.busy;
    if v_layer.ended is not null then
      perform jobtree.add_deliveries(v_layer.ended_roots, v_layer.ended);
    end if;
    if v_layer.rows is not null then
      perform jobtree.tell_progress(v_layer.rows);
    end if;
    v_roots := v_layer.left_roots;
    if v_layer.leading is not null or v_layer.failing is not null then
      select array_agg(t.root_id) filter (where t.done) as root_ids, array_agg(t.job_id) filter (where t.done) as job_ids,
        array_agg(t.job_id) filter (where not t.done) as again, array_agg(t.root_id) filter (where t.leaves_work) as unfinished
      into v_next
      from jobtree.follow_up(v_layer.failing, v_layer.leading) t;
      v_again := v_again || v_next.again;
      v_unfinished := v_unfinished || v_next.unfinished;
      insert into jobtree.progress_delta (root_id, job_id) select t.* from unnest(v_next.root_ids, v_next.job_ids) t;
      v_roots := v_roots || v_next.root_ids;
    end if;
    v_ended := v_ended + coalesce(cardinality(v_layer.ended), 0);
    exit when v_roots is null;
    select array_agg(t.root_id), array_agg(0) into v_roots, v_from from (select distinct r as root_id from unnest(v_roots) r) t;
    exit when v_ended >= c_most_ended;
  end loop;

  if v_again <> '{}' then
    with held_up as (
      insert into jobtree.progress_delta (root_id, job_id) select distinct j.root_id, j.id from jobtree.job j where j.id = any (v_again)
      returning root_id
    )
    select coalesce(array_agg(h.root_id), '{}') into v_again from held_up h;
    v_roots := v_roots || v_again;
  end if;
  return query
    select t.root_id, coalesce(min(r.last), 0), t.root_id in (select u from unnest(v_roots) u), t.root_id in (select u from unnest(v_again) u),
      t.root_id in (select u from unnest(v_unfinished) u)
    from unnest(v_folded) t(root_id)
    left join unnest(v_read, v_lasts) r(root_id, last) on r.root_id = t.root_id
    group by t.root_id;
end
$$;

-- Carries out what follows from a layer of a fold (fold_trees). It only marks jobs: cancel_items and release_items do the rest.
--
--   A job in which more items failed than it tolerates ends: from this commit on it accepts no items and gives none to workers, and what is
--   pending in it counts as cancelled. Children that a complete job feeds are sealed: nothing comes any more. A job that waits for others is
--   released when all of them ended SUCCEEDED or PARTIAL, and cancelled as soon as one of them ended FAILED or CANCELLED.
--
-- p_failing  jobs with more failures than they tolerate
-- p_complete   jobs that are complete
-- returns    the jobs that are ended, sealed, released or cancelled (done), and whether that leaves work; and for a later call the jobs of which
--            rows were locked: those that fail, and complete ones whose children or dependents could not be locked because of others
-- locks      the jobs' rows of each kind in the order of their ids, skipping locked ones
create or replace function jobtree.follow_up(p_failing uuid[], p_complete uuid[])
returns table (root_id uuid, job_id uuid, done boolean, leaves_work boolean)
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
  v_now constant timestamptz(3) := clock_timestamp();
  v_ended uuid[];
  v_go_on uuid[];
  v_in_vain uuid[];
  v_free uuid[];
begin
  return query
    with free as materialized (
      select j.id from jobtree.job j where j.id = any (p_failing) and j.cancelled_at is null
      order by j.id
      for no key update skip locked
    ), ended as (
      update jobtree.job j
      -- It may wait for others still: the bad lines of its file have failed already.
      set failed_at = v_now, cancelled_at = v_now, cancel_reason = 'FAILURES', cancelling = true, waits = false, sealed_at = coalesce(j.sealed_at, v_now)
      where j.id = any (array(select f.id from free f))
      returning j.root_id, j.id
    )
    select e.root_id, e.id, true, true from ended e
    union all
    select j.root_id, j.id, false, false from jobtree.job j where j.id = any (p_failing) and j.id not in (select f.id from free f);
  return query
    with waiting as materialized (
      select c.id, c.parent_id, c.root_id from jobtree.job c
      where c.parent_id = any (p_complete) and c.feed is not null and c.sealed_at is null
    ), free as materialized (
      select c.id from jobtree.job c where c.id = any (array(select w.id from waiting w))
      order by c.id
      for no key update skip locked
    ), sealed as (
      update jobtree.job c set sealed_at = v_now where c.id = any (array(select f.id from free f)) returning c.root_id, c.id
    )
    select s.root_id, s.id, true, false from sealed s
    union all
    select distinct w.root_id, w.parent_id, false, false from waiting w where w.id not in (select f.id from free f);

  v_ended := array(select j.id from jobtree.job j where j.id = any (p_complete) and j.awaited);
  if v_ended = '{}' then
    return;
  end if;
  select array_agg(w.id) filter (where w.goes_on), array_agg(w.id) filter (where w.in_vain) into v_go_on, v_in_vain
  from (
    select j.id, bool_and(coalesce(o.outcome in ('SUCCEEDED', 'PARTIAL'), false)) as goes_on, bool_or(o.outcome in ('FAILED', 'CANCELLED')) as in_vain
    -- Jobs wait for jobs of their own tree: comparing them with the ended ones of all trees would take most of the time of a fold.
    from (select j.root_id, array_agg(j.id) as ended from jobtree.job j where j.id = any (v_ended) group by j.root_id) r
    join jobtree.job j on j.root_id = r.root_id
    cross join lateral unnest(j.after_ids) a(id)
    cross join lateral (
      select (select p.outcome from jobtree.job_progress p where p.job_id = a.id order by p.version desc limit 1) as outcome
    ) o
    where j.waits and j.after_ids && r.ended
    group by j.id
  ) w;
  select array_agg(f.id) into v_free
  from (
    select j.id from jobtree.job j where j.id = any (v_go_on || v_in_vain) and j.waits
    order by j.id
    for no key update skip locked
  ) f;
  update jobtree.job j
  -- Even without an entry: a transaction may be adding one.
  set waits = false, releasing = true
  where j.id = any (v_free) and j.id = any (v_go_on);
  update jobtree.job j
  set waits = false, cancelled_at = v_now, cancel_reason = 'DEPENDENCY', cancelling = true, sealed_at = coalesce(j.sealed_at, v_now)
  where j.id = any (v_free) and j.id = any (v_in_vain);
  return query
    select j.root_id, j.id, true, true from jobtree.job j where j.id = any (v_free)
    union all
    select distinct e.root_id, e.id, false, false
    from jobtree.job w
    join jobtree.job e on e.id = any (v_ended) and e.id = any (w.after_ids)
    where w.id = any (v_go_on || v_in_vain) and (w.id = any (v_free)) is not true;
end
$$;

-- The only way on from the head of a key: when items end, the next item in the line of each key becomes its head. Keys that can't go on now
-- are noted for promote_blocked, so that no caller waits for a locked key.
--
-- p_job_ids, p_positions   items that have ended; those that are not the head of a key have no effect
-- p_now      whether the next items proceed at once, or all are left to promote_blocked
-- returns    the types that got ready items, and how many
-- locks      those of promote_next
create or replace function jobtree.free_keys(p_job_ids uuid[], p_positions bigint[], p_now boolean default true)
returns jsonb
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
  v_ended record;
  v_left record;
begin
  select array_agg(i.serialize_key) as keys, array_agg(i.job_id) as job_ids, array_agg(i.position) as positions into v_ended
  from unnest(p_job_ids, p_positions) u(job_id, position)
  cross join lateral (
    select i.* from jobtree.job_item i
    where i.job_id = u.job_id and i.position = u.position and i.serialize_key is not null
    offset 0
  ) i;
  if v_ended.keys is null then
    return null;
  end if;
  if p_now then
    select * into v_left from jobtree.promote_next(v_ended.keys, v_ended.job_ids, v_ended.positions);
  else
    select array_agg(u.key) as keys, array_agg(u.job_id) as job_ids, array_agg(u.position) as positions, null::jsonb as ready into v_left
    from unnest(v_ended.keys, v_ended.job_ids, v_ended.positions) u(key, job_id, position)
    join jobtree.serialize_key k on k.key = u.key collate "C" and k.job_id = u.job_id and k.position = u.position;
  end if;
  insert into jobtree.ended_head (key, job_id, position, held)
  select u.key, u.job_id, u.position, false from unnest(v_left.keys, v_left.job_ids, v_left.positions) u(key, job_id, position)
  on conflict (job_id, position) do nothing;
  return v_left.ready;
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

-- Holds jobs for what this transaction adds to them: until it ends, no other one concludes that nothing more comes (exclude_adders). Whoever
-- calls this reads the jobs afterwards, in a new statement: one that was sealed meanwhile takes nothing more.
--
-- Sealing, cancelling and failing a job only mark it, and never wait for those who add: these would follow each other without a gap, so that
-- the mark would come never, or, if it queued for a lock, they would all wait behind it for as long as the longest of them. Advisory locks,
-- since many transactions that share a row's lock cost Postgres a list of them all, each time that one joins.
--
-- p_job_ids  the jobs; duplicates are allowed
-- p_wait     whether to wait for those about which another transaction is concluding, or to leave these out
-- returns    those that are held
-- locks      an advisory lock for each job, shared, in the order of their ids. Beyond 64 in a transaction, since Postgres has room for a
--            limited number, and in transactions with an old snapshot, which would not see a mark, the jobs' rows, shared: marks wait for these
create or replace function jobtree.hold_jobs(p_job_ids uuid[], p_wait boolean)
returns uuid[]
language plpgsql volatile
set jit = off
set enable_seqscan = off
set plan_cache_mode = force_generic_plan
as $$
declare
  v_ids constant uuid[] := array(select distinct u from unnest(p_job_ids) u order by 1);
  v_held constant integer :=
    coalesce(nullif(current_setting('jobtree.held_jobs', true), '')::integer, 0) + cardinality(v_ids);
  v_id uuid;
begin
  if v_held > 64 or current_setting('transaction_isolation') not in ('read committed', 'read uncommitted') then
    if p_wait then
      perform 1 from jobtree.job j where j.id = any (v_ids) order by j.id for share;
      return v_ids;
    end if;
    return array(select j.id from jobtree.job j where j.id = any (v_ids) order by j.id for share skip locked);
  end if;
  perform set_config('jobtree.held_jobs', v_held::text, true);
  if not p_wait then
    return array(select u from unnest(v_ids) u where pg_try_advisory_xact_lock_shared(hashtextextended('job ' || u, 0)));
  end if;
  foreach v_id in array v_ids loop
    perform pg_advisory_xact_lock_shared(hashtextextended('job ' || v_id, 0));
  end loop;
  return v_ids;
end
$$;

-- Since when a tree has waited only for more items: one of its jobs is not sealed, and nothing else of the tree is left to do, neither
-- items nor imports of files, apart from jobs that wait for that one.
--
-- returns    when anything of the tree was last counted; null if it is not idle
create or replace function jobtree.idle_since(p_root_id uuid)
returns timestamptz
language sql stable
set jit = off
set enable_seqscan = off
set enable_bitmapscan = off
set enable_hashjoin = off
set enable_mergejoin = off
as $$
  select case
    when bool_or(j.sealed_at is null and j.feed is null)
      and not bool_or(p.completed_at is null and not j.waits and p.succeeded + p.failed + p.cancelled < p.item_count)
      and not bool_or(j.sealed_at is null and coalesce((
        select f.finished_at is null from jobtree.file_import f where f.type = j.type and f.job_id = j.id
      ), false))
      and not exists (select from jobtree.progress_delta d where d.root_id = p_root_id)
    then max(p.changed_at)
  end
  from jobtree.job j
  cross join lateral (select * from jobtree.job_progress p where p.job_id = j.id order by p.version desc limit 1) p
  where j.root_id = p_root_id
$$;

-- Finds what is wrong with an object that a caller sent: an unknown key, or an invalid value. A key with null counts as
-- missing.
--
-- p_input    the object: a job, an item, a report, a failure
-- p_keys     the keys that it may have
-- returns    the first problem: the key, with the place in its list, and what is to be said of it (value_problem); no row if there is none
create or replace function jobtree.input_problem(p_input jsonb, p_keys text[])
returns table (field text, message text)
language plpgsql stable
as $$
declare
  v_value jsonb;
begin
  if jsonb_typeof(p_input) is distinct from 'object' then
    return query select ''::text, 'must be an object';
    return;
  end if;

  for field, v_value in select e.key, e.value from jsonb_each(p_input) e loop
    continue when v_value = 'null';
    if field <> all (p_keys) then
      message := 'is not known';
    else
      message := jobtree.value_problem(case when field = 'intervalMs' and 'count' = any (p_keys) then 'alert.intervalMs' else field end, v_value);
    end if;
    if message is null and field in ('after', 'backoffMs') then
      select format('%s[%s]', field, e.n - 1), e.problem into field, message
      from (
        select s.n, jobtree.value_problem(field || '[]', s.value) as problem from jsonb_array_elements(v_value) with ordinality s(value, n)
      ) e
      where e.problem is not null
      order by e.n
      limit 1;
    end if;
    if message is not null then
      return next;
      return;
    end if;
  end loop;
end
$$;

-- Adds new items to a job, each with its own settings: the items, their queue entries, and one delta. It checks nothing:
-- callers do.
--
-- p_job      the job's row, which the caller has locked or just inserted
-- p_items    JSON array of {payload, dedupeKey?, priority?, runAt?, serializeKey?}, at least one; the job provides missing values
-- p_parents  for each, the position of the parent job's item that created it; null if none did
-- returns    for each entry, in order, the item's position, and whether the item is new; if not, an item of the job had the
--            dedupe key already, and the position is that item's. And how many are ready: neither scheduled nor waiting nor blocked
-- locks      serialize keys in their order; meeting an uncommitted item with the same dedupe key waits for it
create or replace function jobtree.insert_items(p_job jobtree.job, p_items json, p_parents bigint[] default null)
returns table (positions bigint[], added boolean[], ready integer)
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
  v_job_id constant uuid := p_job.id;
  v_priority constant smallint := p_job.priority;
  -- Items with serialize keys enter the lines once their job no longer waits, in the order of their positions.
  v_waits constant boolean := p_job.waits or p_job.releasing;
  v_positions bigint[];
  v_serialize_keys text[];
  v_inserted record;
begin
  v_positions := jobtree.positions_from(
    array(select nextval('jobtree.block_seq') * 1024 from generate_series(1, json_array_length(p_items), 1024)), json_array_length(p_items)
  );
  if strpos(p_items::text, '"dedupeKey"') > 0 and strpos(p_items::text, '"serializeKey"') > 0 and not v_waits then
    -- Before the dedupe keys: the order in which every other call locks them.
    select array_agg(e.value ->> 'serializeKey') into v_serialize_keys from json_array_elements(p_items) e(value)
    where e.value ->> 'serializeKey' is not null;
    perform jobtree.lock_keys(v_serialize_keys);
  end if;

  with given as materialized (
    select u.position, coalesce(u.value -> 'payload', 'null') as payload, u.value ->> 'dedupeKey' as dedupe_key,
      (u.value ->> 'priority')::smallint as priority, coalesce((u.value ->> 'runAt')::timestamptz, p_job.run_at) as run_at,
      u.value ->> 'serializeKey' as serialize_key, u.parent
    from rows from (unnest(v_positions), json_array_elements(p_items), unnest(p_parents)) u(position, value, parent)
  ), plain as (
    -- Separately: "on conflict" costs every row a search in each unique index and a speculative insert.
    insert into jobtree.job_item as i (job_id, position, created_at, payload_bytes, priority, run_at, payload, serialize_key, parent_position)
    select v_job_id, g.position, v_now, octet_length(g.payload::text), g.priority, g.run_at, g.payload, g.serialize_key, g.parent
    from given g
    where g.dedupe_key is null
    returning i.position, i.payload_bytes, i.priority, i.run_at, i.serialize_key
  ), deduped as (
    insert into jobtree.job_item as i (job_id, position, created_at, payload_bytes, priority, run_at, dedupe_key, payload, serialize_key, parent_position)
    select v_job_id, g.position, v_now, octet_length(g.payload::text), g.priority, g.run_at, g.dedupe_key, g.payload, g.serialize_key, g.parent
    from given g
    where g.dedupe_key is not null
    -- In the order of their keys: two calls with the same keys would deadlock otherwise.
    order by g.dedupe_key, g.position
    on conflict (job_id, dedupe_key) where dedupe_key is not null do nothing
    returning i.position, i.payload_bytes, i.priority, i.run_at, i.serialize_key
  ), inserted as materialized (
    select i.position, i.payload_bytes, coalesce(i.priority, v_priority) as priority, case when i.run_at > v_now then i.run_at end as due_at,
      i.serialize_key is not null as keyed
    from (select * from plain union all select * from deduped) i
  ), queued as (
    insert into jobtree.queue_entry (job_id, position, place, bytes, run_at, attempt, count, priority, type, keyed)
    select v_job_id, min(r.position), min(r.position), sum(r.payload_bytes),
      -- While the job waits for others nothing is due, until release_items examines it again.
      case when p_job.waits or r.keyed then 'infinity' else r.due_at end, 1, count(*), r.priority, p_job.type, r.keyed
    from (
      -- Neighbours that wait under the same conditions are in the same run.
      select i.*, i.position - row_number() over (partition by i.priority, i.due_at, i.keyed order by i.position) as run,
        -- Keyed items get entries of their own: release_items may find the key of one locked, but not that of the next.
        case when i.keyed then 1 else jobtree.entry_size(max(i.payload_bytes) over ()) end as size
      from inserted i
      where not i.keyed or v_waits
    ) r
    group by r.priority, r.due_at, r.keyed, r.run, r.position / r.size
  )
  select (select array_agg(g.dedupe_key order by g.position) from given g) as dedupe_keys, count(*)::integer as added,
    sum(i.payload_bytes) as bytes,
    count(*) filter (where not (i.keyed or p_job.waits) and i.due_at is null)::integer as ready,
    array_agg(row(v_job_id, i.position, 1, i.priority, i.due_at, null)::jobtree.waiting_item order by i.position) filter (where i.keyed) as keyed
  into v_inserted
  from inserted i;

  if v_inserted.added > 0 then
    insert into jobtree.progress_delta (root_id, job_id, items, bytes)
    values (p_job.root_id, v_job_id, v_inserted.added, v_inserted.bytes);
  end if;
  if v_inserted.keyed is not null and not v_waits then
    v_inserted.ready := v_inserted.ready + jobtree.enter_keys(v_inserted.keyed, false);
  end if;
  if v_serialize_keys is not null then
    delete from jobtree.serialize_key k where k.key = any (v_serialize_keys) and k.job_id is null;
  end if;

  if cardinality(v_positions) = v_inserted.added then
    return query select v_positions, array_fill(true, array[v_inserted.added]), v_inserted.ready;
  else
    -- A new statement sees what the conflicting transactions committed.
    return query
      select array_agg(coalesce(i.position, u.position) order by u.n), array_agg(coalesce(i.position = u.position, true) order by u.n),
        v_inserted.ready
      from unnest(v_positions, v_inserted.dedupe_keys) with ordinality u(position, dedupe_key, n)
      left join jobtree.job_item i on i.job_id = v_job_id and i.dedupe_key = u.dedupe_key;
  end if;
end
$$;

-- Inserts new jobs with the plain items that they start with. It checks nothing: create_jobs does, or the server. What a job does not say comes
-- from the queue of its type, if that has it, or is the default.
--
-- p_jobs     JSON array of jobs as create_job takes them; their items and children are not looked at
-- p_payloads the items that have no settings of their own, as JSON texts, job by job
-- p_owners   for each payload its job: the place in p_jobs, from 1
-- p_counted  whether the counters of the jobs include their items at once; otherwise a fold adds them up, and a sweep that finds what nobody
--            has folded wakes workers. Only for roots, with at least one item each
-- p_roots, p_parents, p_depths   for each job the places of its root and its parent in p_jobs, and its depth; null if all are roots. Trees
--            follow each other, parents come before their children
-- returns    for each job its id, and whether it is new: if not, a root of its type has the dedupe key, and no job of its tree was inserted
-- locks      meeting uncommitted jobs with the same dedupe keys waits for them, in the order of types and keys
-- errors     JT002 a child's dedupe key that is in use; 22003, 22007, 22008, 22P02 or 23514 for a value that create_jobs would refuse
create or replace function jobtree.insert_jobs(
  p_jobs json, p_payloads text[], p_owners integer[], p_counted boolean,
  p_roots integer[] default null, p_parents integer[] default null, p_depths integer[] default null
)
returns table (job_id uuid, created boolean)
language plpgsql volatile
set jit = off
set enable_seqscan = off
set enable_bitmapscan = off
set plan_cache_mode = force_generic_plan
as $$
declare
  -- For each job the place of its root.
  v_roots constant integer[] := coalesce(p_roots, array(select generate_series(1, json_array_length(p_jobs))));
  -- The last 24 bits of a job's id count the jobs of its tree: so their ids are in order even within a millisecond.
  v_ids constant uuid[] := array(
    select (p.prefix || lpad(to_hex(r.n - r.root + 1), 6, '0'))::uuid
    from unnest(v_roots) with ordinality r(root, n)
    join (select d.root, left(jobtree.new_id()::text, 30) as prefix from (select distinct u as root from unnest(v_roots) u order by u) d) p on p.root = r.root
    order by r.n
  );
  v_new integer[];
  v_made integer[] := '{}';
  -- The roots that exist.
  v_taken jsonb := '{}';
  v_found jsonb;
  v_is_freed boolean;
  v_refused json;
  -- First the roots, then what is below those that are new.
  v_below boolean := false;
begin
  loop
    with given as materialized (
      select g.n, g.id, v_ids[g.root] as root_id, v_ids[g.parent] as parent_id, coalesce(g.depth, 0) as depth, g.spec,
        -- The time in the id: so lists select by the time of creation with ranges of ids.
        to_timestamp(('x' || replace(left(g.id::text, 13), '-', ''))::bit(48)::bigint / 1000.0)::timestamptz(3) as created_at
      from rows from (json_array_elements(p_jobs), unnest(v_ids), unnest(v_roots), unnest(p_parents), unnest(p_depths))
        with ordinality g(spec, id, root, parent, depth, n)
      where (g.parent is not null) = v_below and not v_taken ? g.root::text and g.n not in (select u from unnest(v_made) u)
    ), inserted as (
      insert into jobtree.job (
        id, root_id, parent_id, depth, type, dedupe_key, priority, run_at, max_failures_per_item, backoff_ms, backoff_jitter,
        heartbeat_interval_ms, final_stage, feed, feeds_children, created_at, sealed_at, tolerated_failure_count,
        tolerated_failure_percentage, waits, blocks_on_failure
      )
      select
        g.id, g.root_id, g.parent_id, g.depth, s.type, s."dedupeKey", coalesce(s.priority, q.priority, 0), s."runAt",
        coalesce(s."maxFailuresPerItem", q.max_failures_per_item, 3), coalesce(s."backoffMs", q.backoff_ms, '{30000,300000,1800000}'),
        coalesce(round(s."backoffJitter", 9), q.backoff_jitter, 0.1), coalesce(s."heartbeatIntervalMs", q.heartbeat_interval_ms, 60000),
        coalesce(s."finalStage", (g.n in (select u from unnest(p_parents) u)) is not true),
        case when s.feed is not null then '{"source": "SUCCESSES"}' || jsonb_strip_nulls(s.feed) end,
        (g.n in (
          select c.parent from rows from (json_array_elements(p_jobs), unnest(p_parents)) c(spec, parent)
          where p_parents is not null and c.spec ->> 'feed' is not null
        )) is true,
        g.created_at, case when s.sealed then g.created_at end, s."toleratedFailureCount", s."toleratedFailurePercentage",
        coalesce(json_array_length(s.after) > 0, false), coalesce(s."serializeOnFailure" = 'BLOCK', false)
      from given g
      cross join lateral json_to_record(g.spec) as s(
        type text, "dedupeKey" text, priority smallint, "runAt" timestamptz, "maxFailuresPerItem" integer, "backoffMs" integer[],
        "backoffJitter" numeric, "heartbeatIntervalMs" integer, "finalStage" boolean, feed jsonb, sealed boolean,
        "toleratedFailureCount" integer, "toleratedFailurePercentage" double precision, after json, "serializeOnFailure" text
      )
      left join lateral (select q.* from jobtree.queue q where q.type = s.type offset 0) q on true
      -- Two calls with the same keys would deadlock otherwise.
      order by s.type collate "C", s."dedupeKey" collate "C", g.n
      on conflict (type, dedupe_key) do nothing
      returning id
    ), new as materialized (
      select g.n, g.id, g.root_id, g.spec from inserted i join given g on g.id = i.id
    ), rooted as (
      insert into jobtree.tree (root_id, retention_seconds, idle_expiry_seconds)
      -- Null is for ever, which is not what is missing.
      select n.id,
        case when strpos(n.spec::text, '"retentionSeconds"') > 0 then case (n.spec -> 'retentionSeconds')::text when 'null' then -1 else (n.spec ->> 'retentionSeconds')::numeric end end,
        case when strpos(n.spec::text, '"idleExpirySeconds"') > 0 then case (n.spec -> 'idleExpirySeconds')::text when 'null' then -1 else (n.spec ->> 'idleExpirySeconds')::numeric end end
      from new n
      where n.id = n.root_id
    )
    select coalesce(array_agg(n.n::integer), '{}') into v_new from new n;
    v_made := v_made || v_new;
    exit when cardinality(v_made) = cardinality(v_ids);
    -- In a new statement, which sees what the others have committed.
    select bool_or(j.id is null), coalesce(jsonb_object_agg(g.n, j.id) filter (where j.id is not null), '{}') into v_is_freed, v_found
    from rows from (json_array_elements(p_jobs), unnest(v_roots), unnest(p_parents)) with ordinality g(spec, root, parent, n)
    -- As a range, so that no plan goes through all jobs of the type.
    left join lateral (
      select j.id from jobtree.job j
      where (j.dedupe_key, j.type) >= (g.spec ->> 'dedupeKey', g.spec ->> 'type') and (j.dedupe_key, j.type) <= (g.spec ->> 'dedupeKey', g.spec ->> 'type')
      limit 1
    ) j on true
    where (g.parent is not null) = v_below and not v_taken ? g.root::text and g.n not in (select u from unnest(v_made) u);
    if v_below and v_found <> '{}' then
      v_refused := p_jobs -> (select min(k::integer) - 1 from jsonb_object_keys(v_found) k);
      raise exception 'A job of type % with the dedupe key % exists already.', v_refused ->> 'type', v_refused ->> 'dedupeKey'
        using errcode = 'JT002', column = 'dedupeKey';
    end if;
    v_taken := v_taken || v_found;
    -- Another transaction has just freed these keys.
    continue when v_is_freed;
    exit when v_below or p_parents is null;
    v_below := true;
  end loop;

  perform jobtree.fill_jobs(array(select v_ids[u] from unnest(v_made) u), v_made, p_payloads, p_owners, p_counted);
  return query
    select coalesce((v_taken ->> n.root::text)::uuid, n.id), not v_taken ? n.root::text
    from unnest(v_ids, v_roots) with ordinality n(id, root, n)
    order by n.n;
end
$$;

-- Adds new items without settings of their own to a job: the items, their queue entries, and one delta. insert_items adds
-- all others.
--
-- p_job      the job's row, which the caller has locked or just inserted
-- p_payloads JSON texts, at least one; converted only when they are stored, because each conversion between json and text is a copy
-- p_parents  for each, the position of the parent job's item that created it; null if none did
-- returns    the first position of each 1,024 items; the positions of these are consecutive
-- locks      none
-- errors     22P02 for a text that is not JSON
create or replace function jobtree.insert_payloads(p_job jobtree.job, p_payloads text[], p_parents bigint[] default null)
returns bigint[]
language plpgsql volatile
set jit = off
set enable_seqscan = off
set plan_cache_mode = force_generic_plan
as $$
declare
  v_now constant timestamptz(3) := clock_timestamp();
  v_job_id constant uuid := p_job.id;
  v_run_at constant timestamptz(3) := p_job.run_at;
  -- While the job waits for others nothing is due, until release_items examines it again.
  v_due_at constant timestamptz(3) := case when p_job.waits then 'infinity' when v_run_at > v_now then v_run_at end;
  v_count constant integer := cardinality(p_payloads);
  v_first bigint;
  v_size integer;
  v_bytes bigint;
  v_some text[];
  v_firsts bigint[] := '{}';
begin
  select jobtree.entry_size(max(octet_length(u.payload))), sum(octet_length(u.payload)) into v_size, v_bytes from unnest(p_payloads) u(payload);

  for v_from in 0 .. v_count - 1 by 1024 loop
    v_first := nextval('jobtree.block_seq') * 1024;
    v_firsts := v_firsts || v_first;
    v_some := case when v_count <= 1024 then p_payloads else p_payloads[v_from + 1 : v_from + 1024] end;
    insert into jobtree.job_item (job_id, position, created_at, payload_bytes, run_at, payload, parent_position)
    select v_job_id, v_first + u.n - 1, v_now, octet_length(u.payload), v_run_at, u.payload::json, u.parent
    from unnest(v_some, p_parents[v_from + 1 : v_from + 1024]) with ordinality u(payload, parent, n);
    insert into jobtree.queue_entry (job_id, position, place, bytes, run_at, attempt, count, priority, type)
    select v_job_id, v_first + g.n, v_first + g.n, g.bytes, v_due_at, 1, g.count, p_job.priority, p_job.type
    from (
      select min(u.n) - 1 as n, sum(octet_length(u.payload)) as bytes, count(*) as count
      from unnest(v_some) with ordinality u(payload, n)
      group by (u.n - 1) / v_size
    ) g;
  end loop;
  insert into jobtree.progress_delta (root_id, job_id, items, bytes) values (p_job.root_id, v_job_id, v_count, v_bytes);
  return v_firsts;
end
$$;

-- Whether a feed is valid: feed_items explains feeds. A path may begin with element only with forEach, and a feed from REPORTS has no
-- paths.
create or replace function jobtree.is_feed(p_feed jsonb)
returns boolean
language sql immutable
as $$
  select case jsonb_typeof(p_feed)
    when 'object' then
      p_feed - '{source,forEach,payload,serializeKey}'::text[] = '{}'
      and length(p_feed::text) <= 10000
      and coalesce(p_feed -> 'source', 'null') in ('null', '"SUCCESSES"', '"REPORTS"')
      and (p_feed ->> 'source' is distinct from 'REPORTS' or coalesce(p_feed ->> 'forEach', p_feed ->> 'payload', p_feed ->> 'serializeKey') is null)
      and not exists (
        select from (
          select f.key, f.value from jsonb_each(p_feed - 'source') f
          where f.value <> 'null' and (f.key <> 'payload' or jsonb_typeof(f.value) <> 'object')
          union all
          select 'payload', t.path from jsonb_path_query(p_feed, '$.payload ? (@.type() == "object").*') t(path)
        ) p(name, path)
        where jsonb_typeof(p.path) <> 'string' or p.path #>> '{}' !~ (
          case when p.name = 'forEach' or p_feed ->> 'forEach' is null then '^(payload|result)' else '^(payload|result|element)' end || '(\.[^.]+)*$'
        )
      )
    else false
  end
$$;

-- Whether Postgres can read a text as an instant that rows may have: from 1970 to the end of the year 9999.
create or replace function jobtree.is_instant(p_text text)
returns boolean
language plpgsql stable
as $$
begin
  return p_text::timestamptz between '1970-01-01 00:00:00Z' and '9999-12-31 23:59:59.999Z';
exception when data_exception then
  return false;
end
$$;

-- Whether a complete tree is not reaped although its retention is over: because a replay or discard in progress may select its dead letters.
create or replace function jobtree.is_kept(p_root_id uuid)
returns boolean
language sql stable
set jit = off
set enable_seqscan = off
set enable_bitmapscan = off
as $$
  select exists (
    select from jobtree.operation o
    where o.finished_at is null and o.kind in ('REPLAY', 'DISCARD')
      and (o.job_id is null or p_root_id = (select j.root_id from jobtree.job j where j.id = o.job_id))
      and exists (
        select from jobtree.job j
        -- Looked up job by job: a join might read all dead letters.
        where j.root_id = p_root_id and (select true from jobtree.dead_letter d where d.job_id = j.id limit 1)
      )
  )
$$;

-- Whether a text is a name of 1 to p_most characters, not counting the prefix of its tenant.
create or replace function jobtree.is_name(p_text text, p_most integer)
returns boolean
language sql immutable parallel safe
as $$
  select length(p_text) - length(jobtree.tenant_beginning(p_text)) between 1 and p_most
$$;

-- Whether lists and objects of a JSON text are nested more than p_most levels deep: thousands of levels exhaust the stack of any code that
-- writes or inspects the value. For nearly all texts two counts are enough to tell, and cost next to nothing.
--
-- p_json     JSON that is known to be storable
-- p_most     the maximum number of levels; a list of numbers has 1
create or replace function jobtree.is_too_deep(p_json text, p_most integer default 256)
returns boolean
language sql immutable
as $$
  select case
    when octet_length(p_json) <= 2 * p_most then false
    when octet_length(p_json) - octet_length(replace(replace(p_json, '[', ''), '{', '')) <= p_most then false
    else jsonb_path_exists(p_json::jsonb, format('strict $.**{%s} ? (@.type() == "array" || @.type() == "object")', p_most)::jsonpath)
  end
$$;

-- The jobs among which the items of an operation are, after the one at which it has stopped, in the order of their ids: those that it selected
-- when it was requested, a job with all jobs below it, the jobs of single items, or those of a few types or a small tenant. Null if it goes
-- through all jobs.
--
-- p_last_id  the last of them; null for all
create or replace function jobtree.jobs_of_operation(p_operation jobtree.operation, p_last_id uuid default null)
returns uuid[]
language plpgsql stable
set jit = off
set enable_seqscan = off
as $$
declare
  v_jobs constant uuid[] := case
    when p_operation.selected_job_ids is not null then p_operation.selected_job_ids
    when p_operation.job_id is not null then array(
      with recursive subtree as (
        select p_operation.job_id as id
        union all
        select c.id from jobtree.job c join subtree s on c.parent_id = s.id
      )
      select s.id from subtree s
    )
    when p_operation.item_job_ids is not null then p_operation.item_job_ids
    else jobtree.few_jobs(p_operation.types, p_operation.tenant)
  end;
begin
  return case when v_jobs is not null then array(
    select distinct u from unnest(v_jobs) u where u > p_operation.next_job_id and u <= coalesce(p_last_id, u) order by u
  ) end;
end
$$;

-- Selects the reports that count: of those whose lease is locked and whose item is open, for each assignment the first of which nothing is
-- wrong with the content. The content of whole reports is examined, and that of results for what fed children could not take. What mappings would
-- create in one call is bounded: results beyond about 20 MB of it are put off, which report_answers tells.
--
-- p_leases   the leases that this transaction has locked, with all that they need
-- p_lease_ids, p_numbers, p_values, p_kinds   as report_results takes them
-- returns    what counts: the indexes, from 1, and for each the assignment, what it is and its content, and new items; and what is wrong with
--            those that would count otherwise: {index: [field, message]}
create or replace function jobtree.judge_reports(
  p_leases jobtree.reported_lease[], p_lease_ids uuid[], p_numbers integer[], p_values json, p_kinds text[]
)
returns jobtree.judged_reports
language plpgsql stable
set jit = off
set enable_seqscan = off
set enable_bitmapscan = off
set enable_mergejoin = off
set plan_cache_mode = force_generic_plan
as $$
begin
  return (select row(
    array_agg(r.n) filter (where r.problem is null), array_agg(r.lease_id) filter (where r.problem is null),
    array_agg(r.number) filter (where r.problem is null),
    json_agg(case r.kind when 'snooze' then r.report else r.report -> r.kind end) filter (where r.problem is null),
    array_agg(r.kind) filter (where r.problem is null), array_agg(r.report -> 'newItems') filter (where r.problem is null),
    jsonb_object_agg(r.n, r.problem) filter (where r.problem is not null)
  )::jobtree.judged_reports
  from (
    select o.*, min(o.n) filter (where o.problem is null) over (partition by o.lease_id, o.number) as first_n,
      sum(o.fed_bytes) filter (where o.problem is null) over (order by o.n) as all_fed_bytes
    from (
      select u.n::integer as n, u.lease_id, u.number, w.report, w.kind,
        coalesce(
          case when u.kind = 'report' then (select jsonb_build_array(p.field, p.message) from jobtree.report_problem(w.report::jsonb) p) end,
          case when w.kind = 'result' and (k.feeds_children or w.report ->> 'newItems' is not null) then (
            select jsonb_build_array(p.field, p.message)
            from jobtree.job_item i
            cross join lateral jobtree.feed_problem(k.job_id, i.payload, w.report) p
            where i.job_id = k.job_id and i.position = k.position + u.number - 1
          ) end
        ) as problem,
        -- With those of the rows.
        coalesce(case when w.kind = 'result' and k.feeds_children then (
          select sum(z.bytes + 200 * z.items)
          from jobtree.job_item i
          join jobtree.job c on c.parent_id = i.job_id and c.feed ->> 'source' = 'SUCCESSES' and c.cancelled_at is null
          cross join lateral jobtree.feed_size(c.feed, i.payload, coalesce(w.report -> 'result', 'null')) z
          where i.job_id = k.job_id and i.position = k.position + u.number - 1
        ) end, 0) as fed_bytes
      from rows from (unnest(p_lease_ids), unnest(p_numbers), json_array_elements(p_values), unnest(p_kinds))
        with ordinality u(lease_id, number, value, kind, n)
      join unnest(p_leases) k on k.id = u.lease_id
      cross join lateral (
        select r.report, case
          when r.report ->> 'failure' is not null then 'failure'
          when r.report ->> 'snoozeMs' is not null then 'snooze'
          else 'result'
        end as kind
        from (select jobtree.whole_report(u.value, u.kind) as report offset 0) r
        offset 0
      ) w
      where case when k.cancelled then false when u.number > 0 then get_bit(k.open, u.number - 1) = 1 end
    ) o
    order by o.n
  ) r
  where (r.first_n is null or r.n <= r.first_n) and (r.problem is not null or r.all_fed_bytes <= 20e6 or r.all_fed_bytes = r.fed_bytes));
end
$$;

-- Rejects every change to the audit, whoever makes it, except additions and removals by the servers' upkeep, which never affect entries younger
-- than a day.
--
-- errors     insufficient_privilege
create or replace function jobtree.keep_audit()
returns trigger
language plpgsql
as $$
begin
  if tg_op = 'DELETE' and current_setting('jobtree.prunes_audit', true) = 'on' and old.at < clock_timestamp() - interval '1 day' then
    return old;
  end if;
  raise exception 'Entries of the audit can''t be changed.' using errcode = 'insufficient_privilege';
end
$$;

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

-- Which of the items claimed together fail for good if this attempt fails: its number exceeds maxFailuresPerItem, counted from when the
-- item was added or replayed. An item that was lost in its last attempt, beside others, is a suspect: fail_attempts lets it be tried again, alone.
--
-- p_position, p_count   the first item, and how many
-- p_attempt, p_max_failures   the number of the attempt, and the job's maxFailuresPerItem
-- returns    their numbers, from 1, negative for suspects; null for none
-- locks      none
create or replace function jobtree.last_attempts(
  p_job_id uuid, p_position bigint, p_count integer, p_attempt integer, p_max_failures integer
)
returns integer[]
language plpgsql stable
set jit = off
set enable_seqscan = off
set enable_bitmapscan = off
set enable_hashjoin = off
set enable_mergejoin = off
set plan_cache_mode = force_generic_plan
as $$
begin
  -- An item on its first attempt was never replayed.
  if p_attempt = 1 then
    return case when p_max_failures = 0 then array(select generate_series(1, p_count)) end;
  end if;
  return (
    select array_agg(case when p_attempt - r.replayed > p_max_failures + 1 then -n.n else n.n end) from generate_series(1, p_count) n(n)
    cross join lateral (
      select coalesce((
        select r.attempt from jobtree.replay r
        where r.job_id = p_job_id and r.position = p_position + n.n - 1 and r.attempt < p_attempt
      ), 0) as replayed
      offset 0
    ) r
    where p_attempt - r.replayed > p_max_failures
  );
end
$$;

-- Gives a server due deliveries to send; no other server gets them before the lease is over. If the server dies between this commit and
-- noteDelivery, they are sent again under the same ids. The commit waits for the disk, and so for the commit of the fold that created the
-- delivery. Due deliveries to deleted or gone endpoints fail.
--
-- p_lease_ms  longer than an attempt can take, in milliseconds
-- p_limit     the maximum number of deliveries
-- p_host_limit   the maximum number to one host, including those that the caller is sending
-- p_busy      the hosts that the caller is sending to, one element for each delivery
-- returns     what to send where and with which secrets, shared fairly among endpoints; sent_at is the time to sign
-- locks       the deliveries, skipping locked ones
create or replace function jobtree.lease_deliveries(p_lease_ms integer, p_limit integer, p_host_limit integer, p_busy text[])
returns table (id uuid, message_id text, endpoint text, url text, secrets text[], body text, attempt integer, sent_at timestamptz)
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
  c_many constant integer := 500;
  v_now constant timestamptz(3) := clock_timestamp();
begin
  return query
  with recursive first as materialized (
    select d.endpoint from jobtree.callback_delivery d where d.due_at <= v_now order by d.due_at limit c_many
  ), pending(name) as (
    -- If much is due, all endpoints that have pending deliveries, one probe each: what is due first may all be of one.
    (
      select d.endpoint from jobtree.callback_delivery d
      where d.due_at is not null and (select count(*) from first) = c_many
      order by d.endpoint
      limit 1
    )
    union all
    select (
      select d.endpoint from jobtree.callback_delivery d where d.due_at is not null and d.endpoint > p.name order by d.endpoint limit 1
    )
    from pending p
    where p.name is not null
  ), named as (
    select p.name from pending p
    union
    select f.endpoint from first f
  ), due as materialized (
    select d.tid, d.due_at, coalesce(e.host, '') as host, e.is_called, row_number() over (partition by e.host, e.is_called order by d.nth, d.due_at) as nth
    from named p
    left join lateral (
      select lower(substring(e.url from '^[^:]+://(\[[^\]]*\]|[^/?#:]*)')) as host, e.gone_at is null as is_called from jobtree.callback_endpoint e where e.name = p.name
    ) e on true
    cross join lateral (
      select d.ctid as tid, d.due_at, row_number() over (order by d.due_at) as nth from jobtree.callback_delivery d
      where d.endpoint = p.name and d.due_at <= v_now
      order by d.due_at
      limit p_limit
    ) d
    where p.name is not null
  ), chosen as materialized (
    select u.tid from due u
    where u.is_called is not true or u.nth <= p_host_limit - (select count(*) from unnest(p_busy) b(host) where b.host = u.host)
    order by u.nth, u.due_at
    limit p_limit
  ), locked as materialized (
    select d.ctid as tid, d.endpoint from jobtree.callback_delivery d
    where d.ctid = any (array(select c.tid from chosen c)) and d.due_at <= v_now
    for update skip locked
  ), leased as (
    update jobtree.callback_delivery d
    set attempts = d.attempts + s.is_called::integer,
      due_at = case when s.is_called then v_now + p_lease_ms * interval '1 millisecond' end,
      failed_at = case when not s.is_called then v_now end,
      history = case when jsonb_array_length(d.history) < 20 or s.is_called then d.history else d.history - 0 end || case when s.is_called then '[]' else jsonb_build_array(jsonb_build_object(
        'at', v_now, 'error', case when e.name is null then 'There is no such endpoint any more.' else 'The endpoint answered 410 before.' end
      )) end
    from locked l
    left join jobtree.callback_endpoint e on e.name = l.endpoint
    cross join lateral (select e.name is not null and e.gone_at is null as is_called) s
    where d.ctid = l.tid
    returning d.*
  )
  select l.id, l.message_id, l.endpoint, e.url,
    array_remove(array[e.secret, case when e.previous_secret_until > v_now then e.previous_secret end], null), l.body, l.attempts, v_now
  from leased l
  join jobtree.callback_endpoint e on e.name = l.endpoint
  where l.due_at is not null;
end
$$;

-- Turns picks into leases, if one entry is not enough. The rest of an entry goes back to its place in the queue.
--
-- p_picks    items of entries that this transaction has locked: for each entry from its first item on, with no gap
-- p_workers, p_claim_ids, p_starts   of the requests: the worker; the claim id, if any; and how many items it starts at once, as claim_items has it
-- p_kind     the kind of the rows that it returns
-- p_limited_types   the types whose leases count against a concurrency limit (note_claims)
-- returns    a row for each lease: the number of its request, from 1; whether items remain behind it in its entry; numbers, null for all of
--            its items; the payloads in order, as JSON texts separated by the record separator U+001E, which JSON can't contain; and the
--            numbers of the items that fail for good if this attempt fails, as last_attempts returns them. Entries of cancelled jobs stay, and get none
-- locks      none new. It deletes the entries, inserts leases, and adds a delta for a job that had not started
create or replace function jobtree.lease_entries(
  p_picks jobtree.claim_pick[], p_workers text[], p_claim_ids uuid[], p_starts integer[], p_kind text, p_limited_types text[] default null
)
returns setof jobtree.claimed_lease
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
    select u.tid, array_agg(row(u.tid, u.first, u.count, u.request, u.given)::jobtree.claim_pick order by u.n) as picks,
      array_agg(u.n order by u.n) as ns, sum(u.count)::integer as count
    from unnest(p_picks) with ordinality u(tid, first, count, request, given, n)
    group by u.tid
  ), gone as (
    delete from jobtree.queue_entry q
    using (
      select t.*, j.root_id, j.heartbeat_interval_ms, j.max_failures_per_item
      from taken t
      cross join lateral (select q.job_id from jobtree.queue_entry q where q.ctid = t.tid offset 0) q
      cross join lateral (select j.* from jobtree.job j where j.id = q.job_id and j.cancelled_at is null offset 0) j
    ) t
    where q.ctid = t.tid
    returning q.*, t.picks, t.ns, t.count as taken, t.root_id, t.heartbeat_interval_ms, t.max_failures_per_item
  ), rest as (
    insert into jobtree.queue_entry (job_id, position, place, bytes, attempt, count, priority, type, keyed, ready_at, lost)
    select g.job_id, g.position + g.taken, g.place + g.taken,
      case when g.bytes > 100000 then (
        select sum(i.payload_bytes) from jobtree.job_item i
        where i.job_id = g.job_id and i.position >= g.position + g.taken and i.position < g.position + g.count
      ) else g.bytes end,
      g.attempt, g.count - g.taken, g.priority, g.type, g.keyed, g.ready_at, g.lost
    from gone g
    where g.count > g.taken
  ), started as (
    insert into jobtree.progress_delta (root_id, job_id, started)
    select j.root_id, j.job_id, true
    from (select distinct g.root_id, g.job_id from gone g) j
    where (select p.started_at from jobtree.job_progress p where p.job_id = j.job_id order by p.version desc limit 1) is null
  ), part as materialized (
    select jobtree.new_lease_id(coalesce(p_claim_ids[u.request], v_claim_id)) as id, g.job_id, g.root_id, g.type,
      g.position + u.first as position, g.place + u.first as place, u.count, u.request, u.given, u.first + u.count < g.count as has_rest,
      v_now + 3 * g.heartbeat_interval_ms * interval '1 millisecond' as deadline_at, g.heartbeat_interval_ms, g.max_failures_per_item,
      g.attempt, g.priority, g.keyed, g.ready_at, g.lost, u.n
    from gone g
    cross join lateral unnest(g.picks, g.ns) u(tid, first, count, request, given, n)
  ), leased as (
    insert into jobtree.lease (
      id, job_id, claim_id, position, claimed_at, heartbeat_at, check_at, attempt, count, priority, open, worker, keyed, waiting, lost,
      limited_type
    )
    select p.id, p.job_id, p_claim_ids[p.request], p.position, v_now, v_now, p.deadline_at, p.attempt, p.count, p.priority,
      (~B'0'::bit(128)) << (128 - p.count), p_workers[p.request], p.keyed,
      jobtree.waiting_bits(p.count, p_starts[p.request] - p.given, p.lost), p.lost, case when p.type = any (p_limited_types) then p.type end
    from part p
  )
  select p.id, p.request, p.job_id, p.root_id, p.type, p.position, p.attempt, p_workers[p.request], p.heartbeat_interval_ms,
    v_now::timestamptz, p.deadline_at, p.priority, p.place, p.has_rest, null::integer[], i.payloads, p.ready_at::timestamptz,
    case when p.attempt > p.max_failures_per_item then
      jobtree.last_attempts(p.job_id, p.position, p.count, p.attempt, p.max_failures_per_item)
    end, p.keyed, p.lost, p_kind
  from part p
  cross join lateral (
    select string_agg(i.payload::text, E'\x1e') as payloads
    from (
      select i.payload from jobtree.job_item i
      where i.job_id = p.job_id and i.position >= p.position and i.position < p.position + p.count
      order by i.position
    ) i
  ) i
  order by p.n;
end
$$;

-- Turns one pick into a lease. For claim_item, and for claim_items if one entry is enough, as for most claims: a few small statements cost less
-- than the large one of lease_entries.
--
-- p_pick     the items, of an entry that this transaction has locked
-- p_worker, p_claim_id, p_starts   whose lease it is; p_claim_id is null for a claim that can't be repeated; and how many items the request
--            starts at once, as claim_items has it
-- p_kind     the kind of the row that it returns
-- p_is_limited   whether it counts against a concurrency limit (note_claims)
-- returns    as lease_entries; null, and then the entry stays, if the job was cancelled
-- locks      none new
create or replace function jobtree.lease_entry(
  p_pick jobtree.claim_pick, p_worker text, p_claim_id uuid, p_starts integer, p_kind text, p_is_limited boolean
)
returns jobtree.claimed_lease
language plpgsql volatile
set jit = off
set enable_seqscan = off
set enable_bitmapscan = off
set plan_cache_mode = force_generic_plan
as $$
declare
  v_now constant timestamptz(3) := clock_timestamp();
  v_entry record;
  v_lease jobtree.claimed_lease;
begin
  select q.*, j.root_id, j.heartbeat_interval_ms, j.max_failures_per_item, p.started_at into v_entry
  from jobtree.queue_entry q
  cross join lateral (select j.* from jobtree.job j where j.id = q.job_id and j.cancelled_at is null offset 0) j
  cross join lateral (
    select p.started_at from jobtree.job_progress p where p.job_id = q.job_id order by p.version desc limit 1
  ) p
  where q.ctid = p_pick.tid;
  if not found then
    return null;
  end if;
  -- The first part of a small entry is cut off in place; put_back_rest handles all other rests.
  if p_pick.first = 0 and p_pick.count < v_entry.count and v_entry.bytes <= 100000 then
    update jobtree.queue_entry q
    set position = q.position + p_pick.count, place = q.place + p_pick.count, count = q.count - p_pick.count
    where q.ctid = p_pick.tid;
  else
    delete from jobtree.queue_entry q where q.ctid = p_pick.tid;
    if p_pick.count < v_entry.count then
      perform jobtree.put_back_rest(array[row(
        v_entry.job_id, v_entry.position, v_entry.place, v_entry.bytes, null, v_entry.attempt, v_entry.count, v_entry.priority, v_entry.type,
        v_entry.keyed, v_entry.ready_at, v_entry.lost
      )::jobtree.queue_entry], array[((~B'0'::bit(128) << (128 - p_pick.count)) >> p_pick.first)::bit(128)]);
    end if;
  end if;
  if v_entry.started_at is null then
    insert into jobtree.progress_delta (root_id, job_id, started) values (v_entry.root_id, v_entry.job_id, true);
  end if;

  v_lease := row(
    jobtree.new_lease_id(coalesce(p_claim_id, jobtree.new_id())), p_pick.request, v_entry.job_id, v_entry.root_id, v_entry.type,
    v_entry.position + p_pick.first, v_entry.attempt, p_worker, v_entry.heartbeat_interval_ms, v_now,
    v_now + 3 * v_entry.heartbeat_interval_ms * interval '1 millisecond', v_entry.priority, v_entry.place + p_pick.first,
    p_pick.first + p_pick.count < v_entry.count, null, null,
    -- An item that is due but not promoted has been ready since its run_at.
    coalesce(v_entry.run_at, v_entry.ready_at), case when v_entry.attempt > v_entry.max_failures_per_item then
      jobtree.last_attempts(v_entry.job_id, v_entry.position + p_pick.first, p_pick.count, v_entry.attempt, v_entry.max_failures_per_item)
    end, v_entry.keyed, v_entry.lost, p_kind
  )::jobtree.claimed_lease;
  insert into jobtree.lease (
    id, job_id, claim_id, position, claimed_at, heartbeat_at, check_at, attempt, count, priority, open, worker, keyed, waiting, lost,
    limited_type
  )
  values (
    v_lease.lease_id, v_entry.job_id, p_claim_id, v_lease.first_position, v_now, v_now, v_lease.deadline_at, v_entry.attempt, p_pick.count,
    v_entry.priority, (~B'0'::bit(128)) << (128 - p_pick.count), p_worker, v_entry.keyed,
    jobtree.waiting_bits(p_pick.count, p_starts, v_entry.lost), v_entry.lost, case when p_is_limited then v_entry.type end
  );
  if p_pick.count = 1 then
    select i.payload::text into v_lease.payloads from jobtree.job_item i where i.job_id = v_entry.job_id and i.position = v_lease.first_position;
  else
    select string_agg(i.payload::text, E'\x1e') into v_lease.payloads
    from (
      select i.payload from jobtree.job_item i
      where i.job_id = v_entry.job_id and i.position >= v_lease.first_position and i.position < v_lease.first_position + p_pick.count
      order by i.position
    ) i;
  end if;
  return v_lease;
end
$$;

-- The lease that an assignment belongs to. Plain SQL, so that the planner inlines it.
create or replace function jobtree.lease_id(p_assignment_id uuid) returns uuid
language sql immutable parallel safe
as $$
  select (left(p_assignment_id::text, 34) || '00')::uuid
$$;

-- Finds the first upload of a store that is removed, or that has expired while no file import reads it. Nobody can use it from now on: its
-- objects must be deleted from the store, and servers record how far they are, or its rows, by the caller.
--
-- p_store    an object store; null for uploads in Postgres only
-- p_lease_ms for how long no other server gets it, in milliseconds; null if the caller deletes it in this transaction
-- returns    its id; null if there is none
-- locks      the upload's row, skipping locked ones
create or replace function jobtree.lease_removal(p_store text, p_lease_ms integer)
returns uuid
language plpgsql volatile
-- A custom plan drops one of the conditions on the store.
set jit = off
set enable_seqscan = off
set plan_cache_mode = force_custom_plan
as $$
declare
  v_now constant timestamptz(3) := clock_timestamp();
  v_passed uuid[] := '{}';
  v_id uuid;
begin
  loop
    -- Not `is not distinct from`, which can't use an index.
    select u.id into v_id from jobtree.upload u
    where (p_store is null and u.store is null or u.store = p_store) and u.expires_at <= v_now and u.id <> all (v_passed)
      and not exists (select from jobtree.file_import f where f.upload_id = u.id and f.finished_at is null)
    order by u.expires_at limit 1 for update skip locked;
    if v_id is null then
      return null;
    end if;
    -- In a new statement, which sees imports that began before the lock.
    exit when not exists (select from jobtree.file_import f where f.upload_id = v_id and f.finished_at is null);
    v_passed := v_passed || v_id;
  end loop;
  update jobtree.upload u
  set removed_at = coalesce(u.removed_at, v_now), expires_at = coalesce(v_now + p_lease_ms * interval '1 millisecond', u.expires_at)
  where u.id = v_id and (u.removed_at is null or p_lease_ms is not null);
  return v_id;
end
$$;

-- Makes the jobs of a new tree wait for the jobs in their "after": each is given by its name, which is its type by default.
--
-- p_root_id  the tree, whose jobs create_job has just inserted, with ids in the order of the document
-- p_tree     as create_job takes it
-- errors     JT002 a name that no job of the tree has, or several have; a job that would wait for itself, or in a circle (a fed job also
--            waits for its parent, which seals it)
create or replace function jobtree.link_jobs(p_root_id uuid, p_tree json)
returns void
language plpgsql volatile
set jit = off
set enable_seqscan = off
set plan_cache_mode = force_generic_plan
as $$
declare
  v_prefix constant text := left(p_root_id::text, 30);
  v_tree record;
  v_circle integer[];
  v_field text;
  v_message text;
begin
  with numbered as materialized (
    select row_number() over (order by n.path)::integer as number, n.path, coalesce(n.spec ->> 'name', n.spec ->> 'type') as name,
      case json_typeof(n.spec -> 'after') when 'array' then n.spec -> 'after' end as after, n.spec ->> 'feed' is not null as is_fed,
      (select coalesce(string_agg(format('children[%s].', p.n - 1), '' order by p.o), '') from unnest(n.path) with ordinality p(n, o)) as at
    from jobtree.tree_nodes(p_tree) n
  ), named as materialized (
    select m.name, count(*) as jobs, min(m.number) as number from numbered m group by m.name
  ), wanted as materialized (
    select m.number, m.at, a.name, a.n, coalesce(d.jobs, 0) as jobs, d.number as after
    from numbered m
    cross join lateral json_array_elements_text(m.after) with ordinality a(name, n)
    left join named d on d.name = a.name
  ), edge as materialized (
    select w.number, w.after, true as is_named from wanted w where w.jobs = 1
    union
    select m.number, p.number, false from numbered m join numbered p on p.path = trim_array(m.path, 1) where m.is_fed and m.path <> '{}'
  )
  select e.jobs, e.afters, e.named, m.names, m.ats, w.*
  into v_tree
  from (select array_agg(e.number) as jobs, array_agg(e.after) as afters, array_agg(e.is_named) as named from edge e) e
  cross join (select array_agg(m.name order by m.number) as names, array_agg(m.at order by m.number) as ats from numbered m) m
  left join lateral (
    select w.number as wrong, format('%safter[%s]', w.at, w.n - 1) as field, w.name, w.jobs as found
    from wanted w
    where w.jobs <> 1 or w.after = w.number
    order by w.number, w.n
    limit 1
  ) w on true;

  if v_tree.wrong is not null then
    v_field := v_tree.field;
    v_message := case v_tree.found
      when 0 then 'names %s, but no job of this tree has that name'
      when 1 then 'names %s, which is the job itself'
      else 'names %s, but several jobs of this tree have that name: give them different names'
    end;
    v_message := format(v_message, to_json(left(v_tree.name, 80)));
  else
    v_circle := jobtree.dependency_circle(cardinality(v_tree.names), v_tree.jobs, v_tree.afters);
    if v_circle is not null then
      v_field := v_tree.ats[v_circle[1]] || 'after';
      v_message := format('is a circle: %s', (
        select string_agg(format('%s waits for %s', left(v_tree.names[c.job], 80), left(v_tree.names[c.after], 80)), ', ' order by c.n)
        from unnest(v_circle, v_circle[2:] || v_circle[1]) with ordinality c(job, after, n)
        where c.n <= 10
      ));
    end if;
  end if;
  if v_field is not null then
    raise exception '% %.', v_field, v_message using errcode = 'JT002', column = v_field;
  end if;

  with edge as (
    select (v_prefix || lpad(to_hex(e.job), 6, '0'))::uuid as job_id, (v_prefix || lpad(to_hex(e.after), 6, '0'))::uuid as after_id
    from unnest(v_tree.jobs, v_tree.afters, v_tree.named) e(job, after, is_named)
    where e.is_named
  )
  update jobtree.job j set after_ids = l.after_ids, awaited = l.awaited
  from (
    select u.id, array_agg(u.after_id order by u.after_id) filter (where u.after_id is not null) as after_ids, bool_or(u.awaited) as awaited
    from (select e.job_id as id, e.after_id, false as awaited from edge e union all select e.after_id, null, true from edge e) u
    group by u.id
  ) l
  where j.id = l.id;
end
$$;

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
set jit = off
set enable_seqscan = off
set enable_bitmapscan = off
set enable_mergejoin = off
set plan_cache_mode = force_generic_plan
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

-- Locks serialize keys, whether an item has them or not: a new row has no head, and the caller removes it if it gets none.
--
-- p_keys     keys; duplicates are allowed
-- returns    the same
-- locks      the keys' rows, in their order
create or replace function jobtree.lock_keys(p_keys text[])
returns text[]
language plpgsql volatile
set jit = off
set enable_seqscan = off
set plan_cache_mode = force_generic_plan
as $$
begin
  -- New and existing ones alike; these are locked, not written.
  insert into jobtree.serialize_key as k (key)
  select distinct u collate "C" from unnest(p_keys) u order by 1
  on conflict (key) do update set key = k.key where false;
  return p_keys;
end
$$;

-- Locks the job that items are added to, and rejects one that accepts none.
--
-- p_seal     whether it will be sealed in the same transaction
-- p_repeats  whether a sealed one will do, since the call may repeat one whose items it has already
-- locks      those of hold_jobs, waiting; and the job's row if it will be sealed, so that two that seal it do so one after the other
-- returns    the job
-- errors     JT001 no such job; JT003 the job is sealed (or cancelled)
create or replace function jobtree.lock_open_job(p_job_id uuid, p_seal boolean, p_repeats boolean default false)
returns jobtree.job
language plpgsql volatile
set jit = off
set enable_seqscan = off
set plan_cache_mode = force_generic_plan
as $$
declare
  v_job jobtree.job;
begin
  perform jobtree.hold_jobs(array[p_job_id], true);
  if p_seal then
    select * into v_job from jobtree.job j where j.id = p_job_id for no key update;
  else
    select * into v_job from jobtree.job j where j.id = p_job_id;
  end if;
  if v_job.id is null then
    raise exception 'There is no job %.', p_job_id using errcode = 'JT001', column = 'jobId';
  end if;
  if v_job.sealed_at is not null and not p_repeats then
    raise exception 'Job % is sealed: it takes no more items.', p_job_id using errcode = 'JT003', column = 'jobId';
  end if;
  return v_job;
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
    select q.type, q.concurrency, q.limited_by, q.limited_by <= pg_snapshot_xmin(pg_current_snapshot()) as is_over from jobtree.queue q
    where q.type = any (p_types) and not q.paused and (q.concurrency is not null or q.rate_limit is not null)
    order by q.type
    for no key update skip locked
  loop
    v_locked := v_locked || v_queue.type;
    continue when v_queue.concurrency is null;
    if v_queue.limited_by is not null then
      perform jobtree.adopt_leases(array[v_queue.type]);
      -- The first look at a new limit notes the next transaction: all before it may have claimed without the limit. Once they have ended, the
      -- limit is no longer new, unless a lease was locked just now.
      update jobtree.queue q set limited_by = case when not v_queue.is_over then pg_snapshot_xmax(pg_current_snapshot()) end
      where q.type = v_queue.type and case when v_queue.is_over then jobtree.uncounted_items(q.type) = 0
        else q.limited_by > pg_snapshot_xmax(pg_current_snapshot()) end;
    end if;
    if (select count(*) from jobtree.held_deltas(v_queue.type)) > 1 then
      with gone as (
        delete from jobtree.held_delta d where d.ctid = any (array(select h.tid from jobtree.held_deltas(v_queue.type) h)) returning d.items
      )
      insert into jobtree.held_delta (type, items, seen) select v_queue.type, sum(g.items), pg_current_snapshot() from gone g;
    end if;
  end loop;

  -- A new statement, which sees what earlier claims have committed; and one only, since a queue may be paused or resumed at any time: of two
  -- looks at it, each could leave it to the other.
  return query
    select r.*, q.concurrency is not null
    from jobtree.queue_rooms(array(
      select q.type from jobtree.queue q where q.type = any (p_types) and (q.paused or q.type = any (v_locked))
    )) r
    cross join lateral (select q.concurrency from jobtree.queue q where q.type = r.type offset 0) q
    union all
    select q.type, null, 0, null from jobtree.queue q
    where q.type = any (p_types) and q.type <> all (v_locked) and not q.paused and (q.concurrency is not null or q.rate_limit is not null);
end
$$;

-- Locks a whole tree for a change: no fold, replay or reaping of it is under way until the transaction ends.
--
-- p_job_id   the root
-- returns    the tree
-- locks      the tree
-- errors     JT001 no such job, or it is being deleted; JT002 not a root
create or replace function jobtree.lock_root(p_job_id uuid)
returns jobtree.tree
language plpgsql volatile
set jit = off
set enable_seqscan = off
set enable_bitmapscan = off
set enable_hashjoin = off
set enable_mergejoin = off
as $$
declare
  v_tree jobtree.tree;
  v_root_id uuid;
begin
  -- Waits for no deletion.
  select * into v_tree from jobtree.tree t where t.root_id = p_job_id and t.deletion is null for no key update;
  if not found then
    select j.root_id into v_root_id from jobtree.job j where j.id = p_job_id;
    if v_root_id is null then
      raise exception 'There is no job %.', p_job_id using errcode = 'JT001', column = 'jobId';
    elsif v_root_id <> p_job_id then
      raise exception 'Job % is not a root: this is for whole trees.', p_job_id using errcode = 'JT002', column = 'jobId';
    end if;
    raise exception 'The tree of job % is being deleted.', p_job_id using errcode = 'JT001', column = 'jobId';
  end if;
  return v_tree;
end
$$;

-- The dead letters that an operation selects, in the order of their items, each at most once: an item that fails again meanwhile has had
-- its turn. One that replays selects none of cancelled jobs or of trees that are being deleted, which can't be replayed.
--
-- p_limit    the maximum number, of those after the position at which it has stopped; null for all
-- returns    for each its item and its tree
create or replace function jobtree.matching_dead_letters(p_operation jobtree.operation, p_limit bigint)
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
  v_jobs constant uuid[] := jobtree.jobs_of_operation(p_operation);
  v_is_inside boolean := v_jobs is not null and p_operation.next_position >= 0;
  v_left bigint := p_limit;
  v_count bigint;
begin
  if p_limit is null then
    perform set_config('enable_sort', 'on', true);
  end if;
  loop
    return query
    select d.job_id, d.position, j.root_id
    from jobtree.dead_letter d
    join jobtree.job j on j.id = d.job_id
    where (d.job_id, d.position) > (p_operation.next_job_id, p_operation.next_position)
      -- The rest of the job at which it has stopped comes first, alone: with an array of jobs, Postgres would read this one from its beginning.
      and (v_is_inside and d.job_id <= p_operation.next_job_id or not v_is_inside and (v_jobs is null or d.job_id = any (v_jobs)))
      and d.died_at <= p_operation.requested_at
      and (p_operation.kind <> 'REPLAY' or j.cancelled_at is null and not exists (
        select from jobtree.tree t where t.root_id = j.root_id and t.deletion is not null
      ))
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
    limit v_left;
    get diagnostics v_count = row_count;
    v_left := v_left - v_count;
    exit when not v_is_inside or v_left = 0;
    v_is_inside := false;
  end loop;
end
$$;

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

-- Applies a JSON merge patch (RFC 7396): null removes a key, an object is merged, and anything else replaces what was there. Keys keep their
-- order, and numbers their digits.
--
-- returns    the target with the patch
create or replace function jobtree.merge_patch(p_target json, p_patch json)
returns json
language plpgsql immutable
as $$
declare
  v_target constant json := case json_typeof(p_target) when 'object' then p_target else '{}' end;
begin
  if json_typeof(p_patch) <> 'object' then
    return p_patch;
  end if;
  return (
    select '{' || coalesce(string_agg(to_json(m.key)::text || ':' || m.value::text, ',' order by m.is_new, m.n), '') || '}'
    from (
      select t.key, case when p.key is null then t.value else jobtree.merge_patch(t.value, p.value) end as value, false as is_new, t.n
      from json_each(v_target) with ordinality t(key, value, n)
      left join json_each(p_patch) p on p.key = t.key
      where json_typeof(p.value) is distinct from 'null'
      union all
      select p.key, jobtree.merge_patch(null, p.value), true, p.n
      from json_each(p_patch) with ordinality p(key, value, n)
      where json_typeof(p.value) <> 'null' and not exists (select from json_object_keys(v_target) t(key) where t.key = p.key)
    ) m
  )::json;
end
$$;

-- What the messages of one kind of failure have in common: the message without quoted parts and without words that contain a digit, such as
-- numbers, times, ids and addresses.
create or replace function jobtree.message_pattern(p_message text) returns text
language sql immutable parallel safe
as $$
  select left(
    regexp_replace(
      regexp_replace(
        regexp_replace(
          left(p_message, 1000), '"[^"]*"|`[^`]*`|(?<!\w)''[^'']*''(?!\w)', '…', 'g'
        ), '\m[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}\M', '…', 'gi'
      ), '\m\w*\d\w*([.,:/+-]+\w*\d\w*)*', '…', 'g'
    ), 200
  )
$$;

-- Ready entries that claims do not see, because they are before the place where claims start to read: they committed late, or came back.
--
-- p_types, p_priorities, p_places   where claims start to read, by type and priority
-- returns    for each that has such entries, the first place
create or replace function jobtree.missed_entries(p_types text[], p_priorities integer[], p_places bigint[])
returns table (type text, priority integer, place bigint)
language sql stable
set jit = off
set enable_seqscan = off
set enable_bitmapscan = off
as $$
  select c.type, c.priority, e.place
  from unnest(p_types, p_priorities, p_places) c(type, priority, place)
  cross join lateral (
    select q.place from jobtree.queue_entry q
    where q.type = c.type and q.run_at is null and -q.priority::integer = -c.priority and q.place < c.place
    order by q.place
    limit 1
  ) e
$$;

-- A name as members of another name's tenant see it: `mail` for `acme//mail` next to `acme//hook`. Unchanged if the other name has another
-- tenant, or none.
create or replace function jobtree.name_within(p_name text, p_beside text)
returns text
language sql immutable parallel safe
as $$
  select case when starts_with(p_name, b.beginning) then substr(p_name, length(b.beginning) + 1) else p_name end
  from (select jobtree.tenant_beginning(p_beside) as beginning) b
$$;

-- A UUID of version 7 (RFC 9562): 48 bits of milliseconds, then random bits. Plain SQL, so that the planner inlines it,
-- and the same on every Postgres that jobtree supports (uuidv7() is native only from 18 on).
create or replace function jobtree.new_id() returns uuid
language sql volatile parallel safe
as $$
  select encode(
    set_bit(
      set_bit(
        overlay(
          uuid_send(gen_random_uuid())
          placing substring(int8send((extract(epoch from clock_timestamp()) * 1000)::bigint) from 3)
          from 1 for 6
        ),
        52, 1
      ),
      53, 1
    ),
    'hex'
  )::uuid
$$;

-- An id for a lease of a claim. The first half is the claim's, so that the leases of a claim are adjacent and ascend with time. The rest is
-- random, so that no id ever names two leases, even if a claim runs a second time because its answer was lost and a crash or a deletion
-- removed what it had got. The last byte is free for the number of an assignment.
--
-- p_claim_id a UUID of version 7
create or replace function jobtree.new_lease_id(p_claim_id uuid) returns uuid
language sql volatile parallel safe
as $$
  select (left(p_claim_id::text, 19) || substr(gen_random_uuid()::text, 20, 15) || '00')::uuid
$$;

-- How many items of a job have ended lately, counted by ten seconds, once more have ended: the number of the present ten seconds since 1970, and
-- the counts of these and of the five before them. An expression, so that the planner inlines it.
--
-- p_pace     the same before; empty at first
-- p_now      the number of the present ten seconds
create or replace function jobtree.next_pace(p_pace bigint[], p_ended bigint, p_now bigint) returns bigint[]
language sql immutable parallel safe
as $$
  select case
    when p_now <= p_pace[1] then array[p_now, p_pace[2] + greatest(p_ended, 0)] || p_pace[3:7]
    else array[p_now, greatest(p_ended, 0)]
      || (array_fill(0::bigint, array[least(p_now - coalesce(p_pace[1], 0), 6)::integer - 1]) || p_pace[2:7])[1:5]
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

-- Adds the next items of a file import and records its progress in one transaction, so that no crash loses a line or adds one twice. Lines
-- that can't be read, or that make no valid payload of the job's type, become items that have failed for good.
--
-- p_lease_id what leaseImports returned; if it has changed, another server has taken over
-- p_payloads as add_payloads takes them; null for no items, which only keeps the lease
-- p_bad      which of the items are bad lines, from 1, in ascending order
-- p_codes, p_problems   what is wrong with each of those
-- p_position, p_line, p_columns, p_bytes_read   the progress after these items
-- p_done     whether this is the end of the file, which seals the job
-- p_lease_ms for how long the caller has the import from now on, in milliseconds; null gives it back
-- returns    NOTED, LOST if another server has the import or its tree is gone, or SEALED if the job accepts no more items, which ends the
--            import; and the tree's root and the job's type
-- locks      the import's row, then the job's as lock_open_job does, and those of bury_items
-- errors     22P05 for a text that Postgres can't store
create or replace function jobtree.note_import(
  p_job_id uuid, p_lease_id uuid, p_payloads text, p_bad integer[], p_codes text[], p_problems text[], p_position bigint, p_line bigint, p_columns jsonb,
  p_bytes_read bigint, p_done boolean, p_lease_ms integer
)
returns table (status text, root_id uuid, type text)
language plpgsql volatile
set jit = off
set enable_seqscan = off
set plan_cache_mode = force_generic_plan
as $$
#variable_conflict use_column
declare
  v_now constant timestamptz(3) := clock_timestamp();
  v_payloads constant text[] := string_to_array(p_payloads, E'\x1e');
  v_count constant integer := coalesce(cardinality(v_payloads), 0);
  v_position bigint;
  v_is_further boolean;
  v_job jobtree.job;
  v_run record;
  v_positions bigint[];
  v_bad jobtree.dead_item[];
begin
  select f.position into v_position from jobtree.file_import f
  where f.job_id = p_job_id and f.lease_id = p_lease_id
  for update;
  if not found then
    return query select 'LOST', null::uuid, null::text;
    return;
  end if;
  v_job := jobtree.lock_open_job(p_job_id, p_done, true);
  if v_job.sealed_at is not null then
    update jobtree.file_import f
    set finished_at = v_now, lease_id = null, leased_until = null, error_code = 'JOB_SEALED',
      error_message = 'The job was sealed or cancelled before all of the file was read.'
    where f.job_id = p_job_id;
    return query select 'SEALED', v_job.root_id, v_job.type;
    return;
  end if;

  if v_count > 0 and p_bad = '{}' then
    perform jobtree.insert_payloads(v_job, v_payloads);
  else
    -- Alternating runs of good and of bad lines.
    for v_run in
      select min(n) as first, max(n) as last, is_bad
      from (
        select n, is_bad, n - row_number() over (partition by is_bad order by n) as run
        from (select n, n = any (p_bad) as is_bad from generate_series(1, v_count) n) m
      ) r
      group by run, is_bad
      order by min(n)
    loop
      if v_run.is_bad then
        -- Items that no worker sees, each with a failure and a dead letter. They can be replayed with a corrected payload.
        v_positions := jobtree.positions_from(
          array(select nextval('jobtree.block_seq') * 1024 from generate_series(v_run.first, v_run.last, 1024)), v_run.last - v_run.first + 1
        );
        with bad as materialized (
          select i.position, i.payload::json, u.code, u.problem
          from unnest(v_positions, v_payloads[v_run.first : v_run.last]) with ordinality i(position, payload, n)
          join unnest(p_bad, p_codes, p_problems) u(n, code, problem) on u.n = i.n + v_run.first - 1
        ), added as (
          insert into jobtree.job_item (job_id, position, created_at, payload_bytes, run_at, payload)
          select p_job_id, b.position, v_now, octet_length(b.payload::text), v_job.run_at, b.payload from bad b
        ), failed as (
          insert into jobtree.failure (job_id, position, attempt, at, lost, code, message)
          select p_job_id, b.position, 1, v_now, false, b.code, b.problem from bad b
        ), counted as (
          insert into jobtree.progress_delta (root_id, job_id, items, bytes)
          select v_job.root_id, p_job_id, count(*), sum(octet_length(b.payload::text)) from bad b
        )
        select array_agg(row(p_job_id, b.position, null, b.code, b.problem)::jobtree.dead_item) into v_bad from bad b;
        perform jobtree.bury_items(v_bad, false);
      else
        perform jobtree.insert_payloads(v_job, v_payloads[v_run.first : v_run.last]);
      end if;
    end loop;
  end if;

  v_is_further := p_position > v_position or p_done;
  update jobtree.file_import f
  set items = f.items + v_count, bad_lines = f.bad_lines + cardinality(p_bad), position = p_position, line = p_line, columns = p_columns,
    bytes_read = greatest(f.bytes_read, p_bytes_read),
    attempts = case when p_position > v_position or p_lease_ms is null then 0 else f.attempts end,
    store_away_at = case when not v_is_further then f.store_away_at end,
    error_code = case when not v_is_further then f.error_code end,
    error_message = case when not v_is_further then f.error_message end,
    lease_id = case when not p_done and p_lease_ms is not null then p_lease_id end,
    -- An import that is given back queues behind those that are waiting.
    leased_until = case when not p_done then v_now + coalesce(p_lease_ms, 0) * interval '1 millisecond' end,
    finished_at = case when p_done then v_now end
  where f.job_id = p_job_id;
  if p_done then
    perform jobtree.seal_job(p_job_id);
  end if;
  return query select 'NOTED', v_job.root_id, v_job.type;
end
$$;

-- Stores what workers note about items that they hold: a note, which replaces an earlier one, and a log, of which the last fifty lines of
-- all attempts are kept. Repeating a call changes nothing. The commit does not wait for the disk.
--
-- p_lease_ids, p_numbers   assignments, none twice; those that are not open, or whose job is cancelled, don't count
-- p_notes    the notes: null keeps the current one, an empty text removes it
-- p_logs     JSON arrays of {at, text}, with all lines of this attempt; null keeps the current ones
-- returns    how many assignments counted
-- locks      the leases in the order of their ids, for key share, waiting for reports on them and deletions of the tree; then item_note
--            rows in the order of their keys
create or replace function jobtree.note_items(p_lease_ids uuid[], p_numbers integer[], p_notes text[], p_logs jsonb[])
returns integer
language plpgsql volatile
set jit = off
set enable_seqscan = off
set enable_bitmapscan = off
set enable_hashjoin = off
set enable_mergejoin = off
set plan_cache_mode = force_generic_plan
as $$
declare
  v_count integer;
begin
  perform set_config('synchronous_commit', 'off', true);
  perform from jobtree.lease l where l.id = any (p_lease_ids) order by l.id for key share;

  insert into jobtree.item_note as n (job_id, position, noted_at, note, log)
  select h.job_id, h.position, clock_timestamp(), h.note, coalesce(h.log, '[]')
  from (
    select l.job_id, l.position + u.number - 1 as position, u.note, (
        select jsonb_agg(e.value || jsonb_build_object('attempt', l.attempt) order by e.n)
        from jsonb_array_elements(u.log) with ordinality e(value, n)
      ) as log
    from unnest(p_lease_ids, p_numbers, p_notes, p_logs) u(lease_id, number, note, log)
    join jobtree.lease l on l.id = u.lease_id
    join jobtree.job j on j.id = l.job_id
    where case when u.number > 0 then get_bit(l.open, u.number - 1) = 1 end and j.cancelled_at is null
  ) h
  order by h.job_id, h.position
  on conflict on constraint item_note_pkey do update
  set noted_at = excluded.noted_at, note = coalesce(excluded.note, n.note), log = (
    select coalesce(jsonb_agg(k.value order by k.n), '[]')
    from (
      select a.value, a.n
      from (
        select e.value, e.n from jsonb_array_elements(n.log) with ordinality e(value, n)
        where excluded.log = '[]' or e.value -> 'attempt' <> excluded.log #> '{0,attempt}'
        union all
        select e.value, 1000 + e.n from jsonb_array_elements(excluded.log) with ordinality e(value, n)
      ) a
      order by a.n desc
      limit 50
    ) k
  );
  get diagnostics v_count = row_count;
  return v_count;
end
$$;

-- Those of the given trees that are not complete, the last hundred at most: schedules that allow trees to overlap don't need the others.
create or replace function jobtree.open_roots(p_root_ids uuid[])
returns uuid[]
language sql stable
set jit = off
set enable_seqscan = off
set enable_bitmapscan = off
as $$
  select coalesce(array_agg(o.id order by o.n), '{}')
  from (
    select r.id, r.n
    from unnest(p_root_ids) with ordinality r(id, n)
    where (select p.open_jobs from jobtree.job_progress p where p.job_id = r.id order by p.version desc limit 1) > 0
    order by r.n desc
    limit 100
  ) o
$$;

-- The initial state of the operation that a filter describes, with how many items it selects, and in which jobs, if these are at most 10,000:
-- then it goes through no others. If it selects nothing, it has finished. What it reads depends on what its tenant has, or its types and jobs.
--
-- parameters   those of start_operation
-- returns    a row that is not in the table yet
-- errors     those of start_operation
create or replace function jobtree.operation_of(
  p_kind text, p_filter jsonb, p_payload json default null, p_requested_by text default null, p_payload_patch json default null
)
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
  v_empty constant text := (select min(e.key) from jsonb_each(v_filter) e where e.value = '[]');
  -- The field, and what is wrong with it.
  v_problem constant text[] := case
    when v_filter - 'tenant' = '{}' then array['filter', 'filter is empty, and would match everything: set at least one of its fields.']
    when v_unknown is not null then array['filter.' || v_unknown, format('filter has an unknown key: %s.', v_unknown)]
    when v_empty is not null then array['filter.' || v_empty, format('filter.%s is empty.', v_empty)]
    when p_kind is null or p_kind not in ('REPLAY', 'DISCARD', 'CANCEL', 'PROMOTE') then array['kind', 'kind must be REPLAY, DISCARD, CANCEL or PROMOTE.']
    when jsonb_path_exists(v_filter, '$.statuses[*] ? (!(@ == "WAITING" || @ == "BLOCKED" || @ == "SCHEDULED" || @ == "RETRYING" || @ == "READY" || @ == "RUNNING"))')
      then array['filter.statuses', 'filter.statuses must be WAITING, BLOCKED, SCHEDULED, RETRYING, READY or RUNNING: no other item is pending.']
    when p_kind = 'PROMOTE' and jsonb_path_exists(v_filter, '$.statuses[*] ? (!(@ == "SCHEDULED" || @ == "RETRYING"))')
      then array['filter.statuses', 'filter.statuses must be RETRYING or SCHEDULED: other items do not wait for a time.']
    when p_payload is not null and (p_kind <> 'REPLAY' or jsonb_array_length(coalesce(v_filter -> 'items', '[]')) <> 1)
      then array['payload', 'payload is for one item only: replay it with a filter that names it.']
    when p_payload_patch is not null and (p_kind <> 'REPLAY' or p_payload is not null or json_typeof(p_payload_patch) <> 'object')
      then array['payloadPatch', 'payloadPatch must be an object, for a replay without payload.']
  end;
  v_operation jobtree.operation;
begin
  if v_problem is not null then
    raise exception '%', v_problem[2] using errcode = 'JT002', column = v_problem[1];
  elsif v_filter ? 'jobId' and not exists (select from jobtree.job j where j.id = (v_filter ->> 'jobId')::uuid) then
    raise exception 'There is no job %.', v_filter ->> 'jobId' using errcode = 'JT001', column = 'filter.jobId';
  end if;
  v_operation := jsonb_populate_record(null::jobtree.operation, jsonb_build_object(
    'id', jobtree.new_id(), 'kind', p_kind, 'requested_at', clock_timestamp(), 'requested_by', p_requested_by, 'tenant', v_filter -> 'tenant',
    'job_id', v_filter -> 'jobId', 'types', v_filter -> 'types', 'codes', v_filter -> 'codes', 'dedupe_keys', v_filter -> 'dedupeKeys',
    'fingerprints', v_filter -> 'groupIds', 'died_from', v_filter -> 'diedFrom', 'died_until', v_filter -> 'diedUntil',
    'statuses', coalesce(v_filter -> 'statuses', case p_kind when 'PROMOTE' then '["RETRYING"]'::jsonb end),
    'added_from', v_filter -> 'addedFrom', 'added_until', v_filter -> 'addedUntil',
    'done', 0, 'skipped', 0, 'was_busy', false, 'next_job_id', '00000000-0000-0000-0000-000000000000', 'next_position', -1
  ));
  v_operation.payload := p_payload;
  v_operation.payload_patch := p_payload_patch;
  select i.job_ids, i.positions, least(1024 * (s.last_value + 1), i.last + 1)
  into v_operation.item_job_ids, v_operation.item_positions, v_operation.before_position
  from jobtree.block_seq s
  cross join (
    select array_agg((e ->> 'jobId')::uuid) as job_ids, array_agg((e ->> 'position')::bigint) as positions, max((e ->> 'position')::bigint) as last
    from jsonb_array_elements(v_filter -> 'items') e
  ) i;
  with selected as materialized (
    select m.job_id, sum(m.items) as items
    from (
      select m.job_id, bit_count(m.items) as items from jobtree.matching_pending(v_operation) m where p_kind in ('CANCEL', 'PROMOTE')
      union all
      select m.job_id, 1 from jobtree.matching_dead_letters(v_operation, null) m where p_kind in ('REPLAY', 'DISCARD')
    ) m
    group by m.job_id
  )
  select coalesce(sum(s.items), 0), case when count(*) between 1 and 10000 then array(select s.job_id from selected s) end,
    case when count(*) = 0 then v_operation.requested_at end
  into v_operation.total, v_operation.selected_job_ids, v_operation.finished_at
  from selected s;
  return v_operation;
end
$$;

-- The next part of what an operation on pending items goes through: the jobs in the order of their ids, and the items of each in the order of
-- their positions. If it is known in which jobs the items are, the rest of one that does not fit into a part has parts of its own, and no part
-- has more than 1,000 jobs.
--
-- p_ranges, p_items   how many ranges, and items of these, approximately
-- returns    the job and position of the last item of the part, which begins where the operation is; no row at the end. Every item that is
--            pending now is in a range that begins in this part or an earlier one, even if it moves to another range later
create or replace function jobtree.pending_window(p_operation jobtree.operation, p_ranges integer, p_items bigint)
returns table (last_job_id uuid, last_position bigint)
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
  -- There is one after it.
  c_last_position constant bigint := 9223372036854775806;
  v_from_job constant uuid := p_operation.next_job_id;
  v_from constant bigint := p_operation.next_position;
  v_jobs uuid[] := jobtree.jobs_of_operation(p_operation);
  v_until uuid := nullif(c_last_job, v_from_job);
  -- No item that the operation names has a lower position.
  v_before constant bigint := coalesce((select min(u) - 1 from unnest(p_operation.item_positions) u), -1);
begin
  if v_jobs is not null then
    if v_from between 0 and c_last_position - 1 then
      v_jobs := null;
      v_until := v_from_job;
    else
      v_jobs := v_jobs[:1000];
      v_until := v_jobs[cardinality(v_jobs)];
    end if;
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
      where p_operation.kind = 'CANCEL' and (q.job_id, q.position) > (v_from_job, v_from) and q.job_id <= v_until
        and (v_jobs is null or q.job_id = any (v_jobs)) and q.position > v_before and q.position < p_operation.before_position
      order by q.job_id, q.position
      limit p_ranges)
      union all
      select d.job_id, d.position, d.last, d.count
      from unnest(p_operation.statuses) s(status)
      cross join lateral (
        select q.job_id, q.position, q.position + q.count - 1 as last, q.count
        from jobtree.queue_entry q
        where p_operation.kind = 'PROMOTE' and jobtree.status_of_item(null, null, false, false, q.run_at, q.attempt) = s.status
          and (q.job_id, q.position) > (v_from_job, v_from) and q.job_id <= v_until
          and (v_jobs is null or q.job_id = any (v_jobs)) and q.position > v_before and q.position < p_operation.before_position
        order by q.job_id, q.position
        limit p_ranges
      ) d
      union all
      (select b.job_id, b.position, b.position, 1
      from jobtree.blocked_item b
      where p_operation.kind = 'CANCEL' and (b.job_id, b.position) > (v_from_job, v_from) and b.job_id <= v_until
        and (v_jobs is null or b.job_id = any (v_jobs)) and b.position > v_before and b.position < p_operation.before_position
      order by b.job_id, b.position
      limit p_ranges)
      union all
      (select l.job_id, l.position, l.position, l.count
      from jobtree.lease l
      where p_operation.kind = 'CANCEL' and (l.job_id, l.position) > (v_from_job, v_from) and l.job_id <= v_until
        and (v_jobs is null or l.job_id = any (v_jobs)) and l.position > v_before and l.position < p_operation.before_position and coalesce(l.check_at, 'infinity') < 'infinity'
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

-- Picks what a claim gets: of each type by descending priority, then in the order in which the items became ready, up to what was asked for, what
-- the queue of the type has room for, and about 32 MB of payloads in all, but at least one entry. The first half of claim_items; lease_entry and
-- lease_entries turn the picks into leases.
--
-- p_types, p_limits   the requests, as claim_items has them
-- p_range_types … p_places   where to look, as claim_items has it
-- p_queues   what lock_queues says of each limited type, as a JSON object by type; null if there are none
-- returns    the picks, an element for each request and entry, with no gap between those of an entry; the kind of the claim's rows: NEW, CUT or
--            LOCKED; the types of which there are items with serialize keys among them; and the types whose room they use up
-- locks      the entries, skipping locked ones; waits for one if all that remain are locked
create or replace function jobtree.pick_entries(
  p_types text[], p_limits integer[], p_range_types text[], p_highs integer[], p_lows integer[], p_places bigint[], p_queues jsonb,
  out picks jobtree.claim_pick[], out kind text, out keyed text[], out used_up text[]
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
  v_entries cursor (c_type text, c_first integer, c_last integer, c_taken tid[]) for
    select q.* from unnest(p_highs[c_first:c_last], p_lows[c_first:c_last], p_places[c_first:c_last]) r(high, low, place)
    cross join lateral (
      select q.ctid as tid, q.count, q.bytes, q.keyed from jobtree.queue_entry q
      where q.type = c_type and q.run_at is null
        and (-q.priority::integer, q.place) >= (-r.high, r.place) and -q.priority::integer <= -r.low
        and q.ctid <> all (c_taken)
      order by -q.priority::integer, q.place
      for update skip locked
    ) q;
  v_taken tid[] := '{}';
  v_type text;
  v_first integer := 1;
  v_last integer;
  v_entry record;
  v_bytes bigint := 0;
  v_pick jobtree.claim_pick;
  -- The requests of a type that did not get all yet, in turn; how much the first of them still wants, null if none does; and the type's room.
  v_asking integer[];
  v_left integer;
  v_room integer;
begin
  kind := 'NEW';
  while v_first <= cardinality(p_range_types) and kind <> 'CUT' loop
    v_type := p_range_types[v_first];
    v_last := v_first;
    while p_range_types[v_last + 1] = v_type loop
      v_last := v_last + 1;
    end loop;
    v_asking := array_positions(p_types, v_type);
    v_room := case when p_queues ? v_type then coalesce((p_queues -> v_type ->> 'room')::integer, 0) end;
    v_left := case when v_room = 0 then null else p_limits[v_asking[1]] end;

    while v_left > 0 loop
      open v_entries(v_type, v_first, v_last, v_taken);
      while v_left > 0 loop
        fetch v_entries into v_entry;
        exit when not found;
        if v_bytes > 0 and v_bytes + v_entry.bytes > 32000000 then
          kind := 'CUT';
          exit;
        end if;
        v_bytes := v_bytes + v_entry.bytes;
        if v_entry.keyed and v_type is distinct from keyed[cardinality(keyed)] then
          keyed := keyed || v_type;
        end if;
        v_pick.tid := v_entry.tid;
        v_pick.first := 0;
        while v_pick.first < v_entry.count and v_left > 0 loop
          v_pick.request := v_asking[1];
          v_pick.given := p_limits[v_pick.request] - v_left;
          v_pick.count := least(v_left, v_entry.count - v_pick.first, v_room);
          picks := picks || v_pick;
          v_pick.first := v_pick.first + v_pick.count;
          v_left := v_left - v_pick.count;
          v_room := v_room - v_pick.count;
          if v_room = 0 then
            used_up := used_up || v_type;
            v_left := null;
          elsif v_left = 0 then
            v_asking := v_asking[2:];
            v_left := p_limits[v_asking[1]];
          end if;
        end loop;
      end loop;
      close v_entries;
      exit when v_left is null or kind = 'CUT';

      v_taken := array(select p.tid from unnest(picks) p);
      select q.tid into v_entry
      from unnest(p_highs[v_first:v_last], p_lows[v_first:v_last], p_places[v_first:v_last]) r(high, low, place)
      cross join lateral (
        select q.ctid as tid from jobtree.queue_entry q
        where q.type = v_type and q.run_at is null
          and (-q.priority::integer, q.place) >= (-r.high, r.place) and -q.priority::integer <= -r.low
          and q.ctid <> all (v_taken)
        limit 1
      ) q
      limit 1;
      exit when not found;
      if not jobtree.wait_for_entry(v_entry.tid, v_until) then
        kind := 'LOCKED';
        exit;
      end if;
    end loop;
    v_first := v_last + 1;
  end loop;
end
$$;

-- The positions of items whose blocks were drawn, in their order: a batch is contiguous in each block.
--
-- p_firsts   the first position of each 1,024 items, as insert_payloads returns them
-- p_count    the number of items
create or replace function jobtree.positions_from(p_firsts bigint[], p_count integer)
returns bigint[]
language sql immutable
as $$
  select array_agg(f.first + n order by f.block, n)
  from unnest(p_firsts) with ordinality f(first, block)
  cross join lateral generate_series(0, least(1024, p_count - 1024 * (f.block - 1)) - 1) n
$$;

-- Passes on serialize keys whose heads have ended but whose next item could not follow at once, because of a lock or because the call left
-- it for later. Looks at p_limit ended heads in the order of their keys: call it again until it returns no key, to go through all of them.
--
-- p_from     the key after which it starts
-- returns    how many heads; the key to continue from, null at the end; and the types that got ready items, and how many
-- locks      ended heads and keys, skipping locked ones, and those of promote_next
create or replace function jobtree.promote_blocked(p_from text default '', p_limit integer default 1000)
returns table (promoted integer, next_from text, ready jsonb)
language plpgsql volatile
set jit = off
set enable_seqscan = off
set enable_hashjoin = off
set enable_mergejoin = off
set enable_bitmapscan = off
set plan_cache_mode = force_generic_plan
as $$
declare
  v_picked record;
  v_ended record;
  v_left record;
begin
  select array_agg(p.tid) as tids, case when count(*) = p_limit then max(p.key) end as next_from into v_picked
  from (
    select e.ctid as tid, e.key from jobtree.ended_head e
    where not e.held and e.key > p_from
    order by e.key
    limit p_limit
  ) p;
  -- Rows of items that were not the head, or whose key has passed to the next item since.
  delete from jobtree.ended_head e
  where e.ctid = any (array(
    select o.ctid from jobtree.ended_head o
    where o.ctid = any (v_picked.tids) and coalesce(not o.held, false)
      and not exists (select from jobtree.serialize_key k where k.key = o.key and k.job_id = o.job_id and k.position = o.position offset 0)
    for update of o skip locked
  ));
  with head as materialized (
    select e.key, e.job_id, e.position from jobtree.ended_head e
    -- Written so that the planner can't use the index of those that are not held, all of which it would read.
    where e.ctid = any (v_picked.tids) and coalesce(not e.held, false)
    for update skip locked
  ), free as materialized (
    select h.* from head h
    join jobtree.serialize_key k on k.key = h.key and k.job_id = h.job_id and k.position = h.position
    for update of k skip locked
  )
  select array_agg(f.key) as keys, array_agg(f.job_id) as job_ids, array_agg(f.position) as positions into v_ended from free f;
  if v_ended.keys is null then
    return query select 0, v_picked.next_from, null::jsonb;
    return;
  end if;
  select * into v_left from jobtree.promote_next(v_ended.keys, v_ended.job_ids, v_ended.positions);
  delete from jobtree.ended_head e
  using (
    select u.job_id, u.position from unnest(v_ended.job_ids, v_ended.positions) u(job_id, position)
    where (u.job_id, u.position) not in (select l.job_id, l.position from unnest(v_left.job_ids, v_left.positions) l(job_id, position))
    offset 0
  ) u
  where e.job_id = u.job_id and e.position = u.position;
  return query select cardinality(v_ended.keys) - coalesce(cardinality(v_left.keys), 0), v_picked.next_from, v_left.ready;
end
$$;

-- Makes entries ready that have come due. Call it again at once as long as there are more. If more are due than p_limit, the types take
-- turns: each gets an equal part, so that a type with very many keeps no other waiting.
--
-- p_within   looks only at what came due within this time, past the dead rows of what was promoted before; null for all, which is needed
--            now and then for entries that were locked or committed late
-- p_after    the type after which the turn begins: last_type of the call before
-- returns    how many entries; the types that got ready items, and how many; whether there are more; and the type at which the turn ended,
--            '' if that was the last one
-- locks      entries, skipping locked ones
create or replace function jobtree.promote_due(p_limit integer default 1000, p_within interval default null, p_after text default '')
returns table (promoted integer, ready jsonb, more boolean, last_type text)
language plpgsql volatile
set jit = off
set enable_seqscan = off
set enable_bitmapscan = off
set plan_cache_mode = force_generic_plan
as $$
declare
  -- A constant: an index scan can't be bounded by clock_timestamp(), which is volatile.
  v_now constant timestamptz(3) := clock_timestamp();
  v_from constant timestamptz := case when p_within is null then '-infinity' else v_now - p_within end;
  v_crowded constant boolean := (
    select count(*) > p_limit
    from (
      select from jobtree.queue_entry q where q.run_at >= v_from and q.run_at <= v_now order by q.run_at limit p_limit + 1
    ) d
  );
  v_types text[];
  v_last text := '';
  v_due tid[];
begin
  if v_crowded then
    -- From type to type by what is due last, which is no dead row.
    with recursive scheduled as (
      (
        select q.type from jobtree.queue_entry q where q.run_at is not null and q.type > p_after
        order by q.type, q.run_at desc limit 1
      )
      union all
      select n.type from scheduled s
      cross join lateral (
        select q.type from jobtree.queue_entry q where q.run_at is not null and q.type > s.type
        order by q.type, q.run_at desc limit 1
      ) n
    ), examined as materialized (
      select s.type from scheduled s limit p_limit
    )
    -- Here and below: as a range of one type, in an order that only the index by type has, or the planner may read what is due of all types.
    select array_agg(e.type) filter (where (
        select q.run_at from jobtree.queue_entry q
        where q.type >= e.type and q.type <= e.type and q.run_at >= v_from and q.run_at <= v_now
        order by q.type desc, q.run_at
        limit 1
      ) is not null), case when count(*) = p_limit then max(e.type) else '' end
    into v_types, v_last
    from examined e;
    select array_agg(d.tid order by d.run_at, d.position) into v_due
    from unnest(v_types) u(type)
    cross join lateral (
      select q.ctid as tid, q.run_at, q.position from jobtree.queue_entry q
      where q.type >= u.type and q.type <= u.type and q.run_at >= v_from and q.run_at <= v_now
      order by q.type desc, q.run_at
      limit greatest(1, p_limit / cardinality(v_types))
      for update skip locked
    ) d;
  else
    select array_agg(d.tid order by d.run_at, d.position) into v_due
    from (
      select q.ctid as tid, q.run_at, q.position from jobtree.queue_entry q
      where q.run_at >= v_from and q.run_at <= v_now
      order by q.run_at
      limit p_limit
      for update skip locked
    ) d;
  end if;

  return query
  with placed as materialized (
    -- A new place: within a priority, what came due first goes first.
    select u.tid, nextval('jobtree.block_seq') * 1024 as place from unnest(v_due) u(tid)
  ), promoted as (
    update jobtree.queue_entry q set run_at = null, place = p.place, ready_at = q.run_at
    from placed p where q.ctid = p.tid
    returning q.type, q.count
  )
  select coalesce(sum(t.entries), 0)::integer, jsonb_object_agg(t.type, t.items),
    -- Not if somebody has locked all that are due in this turn.
    v_crowded and (count(*) > 0 or v_types is null), v_last
  from (select p.type, count(*) as entries, sum(p.count) as items from promoted p group by p.type) t;
end
$$;

-- Passes on serialize keys whose heads have ended: the next item of each line becomes the head and enters the queue. A key without a next
-- item is removed.
--
-- p_keys, p_job_ids, p_positions   keys, none twice, and their heads; an item that is not the head of its key is ignored
-- returns    the keys that have not moved on, with their heads, because they or their next items are locked; null for none. And the types
--            that got ready items, and how many
-- locks      the keys' rows in their order, and the next items, skipping locked ones
create or replace function jobtree.promote_next(p_keys text[], p_job_ids uuid[], p_positions bigint[])
returns table (keys text[], job_ids uuid[], positions bigint[], ready jsonb)
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
  v_locked record;
  v_next record;
begin
  -- A snapshot from before the lock would miss items that queued behind the head meanwhile.
  if current_setting('transaction_isolation') in ('read committed', 'read uncommitted') then
    select array_agg(l.key) as keys, array_agg(l.turn) as turns into v_locked
    from (
      select k.key, k.turn from unnest(p_keys, p_job_ids, p_positions) u(key, job_id, position)
      join jobtree.serialize_key k on k.key = u.key collate "C" and k.job_id = u.job_id and k.position = u.position
      order by k.key
      for update of k skip locked
    ) l;
  else
    select null::text[] as keys, null::bigint[] as turns into v_locked;
  end if;

  with first as materialized (
    select u.key, b.tid
    from unnest(v_locked.keys, v_locked.turns) u(key, turn)
    left join lateral (
      -- Starts at the head's turn, to skip the dead rows of earlier items.
      select b.ctid as tid from jobtree.blocked_item b where b.key = u.key collate "C" and b.turn > u.turn order by b.turn limit 1
    ) b on true
  ), free as materialized (
    select b.ctid as tid from jobtree.blocked_item b
    where b.ctid = any (array(select f.tid from first f where f.tid is not null))
    for update skip locked
  ), next as (
    delete from jobtree.blocked_item b where b.ctid = any (array(select f.tid from free f)) returning b.*
  ), passed as (
    update jobtree.serialize_key k set job_id = n.job_id, position = n.position, turn = n.turn from next n where k.key = n.key
  ), unused as (
    delete from jobtree.serialize_key k where k.key = any (array(select f.key from first f where f.tid is null))
  )
  select array_agg(n.key) || array(select f.key from first f where f.tid is null) as keys,
    array_agg(row(
      n.job_id, n.position, n.attempt, n.priority, case when n.run_at > v_now then n.run_at end, null
    )::jobtree.waiting_item) as items,
    jobtree.count_names(array_agg(n.type) filter (where (n.run_at > v_now) is not true)) as ready
  into v_next
  from next n;
  if v_next.items is not null then
    perform jobtree.requeue(v_next.items, true);
  end if;
  if cardinality(v_next.keys) = cardinality(p_keys) then
    return query select null::text[], null::uuid[], null::bigint[], v_next.ready;
    return;
  end if;
  return query
    select array_agg(u.key), array_agg(u.job_id), array_agg(u.position), v_next.ready
    from unnest(p_keys, p_job_ids, p_positions) u(key, job_id, position)
    -- A replayed head may have queued behind itself, and be the next one. Hashed, where "<> all" would compare each with all.
    where u.key not in (select k from unnest(v_next.keys) k)
      and exists (select from jobtree.serialize_key k where k.key = u.key collate "C" and k.job_id = u.job_id and k.position = u.position);
end
$$;

-- Makes scheduled items ready before their time. They go behind what is ready, in the order of their jobs and positions, and keep their
-- priorities, attempt numbers and failures. An item with a serialize key is the head of its line already.
--
-- p_ranges   the items (matching_pending)
-- p_by       only what has been scheduled until then
-- returns    how many items: locked ones are left; and the types that got ready items, and how many
-- locks      queue entries, skipping locked ones
create or replace function jobtree.promote_pending(p_ranges jobtree.pending_range[], p_by timestamptz)
returns table (done bigint, ready jsonb)
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
  v_taken record;
begin
  select t.* into v_taken from jobtree.take_entries(p_ranges, p_by) t;
  done := 0;
  if v_taken.entries is not null then
    perform jobtree.put_back_rest(
      array(
        select row(
          e.job_id, e.position, nextval('jobtree.block_seq') * 1024, e.bytes, null, e.attempt, e.count, e.priority, e.type, e.keyed, v_now,
          e.lost
        )::jobtree.queue_entry
        from unnest(v_taken.entries) e
      ),
      array(select ~u from unnest(v_taken.taken) u)
    );
    -- From now on these are due; a lifetime counts from this time.
    update jobtree.job_item i set run_at = v_now
    from unnest(v_taken.entries, v_taken.taken)
      e(job_id, position, place, bytes, run_at, attempt, count, priority, type, keyed, ready_at, lost, taken)
    where i.job_id = e.job_id and i.position >= e.position and i.position < e.position + e.count
      and get_bit(e.taken, (i.position - e.position)::integer) = 1 and i.run_at > v_now;
    select sum(t.items), jsonb_object_agg(t.type, t.items) into done, ready
    from (
      select e.type, sum(bit_count(e.taken)) as items
      from unnest(v_taken.entries, v_taken.taken)
        e(job_id, position, place, bytes, run_at, attempt, count, priority, type, keyed, ready_at, lost, taken)
      group by e.type
    ) t;
  end if;
  return next;
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
    from (
      -- By their ids: on a small table the order of another index would do, and the plan stays when it has grown.
      select distinct l.job_id, l.position
      from (select l.job_id, l.position from jobtree.lease l where l.id = any (p_ids) and l.check_at is null offset 0) l
    ) e
    cross join lateral (
      select l.id, l.count, l.attempt, l.check_at from jobtree.lease l
      where l.job_id = e.job_id and l.position = e.position
      order by l.id desc
      offset 20
    ) o
    cross join lateral (
      select from jobtree.lease l
      where l.id = o.id and l.check_at is null
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

-- Deletes the rows of an upload that is removed, or that has expired while no file import reads it: up to p_limit parts, and after the
-- last one the upload. Call it again at once as long as it returns true. Objects in an object store must be deleted before: lease_removal.
--
-- returns    whether it did anything
-- locks      the upload's row, skipping locked ones
create or replace function jobtree.prune_uploads(p_limit integer default 32)
returns boolean
language plpgsql volatile
set jit = off
set enable_seqscan = off
as $$
declare
  v_id uuid;
  v_limit integer;
  v_count integer;
begin
  v_id := jobtree.lease_removal(null, null);
  if v_id is null then
    return false;
  end if;
  -- Rows of objects are small: they contain no data.
  v_limit := p_limit * case when exists (select from jobtree.upload_part p where p.upload_id = v_id and p.name is not null) then 32 else 1 end;
  delete from jobtree.upload_part p
  where p.upload_id = v_id and p.position in (
    select o.position from jobtree.upload_part o where o.upload_id = v_id order by o.position limit v_limit
  );
  get diagnostics v_count = row_count;
  if v_count < v_limit then
    with gone as (delete from jobtree.upload u where u.id = v_id returning u.tenant, u.size)
    insert into jobtree.stored_delta (tenant, items, bytes)
    select coalesce(g.tenant, ''), 0, -g.size from gone g where g.size > 0;
  end if;
  return true;
end
$$;

-- Puts the rest of entries back into the queue when some of their items are taken out, each in its old place and under the same conditions.
-- The rest of a small entry gets the size of the whole, so that nobody has to measure payloads.
--
-- p_entries, p_taken   the entries, which are deleted, and a bit for each item that is taken
create or replace function jobtree.put_back_rest(p_entries jobtree.queue_entry[], p_taken bit(128)[])
returns void
language plpgsql volatile
set jit = off
set enable_seqscan = off
set plan_cache_mode = force_generic_plan
as $$
begin
  insert into jobtree.queue_entry (job_id, position, place, bytes, run_at, attempt, count, priority, type, keyed, ready_at, lost)
  select e.job_id, e.position + r."from", e.place + r."from",
    case when e.bytes > 100000 then (
      select sum(i.payload_bytes) from jobtree.job_item i
      where i.job_id = e.job_id and i.position >= e.position + r."from" and i.position < e.position + r."from" + r.count
    ) else e.bytes end,
    e.run_at, e.attempt, r.count, e.priority, e.type, e.keyed, e.ready_at, e.lost
  -- Subscripts would read the arrays from their start for each column.
  from unnest(p_entries, p_taken) e(job_id, position, place, bytes, run_at, attempt, count, priority, type, keyed, ready_at, lost, taken)
  cross join lateral jobtree.bit_runs(~e.taken & (~B'0'::bit(128) << (128 - e.count)), e.count) r;
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
    select e.type, (sum(e.items) filter (where e.status = 'READY'))::bigint as ready,
      (sum(e.items) filter (where e.status = 'SCHEDULED'))::bigint as scheduled,
      (sum(e.items) filter (where e.status = 'RETRYING'))::bigint as retrying,
      (sum(e.items) filter (where e.status = 'WAITING'))::bigint as waiting,
      min(e.since) filter (where e.status = 'READY') as since
    from (
      select q.type, jobtree.status_of_item(null, null, false, false, q.run_at, q.attempt) as status, sum(q.count) as items,
        min(q.ready_at) as since
      from entry q
      group by 1, 2
    ) e
    group by e.type
  ), held as (
    select j.type, sum(h.items)::bigint as running
    from (
      select l.job_id, sum(bit_count(l.open)) as items from jobtree.lease l
      where l.check_at is not null and (v_jobs is null or l.job_id = any (v_jobs))
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
  order by type;
end
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
      select q.concurrency - coalesce(sum(d.items), 0) - case when q.limited_by is null then 0 else jobtree.uncounted_items(q.type) end as places
      from jobtree.held_deltas(case when q.concurrency is not null then q.type end) d
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

-- Notifies the endpoint of a type when the configured number of its items have become dead letters within the interval: once per spell,
-- which ends when there have been fewer for a whole interval.
--
-- returns    how many alerts it has raised
-- locks      the rows of queue that change, skipping locked ones, once all is counted
create or replace function jobtree.raise_alerts()
returns integer
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
  v_alert record;
  v_raised integer := 0;
begin
  for v_alert in
    select a.*, case when a.is_over and a.alert_spell_at is null then (
      select json_build_object('count', coalesce(sum(g.count), 0), 'groups',
        json_agg(json_build_object('id', 'DeadLetterGroup:' || g.id, 'code', g.code, 'pattern', g.pattern, 'count', g.count) order by g.n)
          filter (where g.n <= 3))
      from (
        select d.fingerprint as id, min(d.code) as code, min(d.pattern) as pattern, count(*) as count,
          row_number() over (order by count(*) desc, d.fingerprint) as n
        from jobtree.dead_letter d
        where d.type = a.type and d.died_at > v_now - a.period
        group by d.fingerprint
      ) g
    ) end as found
    from (
      select q.*, p.period, q.alert_count = (
        -- Stops counting at the threshold.
        select count(*) from (
          select from jobtree.dead_letter d
          where d.type = q.type and d.died_at > v_now - p.period
          limit q.alert_count
        ) d
      ) as is_over
      from jobtree.queue q
      cross join lateral (select q.alert_interval_ms * interval '1 millisecond' as period) p
      where q.alert_count is not null
      offset 0
    ) a
    -- By what was counted, so that all is counted before the first row is locked: claims of a limited type need its row.
    order by a.is_over, a.type
  loop
    -- It is as it was, and was seen not long ago.
    continue when case when v_alert.is_over then v_alert.alert_seen_at >= v_now - v_alert.period / 20
      else (v_alert.alert_seen_at < v_now - v_alert.period) is not true end;
    update jobtree.queue q
    set alert_spell_at = case when v_alert.is_over then coalesce(q.alert_spell_at, v_now) end, alert_seen_at = case when v_alert.is_over then v_now end
    where q.ctid = (
      select q.ctid from jobtree.queue q
      where q.type = v_alert.type and q.alert_spell_at is not distinct from v_alert.alert_spell_at
        and (q.alert_endpoint, q.alert_count, q.alert_interval_ms) = (v_alert.alert_endpoint, v_alert.alert_count, v_alert.alert_interval_ms)
      for no key update skip locked
    );
    -- Another server was faster, the alert has changed, or somebody has locked the type: that one is looked at next time.
    if found and v_alert.is_over and v_alert.alert_spell_at is null then
      v_raised := v_raised + 1;
      insert into jobtree.callback_delivery (id, message_id, endpoint, event, body, created_at, due_at)
      select i.id, 'alert_' || i.id, v_alert.alert_endpoint, 'DEAD_LETTERS', jobtree.callback_body('dead_letters.alert', v_now, json_build_object(
        'type', jobtree.name_within(v_alert.type, v_alert.alert_endpoint), 'threshold', v_alert.alert_count, 'intervalMs', v_alert.alert_interval_ms,
        'count', v_alert.found -> 'count', 'groups', v_alert.found -> 'groups'
      ))::text, v_now, v_now
      from (select jobtree.new_id() as id) i;
    end if;
  end loop;
  return v_raised;
end
$$;

-- How many items of new trees are ready, by type; null for none.
--
-- returns    a JSON object
create or replace function jobtree.ready_items(p_root_ids uuid[])
returns jsonb
language sql stable
as $$
  select jsonb_object_agg(t.type, t.items)
  from (
    select q.type, sum(q.count) as items
    from jobtree.job j
    -- Only by job: the index of ready entries looks small to the planner, but may be full of dead entries.
    cross join lateral (select e.type, e.count, e.run_at from jobtree.queue_entry e where e.job_id = j.id offset 0) q
    where j.root_id = any (p_root_ids) and q.run_at is null
    group by q.type
  ) t
$$;

-- Marks complete trees whose retention is over for deletion: delete_trees, called by any server, deletes them in batches. From here on
-- nothing of them can be replayed, and their dedupe keys are free. Trees that are held, or that is_kept holds back, come later.
--
-- p_default_seconds   the retention of trees without their own; null for ever
-- p_limit             how many trees may be marked at a time: it fills up to this number
-- returns             how many it has marked
-- locks               the trees, and then the rows of jobs with dedupe keys; skips trees of which one of these is locked
create or replace function jobtree.reap_trees(p_default_seconds integer, p_limit integer default 100)
returns integer
language plpgsql volatile
set jit = off
set enable_seqscan = off
set enable_bitmapscan = off
set enable_hashjoin = off
set enable_mergejoin = off
set plan_cache_mode = force_generic_plan
as $$
declare
  v_now constant timestamptz := clock_timestamp();
  v_limit constant bigint := greatest(0, p_limit - (select count(*) from jobtree.tree t where t.deletion = 'REAPED'));
  -- Mostly there are none, so that no tree need be looked at.
  v_operations boolean := exists (select from jobtree.operation o where o.finished_at is null and o.kind in ('REPLAY', 'DISCARD'));
  v_roots uuid[];
  v_marked uuid[];
begin
  with own as (
    select t.root_id from jobtree.tree t
    where t.completed_at at time zone 'UTC' + t.retention_seconds * interval '1 second' <= v_now at time zone 'UTC'
      and t.retention_seconds >= 0 and t.deletion is null and coalesce(t.held_until, '-infinity') <= v_now and not (v_operations and jobtree.is_kept(t.root_id))
    order by t.completed_at at time zone 'UTC' + t.retention_seconds * interval '1 second'
    limit v_limit
    for no key update skip locked
  ), others as (
    select t.root_id from jobtree.tree t
    where t.completed_at <= v_now - p_default_seconds * interval '1 second'
      and t.retention_seconds is null and t.deletion is null and coalesce(t.held_until, '-infinity') <= v_now and not (v_operations and jobtree.is_kept(t.root_id))
    order by t.completed_at
    limit v_limit
    for no key update skip locked
  )
  select array_agg(u.root_id) into v_roots from (select * from own union all select * from others) u;
  if v_roots is null then
    return 0;
  end if;

  -- In new statements, which see what began before the locks.
  v_operations := exists (select from jobtree.operation o where o.finished_at is null and o.kind in ('REPLAY', 'DISCARD'));
  v_roots := array(select r from unnest(v_roots) r where not (v_operations and jobtree.is_kept(r)));
  with keyed as materialized (
    select j.id, j.root_id from jobtree.job j where j.root_id = any (v_roots) and j.dedupe_key is not null
  ), free as materialized (
    select j.id from jobtree.job j where j.id = any (array(select k.id from keyed k)) for update skip locked
  )
  select array_agg(r) into v_marked
  from unnest(v_roots) r
  where r not in (select k.root_id from keyed k where k.id not in (select f.id from free f));
  update jobtree.job j set dedupe_key = null where j.root_id = any (v_marked) and j.dedupe_key is not null;
  update jobtree.tree t
  set deletion = 'REAPED', deletion_requested_at = v_now, item_count = (
    select sum(p.item_count)
    from jobtree.job j
    cross join lateral (select * from jobtree.job_progress p where p.job_id = j.id order by p.version desc limit 1) p
    where j.root_id = t.root_id
  )
  where t.root_id = any (v_marked);
  return coalesce(cardinality(v_marked), 0);
end
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
    set open = l.open # g.bits, check_at = case when l.open <> g.bits then l.check_at end
    from (select g.lease_id, bit_or(jobtree.bit_at(g.number)) as bits from given g group by g.lease_id) g
    where l.id = g.lease_id
  )
  select jsonb_object_agg(g.id, jsonb_build_array(g.type, g.priority, g.position)) as by_id,
    array_agg(row(g.job_id, g.position, g.attempt, g.priority, null, g.lost)::jobtree.waiting_item) as items
  into v_given
  from given g;

  perform jobtree.requeue(v_given.items, false);
  perform jobtree.prune_leases(array(select jobtree.lease_id(u) from unnest(p_ids) u));
  return query
  select u.id, case when g.given is null then 'STALE' else 'RELEASED' end, g.given ->> 0, (g.given ->> 1)::smallint, (g.given ->> 2)::bigint
  from unnest(p_ids) with ordinality u(id, n)
  cross join lateral (select v_given.by_id -> u.id::text as given offset 0) g
  order by u.n;
end
$$;

-- Makes the items of a job that no longer waits for other jobs available, up to p_limit entries: they become ready, behind everything that
-- is ready already, or scheduled if their run_at is ahead. Items with serialize keys go into the lines of these, from the
-- first on; those that are locked, or whose keys are, are left for the next call, together with all later ones of the same key. Repeat until done.
--
-- p_from     the position to continue from
-- returns    the job's type; how many entries; how many items are ready; the position to continue from, 0 for another pass; and whether
--            nothing is left to release
-- locks      queue entries, keys, and at the end the job's row and that of exclude_adders, skipping locked ones
create or replace function jobtree.release_items(p_job_id uuid, p_from bigint default 0, p_limit integer default 2000)
returns table (type text, entries integer, ready bigint, next_from bigint, done boolean)
language plpgsql volatile
set jit = off
set enable_seqscan = off
set enable_hashjoin = off
set enable_mergejoin = off
set enable_bitmapscan = off
set plan_cache_mode = force_generic_plan
as $$
#variable_conflict use_column
declare
  v_now constant timestamptz(3) := clock_timestamp();
  v_is_due boolean;
  v_last bigint;
  v_positions bigint[];
  v_keys text[];
  v_locked text[];
  v_entering jobtree.waiting_item[];
  v_is_alone boolean;
begin
  select j.type, j.releasing and j.cancelled_at is null into type, v_is_due from jobtree.job j where j.id = p_job_id;
  with picked as materialized (
    select q.ctid as tid, q.position from jobtree.queue_entry q
    where q.job_id = p_job_id and q.position >= p_from and v_is_due
      -- Written so that the planner can't use the index of scheduled entries, which has those of all jobs.
      and coalesce(q.run_at = 'infinity', false) and not q.keyed
    order by q.position
    limit p_limit
    for update skip locked
  ), placed as materialized (
    -- The items of an entry all had the same future run_at when they were added, or none.
    select p.tid, nextval('jobtree.block_seq') * 1024 as place,
      (select i.run_at from jobtree.job_item i where i.job_id = p_job_id and i.position = p.position) as run_at
    from (select * from picked order by position) p
  ), released as (
    update jobtree.queue_entry q set place = p.place, run_at = case when p.run_at > v_now then p.run_at end, ready_at = v_now
    from placed p where q.ctid = p.tid
    returning q.position, q.count, q.run_at
  )
  select count(*), coalesce(sum(r.count) filter (where r.run_at is null), 0), max(r.position) into entries, ready, v_last from released r;
  next_from := case when entries = p_limit then v_last + 1 else 0 end;
  if entries < p_limit and v_is_due then
    select array_agg(q.position), array_agg(i.key) into v_positions, v_keys
    from (
      select q.position from jobtree.queue_entry q
      where q.job_id = p_job_id and q.keyed and coalesce(q.run_at = 'infinity', false)
      order by q.position
      limit p_limit
    ) q
    -- Looked up one by one, here and below: a join might scan all items of the job for each.
    cross join lateral (
      select i.serialize_key as key from jobtree.job_item i where i.job_id = p_job_id and i.position = q.position offset 0
    ) i;
  end if;
  if v_positions is not null then
    -- Before the entries: then an earlier one of the key, which another call had, is either gone or seen as locked.
    v_locked := jobtree.try_lock_keys(v_keys);
    with picked as materialized (
      select q.position from jobtree.queue_entry q
      where q.job_id = p_job_id and q.position = any (v_positions) and coalesce(q.run_at = 'infinity', false)
      for update skip locked
    ), listed as (
      select w.position, bool_and(w.position in (select p.position from picked p)) over (partition by w.key order by w.position) as is_next
      from unnest(v_positions, v_keys) w(position, key)
      where (w.key in (select k from unnest(v_locked) k)) is true
    ), gone as (
      delete from jobtree.queue_entry q
      where q.job_id = p_job_id and q.position = any (array(select l.position from listed l where l.is_next))
      returning q.*
    )
    select array_agg(row(
      p_job_id, g.position, g.attempt, g.priority, case when i.run_at > v_now then i.run_at end, null
    )::jobtree.waiting_item order by g.position)
    into v_entering
    from gone g
    cross join lateral (select i.run_at from jobtree.job_item i where i.job_id = p_job_id and i.position = g.position offset 0) i;
  end if;
  if v_entering is not null then
    entries := entries + cardinality(v_entering);
    ready := ready + jobtree.enter_keys(v_entering, true);
  end if;
  if v_positions is not null then
    delete from jobtree.serialize_key k where k.key = any (v_locked) and k.job_id is null;
  end if;
  -- If a transaction is adding to the job, another call is needed.
  perform 1 from jobtree.job j where j.id = p_job_id for no key update skip locked;
  v_is_alone := found and cardinality(jobtree.exclude_adders(array[p_job_id])) = 1;
  done := type is null or v_is_alone and entries < p_limit and not (v_is_due and exists (
    select from jobtree.queue_entry q where q.job_id = p_job_id and coalesce(q.run_at = 'infinity', false)
  ));
  if done then
    update jobtree.job j set releasing = false where j.id = p_job_id;
  end if;
  return next;
end
$$;

-- Removes an upload: nobody can use it any more, and prune_uploads and lease_removal delete its data.
--
-- returns    REMOVED, GONE if there is no such upload, or USED while a file import reads it
-- locks      the upload's row, exclusively: waits for add_file
create or replace function jobtree.remove_upload(p_id uuid)
returns text
language plpgsql volatile
set jit = off
set enable_seqscan = off
as $$
begin
  perform 1 from jobtree.upload u where u.id = p_id and u.removed_at is null for update;
  if not found then
    return 'GONE';
  end if;
  if exists (select from jobtree.file_import f where f.upload_id = p_id and f.finished_at is null) then
    return 'USED';
  end if;
  update jobtree.upload u set removed_at = clock_timestamp(), expires_at = clock_timestamp() where u.id = p_id;
  return 'REMOVED';
end
$$;

-- Reopens jobs whose failed items are replayed, and unseals the sealed jobs that they feed, since their parents are no longer complete.
-- Each begins a new generation. The tree is not reaped before it is complete again.
--
-- p_job_ids  the job of each replayed item
-- returns    the new states of these jobs, and that of the root
-- locks      the rows of the jobs that it unseals, in the order of their ids. The caller has locked the tree
create or replace function jobtree.reopen_jobs(p_root_id uuid, p_job_ids uuid[])
returns jobtree.job_progress[]
language plpgsql volatile
set jit = off
set enable_seqscan = off
set enable_bitmapscan = off
set enable_hashjoin = off
set enable_mergejoin = off
set plan_cache_mode = force_generic_plan
as $$
declare
  v_fed uuid[];
  v_rows jobtree.job_progress[];
begin
  with recursive fed as (
    select c.id from jobtree.job c
    where c.parent_id = any (p_job_ids) and c.feed is not null and c.sealed_at is not null and c.cancelled_at is null
    union
    select c.id from jobtree.job c
    join fed f on c.parent_id = f.id
    where c.feed is not null and c.sealed_at is not null and c.cancelled_at is null
  )
  select array_agg(f.id) into v_fed from fed f;
  -- Another transaction may be cancelling one of them: that one stays sealed.
  perform 1 from jobtree.job j where j.id = any (v_fed) order by j.id for no key update;
  v_fed := array(select j.id from jobtree.job j where j.id = any (v_fed) and j.cancelled_at is null);
  update jobtree.job j set sealed_at = null where j.id = any (v_fed);

  with opened as (
    select u.id, sum(u.replayed) as replayed
    from (
      select r as id, 1 as replayed from unnest(p_job_ids) r
      union all
      select f, 0 from unnest(v_fed) f
    ) u
    group by u.id
  ), known as (
    select n.*, p.version, p.completed_at
    from (
      select o.id, o.replayed, true as opened from opened o
      union all
      select p_root_id, 0, false where p_root_id not in (select o.id from opened o)
    ) n
    cross join lateral (select * from jobtree.job_progress p where p.job_id = n.id order by p.version desc limit 1) p
  ), reopened as (
    update jobtree.job_progress p
    set version = p.version + 1, sealed = p.sealed and p.job_id <> all (v_fed), generation = p.generation + k.opened::integer, failed = p.failed - k.replayed,
      completed_at = case when not k.opened then p.completed_at end, outcome = case when not k.opened then p.outcome end, changed_at = clock_timestamp(),
      open_jobs = p.open_jobs + case when p.is_root then (select count(*) from known c where c.opened and c.completed_at is not null) else 0 end,
      tree_outcome = case when p.is_root then (
        -- The worst outcome of the jobs that are still complete.
        select jobtree.worst_outcome(array_agg(distinct r.outcome))
        from jobtree.job j
        cross join lateral (select r.outcome from jobtree.job_progress r where r.job_id = j.id order by r.version desc limit 1) r
        where j.root_id = p_root_id and j.id not in (select o.id from opened o)
      ) end,
      tree_failed = p.tree_failed - case when p.is_root then cardinality(p_job_ids) else 0 end
    from known k
    where p.job_id = k.id and p.version = k.version
    returning p as progress
  )
  select array_agg(r.progress) into v_rows from reopened r;
  update jobtree.tree t set completed_at = null where t.root_id = p_root_id and t.completed_at is not null;
  return v_rows;
end
$$;

-- Looks whether a claim was carried out before, by a caller that never received the answer: the ids of its leases begin like its id, and they name
-- it. Then returns those of its items that are not finished again, which counts as a heartbeat, since the worker is alive. A repeat that arrives
-- while the claim is still in progress on another server waits for it.
--
-- p_claim_ids, p_workers   of a call's requests; the id is null for a request that can't be repeated
-- returns    the leases as lease_entries has them, in the order of their ids, each with the numbers of its open items; null if none was carried out
-- locks      an advisory lock for each id, in their order; then the claim's leases, in the order of their ids
-- errors     JT002 an id whose time is more than a day away, or the claim was another worker's; JT006 several claims, one of which is repeated
create or replace function jobtree.repeat_claim(p_claim_ids uuid[], p_workers text[])
returns jobtree.claimed_lease[]
language plpgsql volatile
set jit = off
set enable_seqscan = off
set enable_bitmapscan = off
set enable_hashjoin = off
set enable_mergejoin = off
set plan_cache_mode = force_generic_plan
as $$
declare
  v_id uuid;
  v_locked boolean;
  v_leases uuid[];
  -- With the precision of the columns.
  v_now timestamptz(3);
  v_repeated jobtree.claimed_lease[];
begin
  if cardinality(p_claim_ids) > 1 then
    p_claim_ids := array(select distinct c from unnest(p_claim_ids) c order by c);
  end if;
  foreach v_id in array p_claim_ids loop
    continue when v_id is null;
    if abs(('x' || translate(left(v_id::text, 13), '-', ''))::bit(48)::bigint / 1000 - extract(epoch from clock_timestamp())) > 86400 then
      raise exception 'The time in claimId is more than a day away from that of the database.' using errcode = 'JT002', column = 'claimId';
    end if;
    v_locked := pg_advisory_xact_lock(hashtextextended(v_id::text, 0)) is null;
  end loop;
  select array_agg(l.id) into v_leases
  from unnest(p_claim_ids) c(id)
  cross join lateral (
    select l.id from jobtree.lease l
    where l.id between (left(c.id::text, 19) || '0000-000000000000')::uuid and (left(c.id::text, 19) || 'ffff-ffffffffffff')::uuid
      and l.claim_id = c.id
    order by l.id
    for no key update
  ) l;
  if v_leases is null then
    return null;
  elsif cardinality(p_claim_ids) > 1 then
    raise exception 'A repeated claim must be sent alone.' using errcode = 'JT006';
  elsif exists (select from jobtree.lease l where l.id = any (v_leases) and l.worker <> p_workers[1]) then
    raise exception 'claimId belongs to a claim of another worker.' using errcode = 'JT002', column = 'claimId';
  end if;

  v_now := clock_timestamp();
  with kept as (
    update jobtree.lease l
    set heartbeat_at = v_now, deadlines = null
    from (
      select o.id, j.root_id, j.type, j.heartbeat_interval_ms, j.max_failures_per_item from jobtree.lease o
      cross join lateral (select j.* from jobtree.job j where j.id = o.job_id and j.cancelled_at is null offset 0) j
      where o.id = any (v_leases) and o.open <> B'0'::bit(128)
      offset 0
    ) j
    where l.id = j.id
    returning l.*, j.root_id, j.type, j.heartbeat_interval_ms, j.max_failures_per_item
  )
  select coalesce(array_agg(row(
    k.id, 1, k.job_id, k.root_id, k.type, k.position, k.attempt, k.worker, k.heartbeat_interval_ms, k.claimed_at,
    v_now + 3 * k.heartbeat_interval_ms * interval '1 millisecond', k.priority, null, false, i.numbers, i.payloads, null,
    case when k.attempt > k.max_failures_per_item then
      jobtree.last_attempts(k.job_id, k.position, k.count, k.attempt, k.max_failures_per_item)
    end, k.keyed, k.lost, 'REPEATED'
  )::jobtree.claimed_lease order by k.id), '{}')
  into v_repeated
  from kept k
  cross join lateral (
    select array_agg(i.number order by i.number) as numbers, string_agg(i.payload::text, E'\x1e' order by i.number) as payloads
    from (
      select (i.position - k.position)::integer + 1 as number, i.payload from jobtree.job_item i
      where i.job_id = k.job_id and i.position >= k.position and i.position < k.position + k.count
    ) i
    where get_bit(k.open, i.number - 1) = 1
  ) i;
  return v_repeated;
end
$$;

-- Retries items that failed for good: they go to the end of the queue, or of the lines of their serialize keys, and may fail as often as a
-- new item. An item that has kept its key is still the head of its line. Their jobs are reopened, as are the jobs that those feed, if they
-- were sealed; each of them begins a new generation, which listeners are told.
--
-- p_job_ids, p_positions   the items, all of one tree and none twice. Those that are not dead letters, or whose job was cancelled, are
--            ignored
-- p_payload  the new payload of the items; null to keep theirs
-- p_patch    what changes in the payload of each (merge_patch), if p_payload is null
-- returns    the replayed items; and the types that have ready items now, and how many: {type: count}
-- locks      those of lock_root, so no fold is in progress; the dead letters; the rows of the items' jobs, shared, in the order of
--            their ids, so that calls that cancel or delete them wait; the rows of the jobs that are unsealed, in the same order; and
--            serialize keys
-- notifies   as fold_trees does
-- errors     those of lock_root
create or replace function jobtree.replay_items(p_root_id uuid, p_job_ids uuid[], p_positions bigint[], p_payload json default null, p_patch json default null)
returns table (job_ids uuid[], positions bigint[], ready jsonb)
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
  v_durability constant text := current_setting('synchronous_commit');
  v_dead record;
begin
  perform jobtree.lock_root(p_root_id);
  select array_agg(k.job_id) as job_ids, array_agg(k.position) as positions into v_dead
  from (
    select d.job_id, d.position from jobtree.dead_letter d
    join unnest(p_job_ids, p_positions) u(job_id, position) on d.job_id = u.job_id and d.position = u.position
    order by d.job_id, d.position
    for update of d
  ) k;
  -- From here on the counters include all failures of these items, so they can be subtracted.
  perform jobtree.fold_trees(array[p_root_id], array[0]);
  perform set_config('synchronous_commit', v_durability, true);
  perform 1 from jobtree.job j where j.id = any (v_dead.job_ids) order by j.id for share;

  with gone as (
    delete from jobtree.dead_letter d
    using (
      select u.job_id, u.position, j.priority
      from unnest(v_dead.job_ids, v_dead.positions) u(job_id, position)
      -- Looked up one by one: a join might scan all jobs of the tree for each item.
      cross join lateral (
        select j.priority from jobtree.job j
        where j.id = u.job_id and j.root_id = p_root_id and j.cancelled_at is null
        offset 0
      ) j
      offset 0
    ) u
    where d.job_id = u.job_id and d.position = u.position
    returning d.job_id, d.position, d.type, u.priority
  ), undone as (
    delete from jobtree.outcome o using gone g where o.job_id = g.job_id and o.position = g.position
  ), corrected as (
    update jobtree.job_item i set payload = n.payload, payload_bytes = octet_length(n.payload::text)
    from gone g join jobtree.job_item b on b.job_id = g.job_id and b.position = g.position
    cross join lateral (select coalesce(p_payload, jobtree.merge_patch(b.payload, p_patch)) as payload) n
    where (p_payload is not null or p_patch is not null) and i.job_id = g.job_id and i.position = g.position
    returning i.job_id, i.payload_bytes - b.payload_bytes as bytes
  ), resized as (
    insert into jobtree.progress_delta (root_id, job_id, bytes)
    select p_root_id, c.job_id, sum(c.bytes) from corrected c group by c.job_id
  ), counted as (
    select g.job_id, g.position, g.type, coalesce(i.priority, g.priority) as priority, i.serialize_key is not null as keyed, coalesce((
        select max(f.attempt) from jobtree.failure f where f.job_id = g.job_id and f.position = g.position
      ), 0) as attempt
    from gone g
    join jobtree.job_item i on i.job_id = g.job_id and i.position = g.position
  ), noted as (
    insert into jobtree.replay as r (job_id, position, attempt)
    select c.job_id, c.position, c.attempt from counted c
    on conflict on constraint replay_pkey do update set attempt = excluded.attempt
  ), head as (
    delete from jobtree.ended_head e using counted c
    where c.keyed and e.job_id = c.job_id and e.position = c.position and e.held
    returning e.job_id, e.position
  )
  select array_agg(c.job_id) as job_ids, array_agg(c.position) as positions, jobtree.count_names(array_agg(c.type)) as ready,
    array_agg(c.item) filter (where c.enters) as entering, array_agg(c.item) filter (where not c.enters) as returning
  into v_dead
  from (
    select c.job_id, c.position, c.type, row(c.job_id, c.position, c.attempt + 1, c.priority, null, null)::jobtree.waiting_item as item,
      c.keyed and (c.job_id, c.position) not in (select h.job_id, h.position from head h) as enters
    from counted c
    order by c.job_id, c.position
  ) c;
  if v_dead.job_ids is not null then
    perform jobtree.tell_progress(jobtree.reopen_jobs(p_root_id, v_dead.job_ids));
  end if;
  if v_dead.returning is not null then
    perform jobtree.requeue(v_dead.returning, true);
  end if;
  if v_dead.entering is not null then
    perform jobtree.enter_keys(v_dead.entering, true);
  end if;
  return query select coalesce(v_dead.job_ids, '{}'), coalesce(v_dead.positions, '{}'), v_dead.ready;
end
$$;

-- The answers to reports that did not count, after everything that counts has been done.
--
-- p_leases   the leases that were locked for them
-- p_lease_ids, p_numbers, p_values, p_kinds   as report_results takes them
-- p_ns       the indexes, from 1, of the reports that counted unless their job was cancelled meanwhile; null for all of open items
-- p_ended    those of the failures and snoozes that counted
-- p_problems   what is wrong with invalid reports, as judge_reports returns it
-- returns    as report_outcomes
create or replace function jobtree.report_answers(
  p_leases jobtree.reported_lease[], p_lease_ids uuid[], p_numbers integer[], p_values json, p_kinds text[],
  p_ns integer[], p_ended integer[], p_problems jsonb
)
returns jsonb
language plpgsql stable
set jit = off
set enable_seqscan = off
set enable_mergejoin = off
set plan_cache_mode = force_generic_plan
as $$
begin
  return (
    select jsonb_agg(jsonb_build_object(
      'index', u.n - 1,
      'status', case
        when p_problems ? u.n::text then 'INVALID'
        -- Locked, or put off by judge_reports.
        when l.id is not null and case
          when k.id is null then true
          when u.number > 0 then get_bit(l.open, u.number - 1) = 1 and not k.cancelled
        end then 'BUSY'
        when o.lease_id = u.lease_id and not o.failed and w.report ->> 'failure' is null and w.report ->> 'snoozeMs' is null
          and o.result::jsonb = coalesce(w.report -> 'result', 'null')::jsonb then 'DUPLICATE'
        when f.lease_id is not null then 'DUPLICATE'
        else 'STALE'
      end,
      -- The retryAt of the first answer, which is stored with the failure.
      'retryAt', f.retry_at, 'field', p_problems #>> array[u.n::text, '0'], 'message', p_problems #>> array[u.n::text, '1']
    ))
    from rows from (unnest(p_lease_ids), unnest(p_numbers), json_array_elements(p_values), unnest(p_kinds))
      with ordinality u(lease_id, number, value, kind, n)
    cross join lateral (select jobtree.whole_report(u.value, u.kind) as report) w
    left join unnest(p_leases) k on k.id = u.lease_id
    left join lateral (select l.* from jobtree.lease l where l.id = u.lease_id offset 0) l on true
    left join lateral (
      select o.* from jobtree.outcome o where o.job_id = l.job_id and o.position = l.position + u.number - 1 offset 0
    ) o on true
    left join lateral (
      select f.* from jobtree.failure f
      where f.job_id = l.job_id and f.position = l.position + u.number - 1 and f.attempt = l.attempt
        and f.lease_id = l.id and not f.lost and f.code = w.report #>> '{failure,code}'
      offset 0
    ) f on true
    -- A failure may have ended an attempt whose lease, or a child of its job, could not be locked for a result.
    where (
      u.n = any (p_ended)
      or w.report ->> 'failure' is null and w.report ->> 'snoozeMs' is null
        and case when p_ns is not null then u.n = any (p_ns) when u.number > 0 then get_bit(k.open, u.number - 1) = 1 and not k.cancelled end
    ) is not true
  );
end
$$;

-- Accepts the outcomes of attempts: a result, a failure, or a snooze, which gives the item back until later and costs no attempt.
-- Each is judged on its own:
--   ACCEPTED   it counts, and is durable once this commits
--   DUPLICATE  this assignment has reported the same before: a retried call, nothing changes
--   STALE      the assignment is lost, released or cancelled, or ended otherwise: nothing changes
--   BUSY       nothing changes, since the results before it would feed about 20 MB already: report it again
--   INVALID    its content is invalid (report_problem, feed_problem): nothing changes, and the worker keeps the assignment
-- A snooze leaves no trace by which to recognize a repeated one, which is therefore STALE.
-- A report on an assignment past its deadline still counts until a sweep takes the item back.
--
-- p_reports  JSON array of {assignmentId, result}, {assignmentId, failure: {code, message, permanent?, retryAfterMs?, stack?}} or
--            {assignmentId, snoozeMs}, and with a result newItems?: [{type, payload, dedupeKey?, priority?, runAt?, serializeKey?}] for fed
--            children. Of several reports for one assignment the first that is valid counts.
-- returns    one row: the roots of the trees that changed; the types that may have got ready items, and how many; and the answers, a
--            list of {index, status, retryAt, field, message}: index counts from 0, retryAt is when a failed or snoozed item is due again,
--            also for a DUPLICATE of the failure. Reports that are not in the list are simply ACCEPTED; null if that holds for all.
-- errors     JT002 not a list, an entry without assignmentId; 22P02 an assignmentId that is not an id
-- locks      those of report_results; waits for locked ones
create or replace function jobtree.report_outcomes(p_reports json)
returns table (root_ids uuid[], ready jsonb, answers json)
language plpgsql volatile
set plan_cache_mode = force_generic_plan
as $$
declare
  v_ids uuid[];
begin
  select array_agg((e.value ->> 'assignmentId')::uuid) into v_ids
  from json_array_elements(case json_typeof(p_reports) when 'array' then p_reports else '[null]' end) e(value);
  if p_reports is null or array_position(v_ids, null) is not null then
    raise exception 'reports must be a list of objects with an assignmentId.' using errcode = 'JT002', column = 'reports';
  end if;
  if strpos(p_reports::text, '\u') > 0 then
    -- As in check_items.
    perform p_reports::jsonb;
  end if;
  return query
    select nullif(r.root_ids, '{}'), r.ready, r.answers
    from jobtree.report_results(
      array(select jobtree.lease_id(u) from unnest(v_ids) u), array(select jobtree.assignment_number(u) from unnest(v_ids) u),
      p_reports, array_fill('report'::text, array[coalesce(cardinality(v_ids), 0)])
    ) r;
end
$$;

-- Finds what is wrong with a report, regardless of its job: an unknown key, a failure without a code or message, a time out of bounds, or
-- invalid new items.
--
-- p_report   as report_outcomes has it
-- returns    the first problem: the field, and a sentence about it; no row if there is none
create or replace function jobtree.report_problem(p_report jsonb)
returns table (field text, message text)
language sql stable
as $$
  select p.field, p.field || ' ' || p.message || '.'
  from (
    select i.field, i.message
    from jobtree.input_problem(p_report, '{assignmentId,result,failure,snoozeMs,newItems}') i
    union all
    select 'result', 'is nested more than 256 levels deep' where jobtree.is_too_deep((p_report -> 'result')::text)
    union all
    select 'failure', 'must be alone: a report has either a result (which may be null), a failure or snoozeMs'
    where (p_report ->> 'failure' is not null)::integer + (p_report ->> 'snoozeMs' is not null)::integer + (p_report ? 'result')::integer <> 1
      or not p_report ? 'result' and p_report ->> 'newItems' is not null
    union all
    select 'failure' || coalesce('.' || nullif(i.field, ''), ''), i.message
    from jobtree.input_problem(p_report -> 'failure', '{code,message,permanent,retryAfterMs,stack}') i
    where p_report ->> 'failure' is not null
    union all
    select 'failure', 'must have a code and a message'
    where p_report ->> 'failure' is not null and (p_report #>> '{failure,code}' is null or p_report #>> '{failure,message}' is null)
    union all
    select 'failure.retryAfterMs', 'can''t be combined with permanent: the item is not tried again'
    where (p_report #> '{failure,permanent}') = 'true' and p_report #>> '{failure,retryAfterMs}' is not null
    union all
    select format('newItems[%s]', e.n - 1) || coalesce('.' || nullif(i.field, ''), ''), i.message
    from jsonb_array_elements(case jsonb_typeof(p_report -> 'newItems') when 'array' then p_report -> 'newItems' end)
      with ordinality e(value, n)
    cross join lateral (
      select i.field, i.message from jobtree.input_problem(e.value, '{type,payload,dedupeKey,priority,runAt,serializeKey}') i
      union all
      select 'payload', 'is nested more than 256 levels deep' where jobtree.is_too_deep((e.value -> 'payload')::text)
    ) i
    limit 1
  ) p
  -- A quick check first: most reports are a valid result or a valid failure.
  where (case
    when p_report ? 'result' then p_report - '{assignmentId,result}'::text[] = '{}'
      and (pg_column_size(p_report) <= 512 or not jobtree.is_too_deep((p_report -> 'result')::text))
    else p_report - '{assignmentId,failure}'::text[] = '{}' and jsonb_typeof(p_report -> 'failure') = 'object'
      and (p_report -> 'failure') - '{code,message,permanent,stack}'::text[] = '{}'
      and jsonb_typeof(p_report #> '{failure,code}') = 'string' and length(p_report #>> '{failure,code}') between 1 and 200
      and jsonb_typeof(p_report #> '{failure,message}') = 'string' and length(p_report #>> '{failure,message}') <= 10000
      and coalesce(jsonb_typeof(p_report #> '{failure,permanent}'), 'boolean') = 'boolean'
      and coalesce(jsonb_typeof(p_report #> '{failure,stack}'), 'string') = 'string'
      and coalesce(length(p_report #>> '{failure,stack}'), 0) <= 4096
  end) is not true
$$;

-- Accepts outcomes of attempts, whoever reports them: locks their leases, judges what has to be judged, carries out what counts by its kind, and
-- answers the rest.
--
-- p_lease_ids, p_numbers, p_values, p_kinds
--            for each report the assignment, a value in a JSON array, and what this is: a result; a failure, {code, message, permanent?,
--            retryAfterMs?, stack?}; a snooze, {snoozeMs}; or a whole report as report_outcomes takes it. Null if all are results. Results, failures
--            and snoozes have been checked, and no two of them name the same assignment
-- p_wait     whether to wait for rows that another transaction has locked, or to answer BUSY, which means that nothing was done
-- returns    as report_outcomes; figures of the reports that counted: a list of [type, milliseconds since the claim, succeeded, failed attempts,
--            of these for good], one entry for everything that was claimed at the same time; and failures: a list of [type, job id, position,
--            attempt, worker, code, message, when it is due again or null if it failed for good, how many], one entry for the items of a job
--            with the same code, which describes the first of them
-- locks      leases in the order of their ids, then those of lock_fed, then those of promote_next
create or replace function jobtree.report_results(
  p_lease_ids uuid[], p_numbers integer[], p_values json, p_kinds text[] default null, p_wait boolean default true
)
returns table (root_ids uuid[], ready jsonb, answers json, figures json[], failed json[])
language plpgsql volatile
set jit = off
set enable_seqscan = off
set enable_bitmapscan = off
set enable_mergejoin = off
set plan_cache_mode = force_generic_plan
as $$
declare
  v_leases jobtree.reported_lease[];
  v_lease jobtree.reported_lease;
  v_is_fed boolean := false;
  v_is_judged boolean := coalesce('report' = any (p_kinds), false);
  -- What counts, apart from reports on items that are not open.
  v_given jobtree.judged_reports;
  v_keys text[];
  v_done jobtree.ended_attempts;
  v_ended jobtree.ended_attempts;
begin
  if p_numbers = '{}' then
    return next;
    return;
  end if;
  if p_wait then
    perform from jobtree.lease l where l.id = any (p_lease_ids) order by l.id for update;
  end if;
  v_leases := array(
    select row(
      l.id, l.job_id, j.root_id, j.type, l.position, l.open, l.keyed, l.claimed_at, j.feeds_children, j.cancelled_at is not null
    )::jobtree.reported_lease
    from jobtree.lease l
    cross join lateral (select j.root_id, j.type, j.feeds_children, j.cancelled_at from jobtree.job j where j.id = l.job_id offset 0) j
    where l.id = any (case when p_lease_ids[1] = all (p_lease_ids) then p_lease_ids[1:1] else p_lease_ids end)
    order by l.id
    for update of l skip locked
  );
  foreach v_lease in array v_leases loop
    v_is_fed := v_is_fed or v_lease.feeds_children;
  end loop;

  if v_is_fed and (p_kinds is null or p_kinds && '{result,report}') then
    select f.leases, f.keys, v_is_judged or f.is_exacting into v_leases, v_keys, v_is_judged
    from jobtree.lock_fed(v_leases, p_lease_ids, p_numbers, p_values, p_kinds, p_wait) f;
  end if;
  if v_is_judged then
    v_given := jobtree.judge_reports(v_leases, p_lease_ids, p_numbers, p_values, p_kinds);
  else
    v_given.lease_ids := p_lease_ids;
    v_given.numbers := p_numbers;
    v_given.contents := p_values;
    v_given.kinds := p_kinds;
  end if;
  if v_given.kinds is null and v_given.numbers is not null or 'result' = any (v_given.kinds) then
    v_done := jobtree.succeed_attempts(v_leases, v_given.lease_ids, v_given.numbers, v_given.contents, v_given.kinds);
  end if;
  if v_is_fed and v_done.count > 0 then
    v_done.ready := jobtree.add_up(v_done.ready, (
      select jobtree.feed_children(
        array_agg(k.job_id order by u.n), array_agg(k.position + u.number - 1 order by u.n), array_agg(u.new_items order by u.n)
      )
      from unnest(v_given.lease_ids, v_given.numbers, v_given.kinds, v_given.new_items) with ordinality u(lease_id, number, kind, new_items, n)
      join unnest(v_leases) k on k.id = u.lease_id
      where case
        when not k.feeds_children or k.cancelled or u.kind <> 'result' then false
        when u.number > 0 then get_bit(k.open, u.number - 1) = 1
      end
    ));
  end if;
  if 'result' <> any (v_given.kinds) then
    v_ended := (
      select jobtree.fail_attempts(
        array_agg(u.lease_id), array_agg(u.number), array_agg(u.value), false, array_agg(coalesce(v_given.ns[u.n], u.n::integer))
      )
      from rows from (unnest(v_given.lease_ids), unnest(v_given.numbers), json_array_elements(v_given.contents), unnest(v_given.kinds))
        with ordinality u(lease_id, number, value, kind, n)
      where u.kind <> 'result'
    );
    v_done.root_ids := array(select distinct r from unnest(v_done.root_ids || v_ended.root_ids) r);
    v_done.ready := jobtree.add_up(v_done.ready, v_ended.ready);
    answers := (
      select json_agg(json_build_object('index', a.n - 1, 'status', 'ACCEPTED', 'retryAt', a.retry_at))
      from unnest(v_ended.accepted, v_ended.retries) a(n, retry_at)
      where a.retry_at is not null
    );
  end if;
  if v_keys is not null then
    delete from jobtree.serialize_key k where k.key = any (v_keys) and k.job_id is null;
  end if;

  if coalesce(v_done.count, 0) + coalesce(v_ended.count, 0) < cardinality(p_numbers) then
    answers := coalesce(answers::jsonb, '[]') || jobtree.report_answers(
      v_leases, p_lease_ids, p_numbers, p_values, p_kinds,
      case when v_is_judged then coalesce(v_given.ns, '{}') end, v_ended.accepted, v_given.problems
    );
  end if;
  root_ids := v_done.root_ids;
  ready := v_done.ready;
  figures := v_done.figures || v_ended.figures;
  failed := v_ended.failed;
  return next;
end
$$;

-- Puts items back into the queue; neighbours that wait under the same conditions share an entry.
--
-- p_items    the items, which are in no entry, and of which those with serialize keys are heads
-- p_last     whether they go to the end of what is ready, or back to their old place
-- locks      none
create or replace function jobtree.requeue(p_items jobtree.waiting_item[], p_last boolean)
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
      select u.*, u.position - row_number() over (partition by u.job_id, u.attempt, u.priority, u.run_at, u.keyed, u.lost order by u.position) as run,
        jobtree.entry_size(max(u.payload_bytes) over (partition by u.job_id)) as size
      from (
        select u.job_id, u.position, u.attempt, u.priority, u.run_at, coalesce(u.lost, false) as lost, i.payload_bytes,
          i.serialize_key is not null as keyed
        from unnest(p_items) u
        join jobtree.job_item i on i.job_id = u.job_id and i.position = u.position
      ) u
    ) u
    -- Keeps entries small, as insert_items does, however many leases end here.
    group by u.job_id, u.attempt, u.priority, u.run_at, u.keyed, u.lost, u.run, u.position / u.size
  ) r
  join jobtree.job j on j.id = r.job_id
  order by r.position;
end
$$;

-- Does the next batch of an operation: call it until it is finished. Each call continues where the last one stopped. Rows that stay locked
-- for longer than a moment are skipped, and tried again at the end.
--
-- p_limit    the maximum number of dead letters; it also stops after a moment, as it does for pending items
-- p_checked  of a replay with a patch, which items of the batch may have their new payloads: {afterJobId, afterPosition, toJobId?,
--            toPosition?, valid: {job id: [position]}, problem}; to: the last item that was checked. The others are skipped, the first of them
--            because of the problem. Nothing is done if the operation is no longer where they were read. By default all may
-- returns    whether it is finished; whether to continue at once, or after a pause because the rest is locked; the trees that changed; and
--            the types that have ready items, and how many. No row if another transaction is working on it, or there is no such operation
-- locks      the operation's row, skipping it if locked; then, job by job in the order of their ids, those of replay_items or
--            discard_items, waiting a moment for each, or those of run_pending
create or replace function jobtree.run_operation(p_id uuid, p_limit bigint default 1000, p_checked jsonb default null)
returns table (finished boolean, more boolean, root_ids uuid[], ready jsonb)
language plpgsql volatile
-- Other trees wait until this one is done.
set lock_timeout = '100ms'
set plan_cache_mode = force_generic_plan
as $$
declare
  v_until constant timestamptz := clock_timestamp() + interval '100 milliseconds';
  v_operation jobtree.operation;
  v_found bigint := 0;
  v_part record;
  v_positions bigint[];
  v_replayed record;
  v_pending record;
begin
  select * into v_operation from jobtree.operation o where o.id = p_id for update skip locked;
  if not found then
    return;
  end if;
  finished := v_operation.finished_at is not null;
  more := not finished and p_checked is not null and (v_operation.next_job_id, v_operation.next_position)
    <> ((p_checked ->> 'afterJobId')::uuid, (p_checked ->> 'afterPosition')::bigint);
  if finished or more then
    return next;
    return;
  end if;

  if v_operation.kind in ('CANCEL', 'PROMOTE') then
    select * into v_pending from jobtree.run_pending(v_operation, v_until);
    v_operation := v_pending.operation;
    more := v_pending.more;
    root_ids := v_pending.root_ids;
    ready := v_pending.ready;
  end if;
  for v_part in
    select m.job_id, m.root_id, array_agg(m.job_id) as job_ids, array_agg(m.position order by m.position) as positions
    from jobtree.matching_dead_letters(v_operation, p_limit) m
    where v_operation.kind in ('REPLAY', 'DISCARD')
      -- In the place of those that are no dead letters any more, there may be some that nobody has checked.
      and coalesce((m.job_id, m.position) <= ((p_checked ->> 'toJobId')::uuid, (p_checked ->> 'toPosition')::bigint), true)
    group by m.job_id, m.root_id
    order by m.job_id
  loop
    v_found := v_found + cardinality(v_part.positions);
    v_operation.next_job_id := v_part.job_id;
    v_operation.next_position := v_part.positions[cardinality(v_part.positions)];
    begin
      if v_operation.kind = 'DISCARD' then
        v_operation.done := v_operation.done + jobtree.discard_items(v_part.job_ids, v_part.positions);
      else
        v_positions := v_part.positions;
        if p_checked is not null then
          v_positions := array(
            select u from unnest(v_part.positions) u
            intersect select e::bigint from jsonb_array_elements_text(p_checked -> 'valid' -> v_part.job_id::text) e
            order by u
          );
        end if;
        select * into v_replayed from jobtree.replay_items(
          v_part.root_id, v_part.job_ids[:cardinality(v_positions)], v_positions, v_operation.payload, v_operation.payload_patch
        );
        v_operation.skipped := v_operation.skipped + cardinality(v_part.positions) - cardinality(v_positions);
        v_operation.done := v_operation.done + cardinality(v_replayed.positions);
        if cardinality(v_replayed.positions) > 0 then
          root_ids := root_ids || v_part.root_id;
          ready := jobtree.add_up(ready, v_replayed.ready);
        end if;
      end if;
    exception
      when lock_not_available then v_operation.was_busy := true;
      -- The tree has been deleted meanwhile.
      when sqlstate 'JT001' then null;
    end;
    more := clock_timestamp() > v_until;
    exit when more;
  end loop;

  more := more or v_found >= p_limit or coalesce(p_checked ? 'toJobId', false);
  finished := not more and not v_operation.was_busy;
  if not more and v_operation.was_busy then
    v_operation.was_busy := false;
    -- They are looked at once more.
    v_operation.skipped := 0;
    v_operation.next_job_id := '00000000-0000-0000-0000-000000000000';
    v_operation.next_position := -1;
  end if;
  update jobtree.operation o
  set done = v_operation.done, skipped = v_operation.skipped, problem = coalesce(o.problem, p_checked ->> 'problem'),
    was_busy = v_operation.was_busy, next_job_id = v_operation.next_job_id, next_position = v_operation.next_position,
    selected_job_ids = case when not finished then o.selected_job_ids end, finished_at = case when finished then clock_timestamp() end
  where o.id = p_id;
  return next;
end
$$;

-- Does the next batch of an operation that cancels pending items, or makes scheduled ones ready before their time: a number of ranges at a
-- time, in the order of their jobs and positions.
--
-- p_until    when to stop; the step that is in progress then is completed
-- p_limit    at how many ranges a step looks at most
-- returns    the operation's new state; whether to continue at once; the trees that changed; and the types that got ready items, and how many
-- locks      those of cancel_pending or promote_pending
create or replace function jobtree.run_pending(p_operation jobtree.operation, p_until timestamptz, p_limit integer default 1000)
returns table (operation jobtree.operation, more boolean, root_ids uuid[], ready jsonb)
language plpgsql volatile
as $$
declare
  v_window record;
  v_ranges jobtree.pending_range[];
  v_step record;
begin
  operation := p_operation;
  loop
    select * into v_window from jobtree.pending_window(operation, p_limit, case operation.kind when 'CANCEL' then 25600 else 5120 end);
    more := found;
    exit when not more;
    v_ranges := array(select m from jobtree.matching_pending(operation, v_window.last_job_id, v_window.last_position) m);
    operation.next_job_id := v_window.last_job_id;
    operation.next_position := v_window.last_position;
    if v_ranges <> '{}' then
      if operation.kind = 'CANCEL' then
        -- With a filter by statuses, an item that became ready now would no longer have the status by which it was selected: promote_blocked
        -- does it later.
        select * into v_step from jobtree.cancel_pending(v_ranges, operation.statuses is null);
        root_ids := array(select unnest(root_ids) union select unnest(v_step.root_ids));
      else
        select * into v_step from jobtree.promote_pending(v_ranges, operation.requested_at);
      end if;
      operation.done := operation.done + v_step.done;
      operation.was_busy := operation.was_busy or v_step.done < (select sum(bit_count(r.items)) from unnest(v_ranges) r);
      ready := jobtree.add_up(ready, v_step.ready);
    end if;
    exit when clock_timestamp() > p_until;
  end loop;
  return next;
end
$$;

-- Creates a tree of a schedule now, whatever else of it runs, is queued or paused. Its next occurrence does not change.
--
-- returns    the root, and how many items of each type are ready
-- locks      the schedule's row, exclusively, then those of create_job
-- errors     JT001 no such schedule; JT002 create_job rejects the template
create or replace function jobtree.run_schedule(p_name text)
returns table (root_id uuid, ready jsonb)
language plpgsql volatile
set jit = off
set enable_seqscan = off
as $$
declare
  v_schedule jobtree.schedule;
  v_root_id uuid;
  v_now constant timestamptz(3) := clock_timestamp();
begin
  select * into v_schedule from jobtree.schedule s where s.name = p_name for update;
  if not found then
    raise exception 'There is no schedule %.', p_name using errcode = 'JT001', column = 'name';
  end if;
  select c.job_id into v_root_id from jobtree.create_job(v_schedule.template) c;
  update jobtree.job j set schedule_name = p_name, occurrence_at = v_now where j.id = v_root_id;
  update jobtree.schedule s
  set open_root_ids = jobtree.open_roots(s.open_root_ids) || v_root_id, last_root_id = v_root_id, last_occurrence_at = v_now,
    failed_at = null, error = null
  where s.name = p_name;
  root_id := v_root_id;
  ready := jobtree.ready_items(array[v_root_id]);
  return next;
end
$$;

-- Does the next batch of an operation on trees, with the trees that the server has just read: those that meet its conditions after next_job_id.
-- Trees that stay locked for longer than a moment are skipped, and tried again at the end. One that is cancelled or complete already, or is being
-- deleted, is not counted, so a repeated pass counts each tree once.
--
-- p_step     the operation's next_position when they were read: if another server has done a batch since, this one is not done
-- p_root_ids     in the order of their ids
-- p_next_id  where the next batch begins: after this tree; null if there are no more
-- returns    whether it is finished; whether to continue at once, or after a pause because the rest is locked; the trees that changed; and whether
--            some of them have more to cancel or delete. No row if another transaction is working on it, or there is no such operation
-- locks      the operation's row, skipping it if locked; then, tree by tree, its row, shared, the rows of its jobs in the order of their ids and
--            those of cancel_job, or those of delete_job and delete_trees, waiting a moment for each
create or replace function jobtree.run_tree_operation(p_id uuid, p_step bigint, p_root_ids uuid[], p_next_id uuid default null)
returns table (finished boolean, more boolean, root_ids uuid[], unfinished boolean)
language plpgsql volatile
set lock_timeout = '100ms'
set jit = off
set enable_seqscan = off
as $$
declare
  v_until constant timestamptz := clock_timestamp() + interval '100 milliseconds';
  v_operation jobtree.operation;
  v_root_id uuid;
  v_is_left boolean;
begin
  select * into v_operation from jobtree.operation o where o.id = p_id for update skip locked;
  if not found then
    return;
  end if;
  finished := v_operation.finished_at is not null;
  more := not finished;
  unfinished := false;
  if finished or v_operation.next_position <> p_step then
    return next;
    return;
  end if;

  more := p_next_id is not null;
  v_operation.next_job_id := p_next_id;
  foreach v_root_id in array p_root_ids loop
    begin
      if v_operation.kind = 'CANCEL_TREES' then
        perform 1 from jobtree.tree t where t.root_id = v_root_id for share;
        perform 1 from jobtree.job j where j.root_id = v_root_id order by j.id for no key update;
        if exists (
          select from jobtree.job j
          where j.root_id = v_root_id and j.cancelled_at is null
            and (select p.completed_at from jobtree.job_progress p where p.job_id = j.id order by p.version desc limit 1) is null
        ) then
          select cardinality(c.cancelling) > 0 into v_is_left from jobtree.cancel_job(v_root_id, 1000) c;
          unfinished := unfinished or v_is_left;
          root_ids := root_ids || v_root_id;
        end if;
      elsif not exists (select from jobtree.tree t where t.root_id = v_root_id and t.deletion = 'REQUESTED') then
        perform jobtree.delete_job(v_root_id);
        -- What is complete and small is gone at once.
        v_is_left := jobtree.delete_trees(array[v_root_id], 1000) is distinct from true;
        unfinished := unfinished or v_is_left;
        root_ids := root_ids || v_root_id;
      end if;
    exception
      when lock_not_available then v_operation.was_busy := true;
      -- The tree has been deleted meanwhile.
      when sqlstate 'JT001' then null;
    end;
    if clock_timestamp() > v_until and v_root_id <> p_root_ids[cardinality(p_root_ids)] then
      more := true;
      v_operation.next_job_id := v_root_id;
      exit;
    end if;
  end loop;

  finished := not more and not v_operation.was_busy;
  if not more then
    v_operation.was_busy := false;
    v_operation.next_job_id := '00000000-0000-0000-0000-000000000000';
  end if;
  update jobtree.operation o
  set done = o.done + coalesce(cardinality(root_ids), 0), total = greatest(o.total, o.done + coalesce(cardinality(root_ids), 0)),
    was_busy = v_operation.was_busy, next_job_id = v_operation.next_job_id, next_position = p_step + 1,
    finished_at = case when finished then clock_timestamp() end
  where o.id = p_id;
  return next;
end
$$;

-- Declares that a job gets no more items. What open transactions have added still counts, and the job is complete only after they have ended.
-- Sealing a sealed job does nothing.
--
-- locks      the job's row
-- returns    the root of the job's tree
-- errors     JT001 no such job; JT004 the job is fed by its parent, whose completion seals it
create or replace function jobtree.seal_job(p_job_id uuid)
returns uuid
language plpgsql volatile
set jit = off
set enable_seqscan = off
set plan_cache_mode = force_generic_plan
as $$
declare
  v_job jobtree.job;
begin
  select * into v_job from jobtree.job j where j.id = p_job_id for no key update;
  if v_job.id is null then
    raise exception 'There is no job %.', p_job_id using errcode = 'JT001', column = 'jobId';
  end if;
  if v_job.sealed_at is null and v_job.feed is not null then
    raise exception 'Job % is fed by its parent: it is sealed when its parent is complete.', p_job_id
      using errcode = 'JT004', column = 'jobId';
  end if;
  if v_job.sealed_at is null then
    update jobtree.job set sealed_at = clock_timestamp() where id = p_job_id;
    -- An empty delta, which makes the fold examine the job.
    insert into jobtree.progress_delta (root_id, job_id) values (v_job.root_id, v_job.id);
  end if;
  return v_job.root_id;
end
$$;

-- Sends hints to all servers when the transaction commits. Anybody who may connect to the database may notify and listen on any channel, so
-- the names of these channels contain a secret that only the owner can read. Without effect while the queue for notifications is half full,
-- for example because a session that listens has a transaction open: a commit that finds it full fails. Whoever waits for hints also polls.
--
-- p_topic    progress or work
create or replace function jobtree.send_hints(p_topic text, p_payloads text[])
returns void
language sql volatile
as $$
  select pg_notify(s.channel, p)
  from (
    select format('jobtree_%s_%s', p_topic, h.secret) as channel from jobtree.hint_secret h where h.id = 1 and pg_notification_queue_usage() < 0.5
    offset 0
  ) s
  cross join unnest(p_payloads) p
$$;

-- Changes the settings of a type for all servers at once: they apply to claims that begin after the commit. A type without settings has no
-- row and costs its claims nothing.
--
-- p_settings JSON {paused?, concurrency?, rate?: {limit, intervalMs}, lifetimeMs?, priority?, maxFailuresPerItem?, backoffMs?,
--            backoffJitter?, heartbeatIntervalMs?, deadLetterAlert?: {endpoint, count, intervalMs}}: missing settings stay as they are, and
--            null removes one. priority to heartbeatIntervalMs are defaults of new jobs; the alert: raise_alerts
-- locks      the type's row of queue: waits for a claim of the type in progress
-- notifies   send_hints, topic work: there may be work of the type again
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
  v_settings constant jsonb := p_settings::jsonb;
  v_field text;
  v_message text;
  v_old jobtree.queue;
  v_new jobtree.queue;
begin
  select p.field, p.message into v_field, v_message
  from (
    select 'type' as field, 'is missing' as message where p_type is null
    union all
    select p.field, p.message from jobtree.input_problem(jsonb_build_object('type', p_type), array['type']) p
    union all
    select p.field, p.message
    from jobtree.input_problem(v_settings, array[
      'paused', 'concurrency', 'rate', 'lifetimeMs', 'priority', 'maxFailuresPerItem', 'backoffMs', 'backoffJitter', 'heartbeatIntervalMs', 'deadLetterAlert'
    ]) p
    union all
    select concat_ws('.', o.key, nullif(p.field, '')), p.message
    from (values ('rate', array['limit', 'intervalMs']), ('deadLetterAlert', array['endpoint', 'count', 'intervalMs'])) o(key, keys)
    cross join lateral (
      select p.field, p.message from jobtree.input_problem(v_settings -> o.key, o.keys) p
      union all
      select k, 'is missing' from unnest(o.keys) k where v_settings -> o.key ->> k is null
    ) p
    where v_settings -> o.key <> 'null'
    union all
    select 'deadLetterAlert.endpoint', format('is %s, but there is no endpoint of that name', v_settings #>> '{deadLetterAlert,endpoint}')
    where v_settings -> 'deadLetterAlert' <> 'null'
      and not exists (select from jobtree.callback_endpoint e where e.name = v_settings #>> '{deadLetterAlert,endpoint}')
    limit 1
  ) p;
  if v_field is not null then
    raise exception '% %.', coalesce(nullif(v_field, ''), 'The settings'), v_message using errcode = 'JT002', column = v_field;
  end if;

  insert into jobtree.queue as q (type) values (p_type) on conflict (type) do update set paused = q.paused returning q.* into v_old;
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
    heartbeat_interval_ms = case when v_settings ? 'heartbeatIntervalMs' then s."heartbeatIntervalMs" else q.heartbeat_interval_ms end,
    alert_endpoint = case when v_settings ? 'deadLetterAlert' then s."deadLetterAlert" ->> 'endpoint' else q.alert_endpoint end,
    alert_count = case when v_settings ? 'deadLetterAlert' then (s."deadLetterAlert" ->> 'count')::integer else q.alert_count end,
    alert_interval_ms = case when v_settings ? 'deadLetterAlert' then (s."deadLetterAlert" ->> 'intervalMs')::integer else q.alert_interval_ms end
  from jsonb_to_record(v_settings) s(
    paused boolean, concurrency integer, rate jsonb, "lifetimeMs" integer, priority smallint, "maxFailuresPerItem" integer,
    "backoffMs" integer[], "backoffJitter" numeric, "heartbeatIntervalMs" integer, "deadLetterAlert" jsonb
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
    -- The leases of claims that are in progress count once these have ended. Which these are is not known before the commit: lock_queues finds out.
    update jobtree.queue q set limited_by = '18446744073709551615' where q.type = p_type;
  end if;
  if v_new.rate_limit is null then
    delete from jobtree.rate_slice s where s.type = p_type;
  end if;
  delete from jobtree.queue q
  where q.type = p_type and not q.paused and num_nonnulls(
    q.concurrency, q.rate_limit, q.lifetime_ms, q.priority, q.max_failures_per_item, q.backoff_ms, q.backoff_jitter, q.heartbeat_interval_ms,
    q.alert_endpoint
  ) = 0;
  -- An unchanged alert keeps its current spell.
  if (v_old.alert_endpoint, v_old.alert_count, v_old.alert_interval_ms)
      is distinct from (v_new.alert_endpoint, v_new.alert_count, v_new.alert_interval_ms) then
    update jobtree.queue q set alert_spell_at = null, alert_seen_at = null where q.type = p_type;
  end if;
  perform jobtree.wake_workers(p_type, 100);
end
$$;

-- Changes for how long a tree is kept once it is complete, and after how long it is cancelled for being idle. For a complete tree the new
-- retention counts from its completion, so it may be over at once.
--
-- p_settings {retentionSeconds?, idleExpirySeconds?}: whole numbers up to 315,576,000 (ten years), from 0 and from 1, or null for never;
--            what is not there stays as it is
-- locks      those of lock_root
-- errors     those of lock_root; JT002 nothing to be changed, or settings that are none
create or replace function jobtree.set_retention(p_job_id uuid, p_settings jsonb)
returns void
language plpgsql volatile
set jit = off
set enable_seqscan = off
set enable_bitmapscan = off
set enable_hashjoin = off
set enable_mergejoin = off
as $$
declare
  v_problem record;
begin
  select * into v_problem from jobtree.input_problem(p_settings, array['retentionSeconds', 'idleExpirySeconds']) p;
  if v_problem.field is not null then
    raise exception '% %.', coalesce(nullif(v_problem.field, ''), 'The settings'), v_problem.message
      using errcode = 'JT002', column = v_problem.field;
  elsif p_settings = '{}' then
    raise exception 'Nothing is to be changed.' using errcode = 'JT002';
  end if;
  perform jobtree.lock_root(p_job_id);
  update jobtree.tree t
  set retention_seconds = case when p_settings ? 'retentionSeconds' then coalesce((p_settings ->> 'retentionSeconds')::numeric, -1) else t.retention_seconds end,
    idle_expiry_seconds = case when p_settings ? 'idleExpirySeconds' then coalesce((p_settings ->> 'idleExpirySeconds')::numeric, -1) else t.idle_expiry_seconds end
  where t.root_id = p_job_id;
end
$$;

-- Begins to replay or discard dead letters, to cancel pending items, or to make scheduled ones ready before their time: those that meet every
-- condition of the filter. run_operation, called by any server until it is finished, does the work in batches. Items that are added, or fail,
-- later are not affected. One that selects nothing has finished.
--
-- p_kind     REPLAY, DISCARD, CANCEL or PROMOTE
-- p_filter   {jobId?, types?, codes?, dedupeKeys?, items?: [{jobId, position}]}, for dead letters also {groupIds?, diedFrom?, diedUntil?},
--            for pending items {statuses?, addedFrom?, addedUntil?}; at least one of them, and no empty list. A job includes all jobs below it, and codes are
--            those of the last failure. Statuses are those of pending items: WAITING, BLOCKED, SCHEDULED, RETRYING, READY and
--            RUNNING; PROMOTE takes only RETRYING, the default, and SCHEDULED. In addition {tenant?}: only items of types of this tenant, which
--            owns the operation
-- p_payload  the new payload of a replayed item; only with a filter for a single item
-- p_requested_by   who asks for it, for people
-- p_payload_patch  a JSON object that changes the payload of each replayed item (merge_patch), instead of p_payload
-- returns    the operation, and how many items it selects
-- locks      none
-- errors     JT001 no such job; JT002 an empty filter, or another problem with it; 22P02, 22007 or 22008 for a malformed value
create or replace function jobtree.start_operation(
  p_kind text, p_filter jsonb, p_payload json default null, p_requested_by text default null, p_payload_patch json default null
)
returns table (operation_id uuid, total bigint)
language sql volatile
as $$
  insert into jobtree.operation
  select o.* from jobtree.operation_of(p_kind, p_filter, p_payload, p_requested_by, p_payload_patch) o
  returning id, total
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

-- Ends attempts that succeeded: stores their results, and passes on the serialize keys of their items. Most calls report under a single lease,
-- for which a few small statements cost a quarter less than one large one, and half as much for a single item.
--
-- p_leases   the leases that this transaction has locked
-- p_lease_ids, p_numbers, p_values, p_kinds   as report_results takes them. Only results of open items count
-- returns    the trees that changed; the types that got ready items because serialize keys were freed, and how many; how many results
--            counted; and figures as report_results returns them
-- locks      those of promote_next
create or replace function jobtree.succeed_attempts(
  p_leases jobtree.reported_lease[], p_lease_ids uuid[], p_numbers integer[], p_values json, p_kinds text[]
)
returns jobtree.ended_attempts
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
  v_lease jobtree.reported_lease := p_leases[1];
  v_count integer;
  v_bits bit(128);
  v_bytes bigint;
  v_positions bigint[];
  v_ended record;
  v_done jobtree.ended_attempts;
begin
  if v_lease.id = all (p_lease_ids) and not v_lease.cancelled then
    if cardinality(p_numbers) = 1 then
      insert into jobtree.outcome (job_id, position, lease_id, finished_at, result)
      select v_lease.job_id, v_lease.position + p_numbers[1] - 1, v_lease.id, v_now, p_values -> 0
      where case when p_numbers[1] > 0 then get_bit(v_lease.open, p_numbers[1] - 1) = 1 end
      returning 1, jobtree.bit_at(p_numbers[1]), octet_length(result::text), array[position] into v_count, v_bits, v_bytes, v_positions;
    else
      with finished as (
        insert into jobtree.outcome (job_id, position, lease_id, finished_at, result)
        select v_lease.job_id, v_lease.position + u.number - 1, v_lease.id, v_now, u.value
        from rows from (unnest(p_numbers), json_array_elements(p_values), unnest(p_kinds)) u(number, value, kind)
        where case when u.kind <> 'result' then false when u.number > 0 then get_bit(v_lease.open, u.number - 1) = 1 end
        returning outcome.position, octet_length(outcome.result::text) as bytes
      )
      select nullif(count(*), 0), bit_or(jobtree.bit_at((f.position - v_lease.position)::integer + 1)), sum(f.bytes),
        case when v_lease.keyed then array_agg(f.position) end
      into v_count, v_bits, v_bytes, v_positions
      from finished f;
    end if;
    if v_count is null then
      return null;
    end if;
    update jobtree.lease l
    set open = l.open # v_bits, check_at = case when l.open <> v_bits then l.check_at end
    where l.id = v_lease.id;
    insert into jobtree.progress_delta (root_id, job_id, succeeded, bytes)
    values (v_lease.root_id, v_lease.job_id, v_count, v_bytes);
    v_done.root_ids := array[v_lease.root_id];
    v_done.count := v_count;
    v_done.figures := array[json_build_array(v_lease.type, round(extract(epoch from v_now - v_lease.claimed_at) * 1000), v_count, 0, 0)];
    if v_lease.keyed then
      v_done.ready := jobtree.free_keys(array_fill(v_lease.job_id, array[v_count]), v_positions);
    end if;
    return v_done;
  end if;

  with given as materialized (
    select u.number, u.value, k.id as lease_id, k.job_id, k.position + u.number - 1 as position, k.keyed
    from rows from (unnest(p_lease_ids), unnest(p_numbers), json_array_elements(p_values), unnest(p_kinds)) u(lease_id, number, value, kind)
    join unnest(p_leases) k on k.id = u.lease_id
    -- One expression: of more, the planner would expect next to no row, and then compare each report with each lease.
    where case when k.cancelled or u.kind <> 'result' then false when u.number > 0 then get_bit(k.open, u.number - 1) = 1 end
  ), finished as (
    insert into jobtree.outcome (job_id, position, lease_id, finished_at, result)
    select g.job_id, g.position, g.lease_id, v_now, g.value from given g
  ), ended as materialized (
    select g.lease_id, bit_or(jobtree.bit_at(g.number)) as bits, count(*) as count, sum(octet_length(g.value::text)) as bytes
    from given g group by g.lease_id
  ), closed as (
    update jobtree.lease l
    set open = l.open # e.bits, check_at = case when l.open <> e.bits then l.check_at end
    from ended e
    -- An array of one, which no hash join takes: on a small table it would read all leases, and the plan stays when there are many.
    where l.id = any (array[e.lease_id])
  ), counted as (
    insert into jobtree.progress_delta (root_id, job_id, succeeded, bytes)
    select k.root_id, k.job_id, sum(e.count), sum(e.bytes) from ended e join unnest(p_leases) k on k.id = e.lease_id group by k.root_id, k.job_id
    returning progress_delta.root_id
  )
  select (select array_agg(distinct c.root_id) from counted c) as root_ids, count(*) as count,
    array_agg(g.job_id) filter (where g.keyed) as job_ids, array_agg(g.position) filter (where g.keyed) as positions,
    (
      select array_agg(t.figure)
      from (
        select json_build_array(k.type, round(extract(epoch from v_now - k.claimed_at) * 1000), sum(e.count), 0, 0) as figure
        from ended e join unnest(p_leases) k on k.id = e.lease_id
        group by k.type, k.claimed_at
      ) t
    ) as figures
  into v_ended
  from given g;
  v_done.root_ids := v_ended.root_ids;
  v_done.count := v_ended.count;
  v_done.figures := v_ended.figures;
  if v_ended.job_ids is not null then
    v_done.ready := jobtree.free_keys(v_ended.job_ids, v_ended.positions);
  end if;
  return v_done;
end
$$;

-- Takes items back from workers that have fallen silent: in leases past their deadline, the attempts at items whose own deadline is
-- over fail with the code HEARTBEAT_LOST. Items that their worker had not started, as far as it told, are given back instead, which costs
-- no attempt. It may have started one just before it fell silent, without telling; so the next worker tells before it starts them. Call it
-- again at once as long as a batch was full.
--
-- Heartbeats change no index: a lease that got some is found at its first deadline, too, and then moves on to its present one.
--
-- p_resumed_at   what noteSweep returned: nothing is taken back until a full lease time after it
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
  v_waiting uuid[];
  v_given_back json;
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
    return query select 0, 0, null::uuid[], null::jsonb, null::json, null::json[], null::json[];
    return;
  end if;

  with due as materialized (
    select l.id, n, coalesce(l.deadlines[n], l.heartbeat_at + 3 * j.heartbeat_interval_ms * interval '1 millisecond') as deadline,
      coalesce(get_bit(l.waiting, n - 1) = 1, false) as waits
    from jobtree.lease l
    cross join lateral (select j.heartbeat_interval_ms from jobtree.job j where j.id = l.job_id offset 0) j
    cross join lateral generate_series(1, l.count) n
    where l.id = any (v_leases) and get_bit(l.open, n - 1) = 1
  ), moved as (
    update jobtree.lease l set check_at = d.next
    from (select d.id, min(d.deadline) as next from due d where d.deadline > v_now group by d.id) d
    where l.id = d.id
  )
  select array_agg(d.id order by d.id, d.n) filter (where not d.waits), array_agg(d.n order by d.id, d.n) filter (where not d.waits),
    array_agg(jobtree.assignment_id(d.id, d.n)) filter (where d.waits)
  into v_lost_leases, v_numbers, v_waiting
  from due d
  where d.deadline <= v_now;
  if v_waiting is not null then
    select json_agg(json_build_array(b.type, b.priority, b.place, b.count)) into v_given_back
    from (
      select r.type, r.priority, min(r.place) as place, count(*) as count
      from jobtree.release_assignments(v_waiting, true) r
      where r.status = 'RELEASED'
      group by r.type, r.priority
    ) b;
  end if;

  -- No item is lost if all leases have moved on, or the silent items were reported meanwhile.
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

-- Takes pending items out of their queue entries, and puts back the rest of these. What is locked stays, and what has changed since it was
-- selected: any change removes items from an entry, or puts them back with another attempt number or at another time.
--
-- p_ranges   the items (matching_pending); those that are in no entry are passed by
-- p_scheduled_by   null for any; or only of entries that wait for a time, and have been put there until then
-- returns    the entries as they were, and a bit for each item that was taken
-- locks      queue entries, skipping locked ones
create or replace function jobtree.take_entries(p_ranges jobtree.pending_range[], p_scheduled_by timestamptz default null)
returns table (entries jobtree.queue_entry[], taken bit(128)[])
language plpgsql volatile
set jit = off
set enable_seqscan = off
set enable_bitmapscan = off
set enable_hashjoin = off
set enable_mergejoin = off
set plan_cache_mode = force_generic_plan
as $$
declare
  v_tids tid[];
begin
  select array_agg(w.tid), array_agg(w.entry), array_agg(w.items) into v_tids, entries, taken
  from (
    select q.ctid as tid, q as entry, r.items
    from unnest(p_ranges) r
    join jobtree.queue_entry q on q.job_id = r.job_id and q.position = r.position
    where r.lease_id is null and not r.blocked and q.count = r.count and q.attempt = r.attempt
      -- Written as in no partial index: only the primary key finds a row with one probe.
      and (p_scheduled_by is null or q.ready_at <= p_scheduled_by and coalesce(q.run_at < 'infinity', false))
    order by q.job_id, q.position
    for update of q skip locked
  ) w;
  delete from jobtree.queue_entry q where q.ctid = any (v_tids);
  perform jobtree.put_back_rest(entries, taken);
  return next;
end
$$;

-- Tells servers the new states of jobs, times in milliseconds: {root, openJobs, jobs}, up to 22 jobs a message, so that it stays below the
-- 8,000 bytes of NOTIFY. openJobs is 0 only in the last message: jobs whose completion is in a later message count as open.
--
-- p_rows     the states, of one or several trees, including that of each root
-- notifies   send_hints, topic progress
create or replace function jobtree.tell_progress(p_rows jobtree.job_progress[])
returns void
language plpgsql volatile
set jit = off
set enable_seqscan = off
set enable_hashjoin = off
set enable_mergejoin = off
set plan_cache_mode = force_generic_plan
as $$
begin
  -- Of json, which takes a fraction of the time of jsonb.
  perform jobtree.send_hints('progress', array(
    select to_json(m)::text
    from (
      select p.root_id as root, max(p.tree_open_jobs) + coalesce(
        sum(count(p.completed_at)) over (partition by p.root_id order by p.page rows between 1 following and unbounded following), 0
      ) as "openJobs", json_agg(p.state) as jobs
      from (
        select j.root_id, r.completed_at, s as state, max(r.open_jobs) over (partition by j.root_id) as tree_open_jobs,
          (row_number() over (partition by j.root_id order by r.job_id) - 1) / 22 as page
        from unnest(p_rows) r
        join jobtree.job j on j.id = r.job_id
        cross join lateral (
          select r.job_id as "jobId", r.generation, r.item_count as "itemCount", r.succeeded, r.failed, r.cancelled,
            r.sealed, floor(extract(epoch from r.started_at) * 1000) as "startedAt",
            floor(extract(epoch from r.completed_at) * 1000) as "completedAt", r.outcome, j.cancel_reason as "cancelReason", r.completions
        ) s
      ) p
      group by p.root_id, p.page
      order by p.root_id, p.page
    ) m
  ));
end
$$;

-- The prefix of all names of the tenant that a name belongs to: `acme//` for `acme//mail`. An empty text for a name without a tenant.
create or replace function jobtree.tenant_beginning(p_name text)
returns text
language sql immutable parallel safe
as $$
  select case when strpos(p_name, '//') between 2 and 41 then coalesce(substring(p_name from '^[a-z0-9-]{1,40}//'), '') else '' end
$$;

-- The tenant that a name belongs to; an empty text for a name without a tenant.
create or replace function jobtree.tenant_of(p_name text)
returns text
language sql immutable parallel safe
as $$
  select rtrim(jobtree.tenant_beginning(p_name), '/')
$$;

-- Stores which traces new items belong to, as their caller says.
--
-- p_positions  the items, in the order in which they were given; null where none was added
-- p_traces     JSON array of {traceparent, tracestate?, from?, count?}: a W3C trace context, and the items that belong to it, as the first
--              one (from 0) and a number; all by default. No item belongs to two
-- errors       JT002 an invalid trace context
create or replace function jobtree.trace_items(p_job_id uuid, p_positions bigint[], p_traces json)
returns void
language plpgsql volatile
set plan_cache_mode = force_generic_plan
as $$
begin
  if json_typeof(p_traces) <> 'array' then
    raise exception 'traceContext must be a list.' using errcode = 'JT002', column = 'traceContext';
  end if;
  perform jobtree.check_trace_context(e.value) from json_array_elements(p_traces) e(value);
  insert into jobtree.trace_context (job_id, position, count, traceparent, tracestate)
  select p_job_id, min(p.position), max(p.position) - min(p.position) + 1, t.traceparent, t.tracestate
  from (
    select e.n, e.value ->> 'traceparent' as traceparent, e.value ->> 'tracestate' as tracestate,
      coalesce((e.value ->> 'from')::integer, 0) as skipped, coalesce((e.value ->> 'count')::integer, cardinality(p_positions)) as count
    from json_array_elements(p_traces) with ordinality e(value, n)
  ) t
  cross join lateral (
    select p_positions[k] as position from generate_series(t.skipped + 1, least(t.skipped + t.count, cardinality(p_positions))) k
  ) p
  where p.position is not null
  -- Within a block of positions, the new items of a call are adjacent.
  group by t.n, t.traceparent, t.tracestate, p.position / 1024;
end
$$;

-- The jobs of a new tree. In the order of their paths, which is that of the document, parents come before their children.
--
-- p_tree     as create_job takes it; no more than one level below the deepest that create_job accepts is read
-- returns    for each job where it stands, the place of each ancestor and of itself among its siblings, from 1; and what is given for it
create or replace function jobtree.tree_nodes(p_tree json)
returns table (path integer[], spec json)
language sql immutable
as $$
  with recursive node as (
    select array[]::integer[] as path, p_tree as spec
    union all
    select n.path || c.ordinality::integer, c.value
    from node n
    cross join lateral json_array_elements(
      case json_typeof(n.spec -> 'children') when 'array' then n.spec -> 'children' end
    ) with ordinality c
    where cardinality(n.path) <= 32
  )
  select n.path, n.spec from node n
$$;

-- Locks serialize keys as lock_keys does, but without waiting for those that are locked. Nobody can know of a key that an open transaction has
-- just created whether that will commit: after 100 ms these are left, too.
--
-- p_keys     keys; duplicates are allowed
-- returns    those that are locked
-- locks      the keys' rows
create or replace function jobtree.try_lock_keys(p_keys text[])
returns text[]
language plpgsql volatile
set jit = off
set enable_seqscan = off
set plan_cache_mode = force_generic_plan
set lock_timeout = '20ms'
as $$
declare
  v_until constant timestamptz := clock_timestamp() + interval '100 milliseconds';
  v_locked text[] := array(select k.key from jobtree.serialize_key k where k.key = any (p_keys) order by k.key for update skip locked);
  v_absent constant text[] := array(
    select distinct u collate "C" from unnest(p_keys) u
    where not exists (select from jobtree.serialize_key k where k.key = u collate "C")
    order by 1
  );
  v_made text[];
begin
  -- All of them at once; and if that takes too long one by one, for a moment, to get those that no other transaction is creating.
  for n in 0 .. cardinality(v_absent) loop
    exit when v_absent = '{}' or n > 0 and clock_timestamp() > v_until;
    begin
      with made as (
        insert into jobtree.serialize_key as k (key) select u from unnest(case n when 0 then v_absent else v_absent[n:n] end) u
        on conflict (key) do nothing
        returning k.key
      )
      select array_agg(m.key) into v_made from made m;
      v_locked := v_locked || v_made;
      exit when n = 0;
    exception when lock_not_available then null;
    end;
  end loop;
  return v_locked;
end
$$;

-- Rejects a template from which create_job can't create a tree, or can create only one. It creates the tree and undoes it, so it rejects
-- everything that create_job rejects.
--
-- p_template what create_job takes
-- p_path     what is before "template" in the names of fields
-- errors     JT002, with the field, behind "template", in the error's column
create or replace function jobtree.try_template(p_template json, p_path text)
returns void
language plpgsql volatile
set jit = off
set enable_seqscan = off
as $$
declare
  v_tree record;
  v_message text;
  v_field text;
begin
  select * into v_tree from jobtree.create_job(p_template);
  if not v_tree.created or exists (select from jobtree.job j where j.root_id = v_tree.job_id and j.dedupe_key is not null) then
    raise exception 'dedupeKey can''t be set: every occurrence would get the first tree again.' using errcode = 'JT002', column = 'dedupeKey';
  end if;
  if exists (select from jobtree.file_import f join jobtree.job j on j.id = f.job_id where j.root_id = v_tree.job_id) then
    raise exception 'file can''t be set: the upload would be gone by the second occurrence.' using errcode = 'JT002', column = 'file';
  end if;
  raise exception 'It can be made.' using errcode = 'JT000';
exception when others then
  if sqlstate = 'JT000' then
    return;
  elsif sqlstate not like 'JT%' then
    raise;
  end if;
  get stacked diagnostics v_message = message_text, v_field = column_name;
  raise exception '%template: %', p_path, v_message using errcode = 'JT002', column = rtrim(p_path || 'template.' || v_field, '.');
end
$$;

-- How many items of a type workers hold by leases from before its limit, which adopt_leases has not had count yet: somebody had locked them.
--
-- locks      none
create or replace function jobtree.uncounted_items(p_type text)
returns bigint
language sql stable
set jit = off
set enable_seqscan = off
set enable_bitmapscan = off
set enable_hashjoin = off
set enable_mergejoin = off
as $$
  select coalesce(sum(bit_count(l.open)), 0)::bigint from jobtree.lease l
  cross join lateral (select from jobtree.job j where j.id = l.job_id and j.type = p_type offset 0) j
  where l.check_at is not null and l.limited_type is null
$$;

-- Finds deltas that no server folds: they come from a server that died, from SQL, or from a long transaction. Workers may not have been
-- told of their items either.
--
-- p_from     the delta to read from: a low-water mark that skips the dead rows of deltas folded before; 0 now and then, for those that
--            committed late
-- p_seen     the newest delta of the previous look; null for the first look
-- returns    the trees that have deltas which were there at the previous look (in the first one: any); the types of their items, and how
--            many; the first and the last delta that was read; how many were read, after which a call from the last one on continues the
--            look if that was p_limit; and the newest delta there is
-- locks      none
create or replace function jobtree.unfolded_trees(p_from bigint default 0, p_seen bigint default null, p_limit integer default 1000)
returns table (root_ids uuid[], ready jsonb, first_delta bigint, last_delta bigint, deltas integer, newest bigint)
language sql stable
set jit = off
set enable_seqscan = off
set enable_hashjoin = off
set enable_mergejoin = off
as $$
  with found as materialized (
    select d.id, d.root_id, d.job_id, d.items from jobtree.progress_delta d where d.id >= p_from order by d.id limit p_limit
  )
  select (select array_agg(distinct f.root_id) from found f where f.id <= coalesce(p_seen, f.id)),
    (
      select jsonb_object_agg(t.type, t.items)
      from (select j.type, sum(f.items) as items from found f join jobtree.job j on j.id = f.job_id group by j.type having sum(f.items) > 0) t
    ),
    (select min(f.id) from found f), (select max(f.id) from found f), (select count(*)::integer from found f),
    (select max(d.id) from jobtree.progress_delta d where d.id >= p_from)
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
  -- The type rejects what Postgres can't store.
  v_changes constant jsonb := p_changes;
  v_problem record;
  v_entry jobtree.queue_entry;
  v_is_blocked boolean;
  v_job record;
  v_status text;
  v_item record;
begin
  if json_typeof(p_changes) = 'object' and jobtree.is_too_deep((p_changes -> 'payload')::text) then
    raise exception 'payload is nested more than 256 levels deep.' using errcode = 'JT002', column = 'payload';
  end if;
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
    insert into jobtree.progress_delta (root_id, job_id, bytes)
    select v_job.root_id, p_job_id, octet_length((p_changes -> 'payload')::text) - i.payload_bytes from jobtree.job_item i
    where i.job_id = p_job_id and i.position = p_position;
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

-- What is wrong with a value that a caller sent.
--
-- p_key      its key; with [] behind it for each value of a list; alert.intervalMs for that of an alert, intervalMs for that of a rate
-- p_value    the value; null only in a list
-- returns    what is to be said of it: what it is, and what it must be; null if it is fine
create or replace function jobtree.value_problem(p_key text, p_value jsonb)
returns text
language plpgsql stable
as $$
declare
  v_type constant text := jsonb_typeof(p_value);
  v_number constant numeric := case jsonb_typeof(p_value) when 'number' then p_value::numeric end;
  v_is_whole constant boolean := p_key not in ('backoffJitter', 'toleratedFailurePercentage');
  v_longest constant integer := case
    when p_key in ('type', 'name', 'endpoint', 'code', 'after[]') then 200
    when p_key = 'dedupeKey' then 500
    when p_key = 'serializeKey' then 255
    when p_key = 'message' then 10000
    when p_key = 'stack' then 4096
  end;
  v_length integer;
  v_range numrange;
  v_rule text;
begin
  if v_longest is not null and v_type = 'string' then
    v_length := length(p_value #>> '{}');
    if p_key in ('type', 'name', 'endpoint', 'after[]', 'serializeKey') then
      v_length := v_length - length(jobtree.tenant_beginning(p_value #>> '{}'));
    end if;
    return case
      when v_length = 0 and p_key not in ('message', 'stack') then 'is empty'
      when v_length > v_longest then format('has %s characters; the limit is %s', v_length, v_longest)
    end;
  end if;
  if p_key in ('after', 'backoffMs') and v_type = 'array' then
    return case when jsonb_array_length(p_value) > 100 then format('has %s entries; the limit is 100', jsonb_array_length(p_value)) end;
  end if;

  v_range := case p_key
    when 'priority' then numrange '[-32768,32767]'
    when 'maxFailuresPerItem' then numrange '[0,1000]'
    when 'backoffMs[]' then numrange '[0,2147483647]'
    when 'backoffJitter' then numrange '[0,1]'
    when 'heartbeatIntervalMs' then numrange '[1000,86400000]'
    when 'toleratedFailureCount' then numrange '[0,2147483647]'
    when 'toleratedFailurePercentage' then numrange '[0,100]'
    when 'retentionSeconds' then numrange '[0,315576000]'
    when 'idleExpirySeconds' then numrange '[1,315576000]'
    when 'concurrency' then numrange '[1,1000000]'
    when 'limit' then numrange '[1,1000000]'
    when 'count' then numrange '[1,10000]'
    when 'intervalMs' then numrange '[1,86400000]'
    when 'alert.intervalMs' then numrange '[1000,86400000]'
    when 'lifetimeMs' then numrange '[1,2147483647]'
    when 'retryAfterMs' then numrange '[0,2147483647]'
    when 'snoozeMs' then numrange '[1000,2147483647]'
  end;
  v_rule := case
    when v_longest is not null then format('a text of %s %s characters', case when p_key in ('message', 'stack') then 'at most' else '1 to' end, v_longest)
    when v_range is not null then
      case when (v_number <@ v_range and (v_number = trunc(v_number) or not v_is_whole)) is not true then format(
        'a %s from %s to %s%s', case when v_is_whole then 'whole number' else 'number' end, lower(v_range), upper(v_range),
        case when p_key in ('retentionSeconds', 'idleExpirySeconds') then ', or null for never' end
      ) end
    when p_key in ('items', 'children', 'newItems', 'callbacks', 'after', 'backoffMs') and v_type <> 'array' then 'a list'
    when p_key in ('sealed', 'finalStage', 'permanent', 'paused') and v_type <> 'boolean' then 'true or false'
    when p_key = 'serializeOnFailure' and p_value not in ('"CONTINUE"', '"BLOCK"') then 'CONTINUE or BLOCK'
    when p_key = 'runAt' and (v_type <> 'string' or not jobtree.is_instant(p_value #>> '{}')) then 'an instant from 1970 to the end of the year 9999'
    when p_key = 'file' and (jsonb_typeof(p_value #> '{source,uploadId}') is distinct from 'string' or jsonb_typeof(p_value -> 'format') is distinct from 'string')
      then '{source: {uploadId}, format, encoding?, delimiter?, quote?, header?}'
    when p_key = 'feed' and not jobtree.is_feed(p_value)
      then '{source?: SUCCESSES | REPORTS, forEach?, payload?, serializeKey?} of paths; with REPORTS it has no paths'
  end;
  return case when v_rule is not null then
    format('is %s; it must be %s', left(p_value::text, 80) || case when length(p_value::text) > 80 then '…' else '' end, v_rule)
  end;
end
$$;

-- Waits until no other transaction has locked a queue entry, but not beyond p_until. The other transaction has split it, claimed all of it,
-- or rolled back: look again.
--
-- returns    false if the time was over first
-- locks      the queue entry
create or replace function jobtree.wait_for_entry(p_tid tid, p_until timestamptz)
returns boolean
language plpgsql volatile
-- So that the previous value is restored at the end, whatever is set inside.
set lock_timeout = 0
set plan_cache_mode = force_generic_plan
as $$
declare
  v_ms constant integer := extract(epoch from p_until - clock_timestamp()) * 1000;
begin
  if v_ms < 1 then
    return false;
  end if;
  perform set_config('lock_timeout', v_ms::text, true);
  perform from jobtree.queue_entry q where q.ctid = p_tid for update;
  return true;
exception when lock_not_available then
  return false;
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

-- Wakes idle workers on all servers when the transaction commits, for callers of SQL that add items and don't want to wait for the sweep. A
-- hint that is never necessary. Postgres commits notifying transactions one at a time, so don't call this with hundreds of transactions a
-- second.
--
-- p_type     the type of the items
-- p_items    how many were added: as many workers are woken at first
create or replace function jobtree.wake_workers(p_type text, p_items integer default 1)
returns void
language sql volatile
as $$
  select jobtree.send_hints('work', array[
    json_build_object('id', gen_random_uuid(), 'types', json_build_array(json_build_array(p_type, p_items)))::text
  ]);
$$;

-- A report as report_outcomes takes it, without the assignment. Plain SQL, so that the planner inlines it.
create or replace function jobtree.whole_report(p_value json, p_kind text) returns json
language sql stable
as $$
  select case p_kind
    when 'report' then p_value
    when 'snooze' then p_value
    when 'failure' then json_build_object('failure', p_value)
    else json_build_object('result', p_value)
  end
$$;

-- The outcome of a tree whose jobs have these outcomes; null if none is complete. An expression, so that the planner inlines it.
create or replace function jobtree.worst_outcome(p_outcomes text[])
returns text
language sql immutable parallel safe
as $$
  select case
    when 'FAILED' = any (p_outcomes) then 'FAILED'
    when 'CANCELLED' = any (p_outcomes) then 'CANCELLED'
    when 'PARTIAL' = any (p_outcomes) then 'PARTIAL'
    when 'SUCCEEDED' = any (p_outcomes) then 'SUCCEEDED'
  end
$$;

-- What stands on functions.
create trigger "lease_places" after update of "open" on "jobtree"."lease" for each row
  when (old.limited_type is not null and new.open <> old.open) execute function jobtree.give_back_places();

-- For pages of the items of a job that have some statuses, however many others come first. No claim has its condition, so the planner never
-- uses it for claims.
create index "queue_entry_status" on "jobtree"."queue_entry"
  ((jobtree.status_of_item(null, null, false, false, "run_at", "attempt")), "job_id", "position");

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
