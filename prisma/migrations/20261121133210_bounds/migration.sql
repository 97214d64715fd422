drop routine jobtree.claim_items(text[],text[],integer[],text[],smallint[],bigint[]);
drop routine jobtree.hold_entries(tid[],text[]);
drop routine jobtree.sweep(timestamp with time zone,integer);

-- The length of each payload as text, measured once: an answer that has many of them is bounded in bytes.
alter table "jobtree"."job_item" add column "payload_bytes" integer;
update "jobtree"."job_item" set "payload_bytes" = coalesce(octet_length("payload"::text), 4);
alter table "jobtree"."job_item"
  alter column "payload_bytes" set not null,
  add constraint "job_item_run_at_check" check ("run_at" between '1970-01-01 00:00:00Z' and '9999-12-31 23:59:59.999Z');

alter table "jobtree"."queue_entry" add column "payload_bytes" integer;
update "jobtree"."queue_entry" q set "payload_bytes" = i."payload_bytes" from "jobtree"."job_item" i where i."id" = q."item_id";
alter table "jobtree"."queue_entry" alter column "payload_bytes" set not null;

-- Cancelled, and not known to be complete: what the sweep sees to.
alter table "jobtree"."job"
  add column "cancelling" boolean not null default false,
  drop constraint "job_backoff_ms_check",
  add constraint "job_backoff_ms_check" check (0 <= all ("backoff_ms") and array_position("backoff_ms", null) is null and cardinality("backoff_ms") <= 100 and array_ndims("backoff_ms") = 1),
  add constraint "job_run_at_check" check ("run_at" between '1970-01-01 00:00:00Z' and '9999-12-31 23:59:59.999Z');
update "jobtree"."job" j set "cancelling" = true
from "jobtree"."job_progress" p
where p."job_id" = j."id" and j."cancelled_at" is not null and p."completed_at" is null;
create index "job_cancelling" on "jobtree"."job" ("id") where "cancelling";

-- How far a job is says itself which of two states is newer.
alter table "jobtree"."job_progress" drop column "revision";

set local check_function_bodies = off;

-- Adds items to a job that is not sealed, and with p_seal seals it in the same transaction.
--
-- p_items    as insert_items has it
-- returns    the tree's root, the job's type and priority, and what insert_items returns
-- locks      the job's row: shared, so that adders run side by side while seal_job and cancel_job wait for them;
--            exclusively where it will be sealed, because two that held it shared would then wait for each other
-- errors     JT001 no such job, JT002 items that are none (check_items; 22003, 22007, 22008, 22P02 or 23514 for a value out of
--            bounds), JT003 the job is sealed (or cancelled), JT004 p_seal on a job that its parent seals
create or replace function jobtree.add_items(p_job_id uuid, p_items jsonb, p_seal boolean default false)
returns table (root_id uuid, type text, priority smallint, item_ids uuid[], added boolean[])
language plpgsql volatile
set plan_cache_mode = force_generic_plan
as $$
declare
  v_job jobtree.job;
begin
  perform jobtree.check_items(p_items, 'items');
  if p_seal then
    select * into v_job from jobtree.job j where j.id = p_job_id for no key update;
  else
    select * into v_job from jobtree.job j where j.id = p_job_id for share;
  end if;
  if v_job.id is null then
    raise exception 'There is no job %.', p_job_id using errcode = 'JT001', column = 'jobId';
  end if;
  if v_job.sealed_at is not null then
    raise exception 'Job % is sealed: it takes no more items.', p_job_id using errcode = 'JT003', column = 'jobId';
  end if;

  return query select v_job.root_id, v_job.type, v_job.priority, i.* from jobtree.insert_items(v_job, p_items) i;

  if p_seal then
    perform jobtree.seal_job(p_job_id);
  end if;
end
$$;

-- The id of an assignment, from its claim's id and its number there: so a claim that is repeated finds what it got. It
-- begins as the claim's id does and goes up with the number; the rest is from a hash over the whole of the claim's id, so
-- that nobody can guess it from another. Plain SQL, so that the planner inlines it; random bytes would cost more.
--
-- p_claim_id a UUID of version 7
-- p_number   from 1; after 4095 the order begins again
create or replace function jobtree.assignment_id(p_claim_id uuid, p_number bigint) returns uuid
language sql immutable parallel safe
as $$
  select encode(
    substr(uuid_send(p_claim_id), 1, 8) || int2send((x'a000'::integer - 65536 + (p_number & 4095))::smallint)
      || substr(sha256(uuid_send(p_claim_id) || int8send(p_number)), 1, 6),
    'hex'
  )::uuid
$$;

-- Cancels pending items of one cancelled job, up to p_limit of them, from a position on: waiting ones leave the queue,
-- holds end (their workers learn it from the next heartbeat). Repeat until a whole pass finds nothing pending: an item
-- may change hands while this looks at it.
--
-- returns    how many were cancelled, how many were pending but out of reach, and the position to go on from: null
--            at the job's end
-- locks      assignments, then queue entries, each in the order of their ids (two servers may cancel one job), then items
create or replace function jobtree.cancel_items(p_job_id uuid, p_from bigint default 0, p_limit integer default 1000)
returns table (cancelled integer, missed integer, next_from bigint)
language plpgsql volatile
set enable_seqscan = off
as $$
declare
  v_now constant timestamptz := clock_timestamp();
  v_items uuid[];
  v_last bigint;
  v_held uuid[];
  v_waiting uuid[];
  v_pending integer;
  v_cancelled uuid[];
begin
  if not exists (select from jobtree.job j where j.id = p_job_id and j.cancelled_at is not null) then
    return query select 0, 0, null::bigint;
    return;
  end if;

  select array_agg(i.id), max(i.position) into v_items, v_last
  from (
    select i.id, i.position from jobtree.job_item i
    where i.job_id = p_job_id and i.position >= p_from
    order by i.position
    limit p_limit
  ) i;

  -- What is locked here, and no more: who claims between two of these statements has the next pass.
  select array_agg(l.id) into v_held
  from (
    select a.id from jobtree.assignment a
    where a.held_item_id = any (v_items) and a.finished_at is null
    order by a.id
    for update
  ) l;
  select array_agg(l.item_id) into v_waiting
  from (select q.item_id from jobtree.queue_entry q where q.item_id = any (v_items) order by q.item_id for update) l;
  with pending as materialized (
    select i.id from jobtree.job_item i
    left join jobtree.assignment a on a.held_item_id = i.id
    where i.id = any (v_items) and i.failed_at is null and i.cancelled_at is null and a.finished_at is null
  ), dropped as (
    delete from jobtree.queue_entry q where q.item_id = any (v_waiting) returning q.item_id
  ), ended as (
    update jobtree.assignment a set finished_at = v_now, outcome = 'cancelled'
    where a.id = any (v_held) and a.finished_at is null
    returning a.item_id
  )
  select
    (select count(*) from pending),
    (select array_agg(c.item_id) from (select d.item_id from dropped d union select e.item_id from ended e) c)
  into v_pending, v_cancelled;

  update jobtree.job_item i set cancelled_at = v_now where i.id = any (v_cancelled);
  insert into jobtree.progress_delta (root_id, job_id, cancelled)
  select j.root_id, j.id, cardinality(v_cancelled) from jobtree.job j where j.id = p_job_id and v_cancelled is not null;

  return query select
    coalesce(cardinality(v_cancelled), 0),
    v_pending - coalesce(cardinality(v_cancelled), 0),
    case when cardinality(v_items) = p_limit then v_last + 1 end;
end
$$;

-- Cancels a job and all below it. This marks the jobs, which then take no items; cancel_items does the rest, and if nobody
-- calls it to the end, the sweep sees to it. Cancelling twice does nothing.
--
-- returns    the tree's root and the jobs of the subtree
-- locks      the jobs' rows in the order of their ids: waits for who adds or feeds
-- errors     JT001 no such job
create or replace function jobtree.cancel_job(p_job_id uuid)
returns table (root_id uuid, job_ids uuid[])
language plpgsql volatile
as $$
#variable_conflict use_column
declare
  v_jobs uuid[];
  v_root uuid;
begin
  with recursive subtree as (
    select j.id from jobtree.job j where j.id = p_job_id
    union all
    select c.id from jobtree.job c join subtree s on c.parent_id = s.id
  )
  select array_agg(s.id) into v_jobs from subtree s;
  if v_jobs is null then
    raise exception 'There is no job %.', p_job_id using errcode = 'JT001', column = 'jobId';
  end if;
  select j.root_id into v_root from jobtree.job j where j.id = p_job_id;

  perform 1 from jobtree.job j where j.id = any (v_jobs) order by j.id for no key update;
  update jobtree.job j
  set cancelled_at = clock_timestamp(), cancelling = true, sealed_at = coalesce(j.sealed_at, clock_timestamp())
  where j.id = any (v_jobs) and j.cancelled_at is null
    and not exists (select from jobtree.job_progress p where p.job_id = j.id and p.completed_at is not null);
  -- Only for jobs that are still there: this may have waited for delete_tree.
  insert into jobtree.progress_delta (root_id, job_id)
  select j.root_id, j.id from jobtree.job j where j.id = any (v_jobs);
  return query select v_root, v_jobs;
end
$$;

-- Refuses new items that are not what insert_items takes. Each gets a first look that costs next to nothing; what it
-- does not tell, priorities and instants and how long a key is, is for the casts and the table's checks.
--
-- p_items    as insert_items has it
-- p_field    what the list is called in the error: items
-- errors     JT002, with the field in the error's column
create or replace function jobtree.check_items(p_items jsonb, p_field text)
returns void
language plpgsql stable
set plan_cache_mode = force_generic_plan
as $$
declare
  v_problem record;
begin
  if jsonb_typeof(p_items) is distinct from 'array' then
    raise exception '% must be a list.', p_field using errcode = 'JT002', column = p_field;
  end if;
  for v_problem in
    select format('%s[%s]', p_field, e.n - 1) || coalesce('.' || nullif(p.field, ''), '') as field, p.message
    from jsonb_array_elements(p_items) with ordinality e(value, n)
    cross join lateral jobtree.input_problem(e.value, '{payload,dedupeKey,priority,runAt}') p
    where case
      when jsonb_typeof(e.value) <> 'object' then true
      when e.value - 'payload' = '{}' then false
      else e.value - '{payload,dedupeKey,priority,runAt}'::text[] <> '{}'
        or jsonb_typeof(e.value -> 'dedupeKey') <> 'string'
    end
    limit 1
  loop
    raise exception '% %.', v_problem.field, v_problem.message using errcode = 'JT002', column = v_problem.field;
  end loop;
end
$$;

-- Refuses a job of a tree that is not what create_job takes; its children are checked on their own.
--
-- p_job      as create_job has it
-- p_path     where it stands: the place of each ancestor and of itself among its siblings, from 1
-- errors     JT002, with the field in the error's column
create or replace function jobtree.check_job(p_job jsonb, p_path integer[])
returns void
language plpgsql stable
as $$
declare
  v_at constant text := (select coalesce(string_agg(format('children[%s].', n - 1), '' order by o), '') from unnest(p_path) with ordinality p(n, o));
  v_field text;
  v_message text;
begin
  select p.field, p.message into v_field, v_message
  from jobtree.input_problem(p_job, array[
    'type', 'dedupeKey', 'priority', 'runAt', 'maxFailuresPerItem', 'backoffMs', 'backoffJitter', 'heartbeatIntervalMs',
    'finalStage', 'sealed', 'feed', 'items', 'children'
  ]) p;
  if v_field is null and p_job ->> 'type' is null then
    v_field := 'type';
    v_message := 'is missing';
  elsif v_field is null and p_job ->> 'feed' is not null and cardinality(p_path) = 0 then
    v_field := 'feed';
    v_message := 'can''t be set: the root has no parent to feed it';
  elsif v_field is null and p_job ->> 'feed' is not null and (p_job ->> 'sealed')::boolean then
    v_field := 'sealed';
    v_message := 'can''t be set: the job is fed by its parent, whose completion seals it';
  end if;
  if v_field is not null then
    v_field := rtrim(v_at || v_field, '.');
    raise exception '% %.', coalesce(nullif(v_field, ''), 'The tree'), v_message using errcode = 'JT002', column = v_field;
  end if;
  if p_job ->> 'items' is not null then
    perform jobtree.check_items(p_job -> 'items', v_at || 'items');
  end if;
end
$$;

-- Gives one named item to a worker, whatever stands before it. One that is due counts as ready, promoted or not.
--
-- returns    as hold_entries has it, one row
-- locks      the item's queue entry
-- errors     JT001 no such item; JT005 it can't be claimed, with the reason in the error's detail: HELD, SCHEDULED,
--            SUCCEEDED, FAILED or CANCELLED
create or replace function jobtree.claim_item(p_item_id uuid, p_worker text)
returns table (
  job_id uuid, root_id uuid, type text, heartbeat_interval_ms integer, claimed_at timestamptz, deadline_at timestamptz,
  items json
)
language plpgsql volatile
set plan_cache_mode = force_generic_plan
as $$
declare
  v_tid tid;
  v_reason text;
begin
  select q.ctid into v_tid from jobtree.queue_entry q
  where q.item_id = p_item_id and (q.run_at is null or q.run_at <= clock_timestamp())
  for update;
  if v_tid is not null then
    return query select * from jobtree.hold_entries(array[v_tid], array[p_worker], array[jobtree.new_id()], '{0}');
    return;
  end if;

  select case
      when i.failed_at is not null then 'FAILED'
      when i.cancelled_at is not null then 'CANCELLED'
      when a.finished_at is not null then 'SUCCEEDED'
      when q.item_id is not null then 'SCHEDULED'
      else 'HELD'
    end into v_reason
  from jobtree.job_item i
  left join jobtree.assignment a on a.held_item_id = i.id
  left join jobtree.queue_entry q on q.item_id = i.id
  where i.id = p_item_id;
  if v_reason is null then
    raise exception 'There is no item %.', p_item_id using errcode = 'JT001', column = 'itemId';
  end if;
  raise exception 'Item % can''t be claimed: it is %.', p_item_id, lower(v_reason)
    using errcode = 'JT005', column = 'itemId', detail = v_reason;
end
$$;

-- Gives ready items to workers: of each type the highest priority first, then in the order in which they became ready. All
-- payloads together have about 32 MB at most, but there is at least one item: an answer must fit into memory.
--
-- p_workers, p_types, p_limits   who wants how many of which type, an element each; of one type, who stands first gets
--            what goes first
-- p_lane_types, p_lane_priorities, p_lane_from
--            low-water positions: of that type and priority nothing claimable was seen below. A type that has lanes
--            here is looked at in these lanes alone; one that has none is read from its start, past every dead row.
--            They are hints of a caller that reads from the start now and then, for rows that committed late, came
--            back, or have a new priority.
-- p_claim_ids, p_before
--            the claim that each want belongs to, null for none, and how many the wants before it in its claim ask for.
--            A claim that was carried out before gives what it got then and is not finished, and nothing new.
-- returns    as hold_entries has it; n orders the items of a type as they go. kind is NEW; CUT if there was more that the
--            size forbade, and then other claims may have passed by it; REPEATED for what a claim got before
-- locks      queue entries, skipping those that another claim has
-- errors     JT002 the repeated claim was another worker's; JT006 it must be repeated in a call of its own
-- durability the commit does not wait for the disk: a claim that a crash forgets leaves the item ready and its
--            assignment unknown, so a report under it is STALE. Do not call this inside a transaction of your own.
create or replace function jobtree.claim_items(
  p_workers text[], p_types text[], p_limits integer[],
  p_lane_types text[] default '{}', p_lane_priorities smallint[] default '{}', p_lane_from bigint[] default '{}',
  p_claim_ids uuid[] default '{}', p_before integer[] default '{}'
)
returns table (
  job_id uuid, root_id uuid, type text, heartbeat_interval_ms integer, claimed_at timestamptz, deadline_at timestamptz,
  items json, kind text
)
language plpgsql volatile
set enable_seqscan = off
set enable_bitmapscan = off
set plan_cache_mode = force_generic_plan
as $$
declare
  v_claim_id constant uuid := jobtree.new_id();
  v_want record;
  v_lane record;
  v_more tid[];
  v_bytes bigint;
  v_picked tid[];
  v_picked_bytes bigint;
  v_left bigint := 32000000;
  v_kind text := 'NEW';
  v_tids tid[] := '{}';
  v_workers text[] := '{}';
  v_claim_ids uuid[] := '{}';
  v_offsets integer[] := '{}';
  v_taken integer;
  v_count integer;
begin
  perform set_config('synchronous_commit', 'off', true);

  if cardinality(p_claim_ids) > 0 and exists (select from unnest(p_claim_ids) c(id) cross join lateral jobtree.claimed_ids(c.id)) then
    if (p_claim_ids[1] = all (p_claim_ids)) is not true then
      raise exception 'A repeated claim can''t go together with others.' using errcode = 'JT006';
    end if;
    return query select r.*, 'REPEATED' from jobtree.repeat_claim(p_claim_ids[1], p_workers[1]) r;
    return;
  end if;

  for v_want in
    select w.type, sum(w.count)::integer as room, array_agg(w.worker order by w.n) as workers,
      array_agg(w.count order by w.n) as counts, array_agg(coalesce(w.claim_id, v_claim_id) order by w.n) as claim_ids,
      array_agg(w.before order by w.n) as before
    from unnest(p_workers, p_types, p_limits, p_claim_ids, p_before) with ordinality w(worker, type, count, claim_id, before, n)
    group by w.type
    order by min(w.n)
  loop
    v_picked := '{}';
    v_picked_bytes := 0;
    if v_want.type = any (p_lane_types) then
      for v_lane in
        select l.priority, l.from_position
        from unnest(p_lane_types, p_lane_priorities, p_lane_from) l(type, priority, from_position)
        where l.type = v_want.type
        order by l.priority desc
      loop
        select array_agg(e.ctid), coalesce(sum(e.payload_bytes), 0) into v_more, v_bytes
        from (
          select q.ctid, q.payload_bytes from jobtree.queue_entry q
          where q.type = v_want.type and q.priority = v_lane.priority and q.position >= v_lane.from_position
            and q.run_at is null
          order by q.position
          limit v_want.room - cardinality(v_picked)
          for update skip locked
        ) e;
        v_picked := v_picked || v_more;
        v_picked_bytes := v_picked_bytes + v_bytes;
        exit when cardinality(v_picked) = v_want.room or v_picked_bytes > v_left;
      end loop;
    else
      select array_agg(e.ctid), coalesce(sum(e.payload_bytes), 0) into v_more, v_picked_bytes
      from (
        select q.ctid, q.payload_bytes from jobtree.queue_entry q
        where q.type = v_want.type and q.run_at is null
        order by q.priority desc, q.position
        limit v_want.room
        for update skip locked
      ) e;
      v_picked := v_picked || v_more;
    end if;

    if v_picked_bytes > v_left then
      v_kind := 'CUT';
      select coalesce(array_agg(s.tid order by s.n), '{}') into v_picked
      from (
        select p.tid, p.n, sum(q.payload_bytes) over (order by p.n) as bytes
        from unnest(v_picked) with ordinality p(tid, n)
        join jobtree.queue_entry q on q.ctid = p.tid
      ) s
      where s.bytes <= v_left or (s.n = 1 and cardinality(v_tids) = 0);
    end if;
    v_left := v_left - v_picked_bytes;
    v_tids := v_tids || v_picked;
    for v_i in 1 .. cardinality(v_want.workers) loop
      v_taken := cardinality(v_workers);
      v_count := least(v_want.counts[v_i], cardinality(v_tids) - v_taken);
      v_workers := v_workers || array_fill(v_want.workers[v_i], array[v_count]);
      v_claim_ids := v_claim_ids || array_fill(v_want.claim_ids[v_i], array[v_count]);
      v_offsets := v_offsets || array_fill(coalesce(v_want.before[v_i] - v_taken, 0), array[v_count]);
    end loop;
    exit when v_kind = 'CUT';
  end loop;

  if cardinality(v_tids) > 0 then
    return query select h.*, v_kind from jobtree.hold_entries(v_tids, v_workers, v_claim_ids, v_offsets) h;
  end if;
end
$$;

-- The assignments that a claim made, whatever became of them: a short range of the primary key. Others in it come from a
-- claim that began with the same bits in the same millisecond. Plain SQL, so that the planner inlines it.
create or replace function jobtree.claimed_ids(p_claim_id uuid) returns setof uuid
language sql stable parallel safe
as $$
  select a.id from jobtree.assignment a
  where a.id between (left(p_claim_id::text, 19) || 'a000-000000000000')::uuid
      and (left(p_claim_id::text, 19) || 'afff-ffffffffffff')::uuid
    and a.id = jobtree.assignment_id(
      p_claim_id, (get_byte(uuid_send(a.id), 8) & 15) * 256 + get_byte(uuid_send(a.id), 9)
    )
$$;

-- Creates a whole tree of jobs, with the items that it starts with.
--
-- p_tree     JSON of the root: {type, maxFailuresPerItem?, backoffMs?, backoffJitter?, heartbeatIntervalMs?, priority?,
--            runAt?, finalStage?, dedupeKey?, sealed?, feed?, items?, children?}; children are the same, and any depth
--            up to 32. feed (children only) is {source: SUCCESSES|REPORTS, forEach?, payload?}: feed_payloads.
--            A job without children is a final stage unless finalStage says otherwise. The ids of the jobs go up in
--            the order of the document, parents before their children.
-- returns    the root's id, and whether it is new: with a dedupeKey that a job of the type has, it is that job's id
-- errors     JT002 a tree too deep or too large, a child's dedupeKey that is in use, a job or items that are none: check_job
create or replace function jobtree.create_job(p_tree jsonb)
returns table (job_id uuid, created boolean)
language plpgsql volatile
set plan_cache_mode = force_generic_plan
as $$
declare
  v_now constant timestamptz := clock_timestamp();
  -- One random id for the tree; its last 24 bits count the jobs, so that their ids are in order within a millisecond too.
  v_id constant text := left(jobtree.new_id()::text, 30);
  v_root uuid;
  v_existing uuid;
  v_node record;
  v_job jobtree.job;
begin
  for v_node in
    with recursive node as (
      select array[]::integer[] as path, p_tree as spec
      union all
      select n.path || c.ordinality::integer, c.value
      from node n
      cross join lateral jsonb_array_elements(
        case jsonb_typeof(n.spec -> 'children') when 'array' then n.spec -> 'children' end
      ) with ordinality c
      where cardinality(n.path) <= 32
    )
    select n.path, n.spec, row_number() over (order by n.path) as number, count(*) over () as jobs, max(cardinality(n.path)) over () as depth
    from node n
    order by n.path
  loop
    if v_node.depth > 32 then
      raise exception 'The tree is more than 32 levels deep below its root.' using errcode = 'JT002', column = 'children';
    end if;
    if v_node.jobs > 1000 then
      raise exception 'The tree has % jobs; the limit is 1000.', v_node.jobs using errcode = 'JT002', column = 'children';
    end if;

    perform jobtree.check_job(v_node.spec, v_node.path);

    -- Nodes come parents first, so the ancestors of this one are the jobs of its path, which v_job still is one of, or
    -- is below one of: walk up from the last job to the parent.
    while v_root is not null and v_job.depth >= cardinality(v_node.path) loop
      select * into v_job from jobtree.job j where j.id = v_job.parent_id;
    end loop;

    insert into jobtree.job (
      id, root_id, parent_id, depth, type, dedupe_key, priority, run_at, max_failures_per_item, backoff_ms,
      backoff_jitter, heartbeat_interval_ms, final_stage, feed, feeds_children, created_at, sealed_at
    )
    select
      n.id, coalesce(v_root, n.id), v_job.id, cardinality(v_node.path),
      s.type, s."dedupeKey", coalesce(s.priority, 0), s."runAt", coalesce(s."maxFailuresPerItem", 3),
      coalesce(s."backoffMs", '{30000,300000,1800000}'), coalesce(s."backoffJitter", 0.1),
      coalesce(s."heartbeatIntervalMs", 60000), coalesce(s."finalStage", not coalesce(jsonb_path_exists(v_node.spec, '$.children[0]'), false)),
      case when v_node.spec ->> 'feed' is not null then '{"source": "SUCCESSES"}' || jsonb_strip_nulls(s.feed) end,
      coalesce(jsonb_path_exists(v_node.spec, '$.children[*].feed ? (@ != null)'), false), v_now,
      case when s.sealed then v_now end
    from (select (v_id || lpad(to_hex(v_node.number), 6, '0'))::uuid as id) n,
      jsonb_to_record(v_node.spec) as s(
        type text, "dedupeKey" text, priority smallint, "runAt" timestamptz, "maxFailuresPerItem" integer,
        "backoffMs" integer[], "backoffJitter" real, "heartbeatIntervalMs" integer, "finalStage" boolean,
        feed jsonb, sealed boolean
      )
    on conflict (type, dedupe_key) do nothing
    returning * into v_job;

    if v_job.id is null then
      if v_root is not null then
        raise exception 'A job of type % with the dedupe key % exists already.', v_node.spec ->> 'type', v_node.spec ->> 'dedupeKey'
          using errcode = 'JT002', column = 'dedupeKey';
      end if;
      select j.id into v_existing from jobtree.job j
      where j.type = v_node.spec ->> 'type' and j.dedupe_key = v_node.spec ->> 'dedupeKey';
      return query select v_existing, false;
      return;
    end if;

    v_root := coalesce(v_root, v_job.id);
    insert into jobtree.job_progress (job_id, root_id, open_jobs)
    values (v_job.id, v_root, case when v_job.id = v_root then v_node.jobs else 0 end);
    if coalesce(v_node.spec -> 'items', 'null') not in ('null', '[]') then
      perform jobtree.insert_items(v_job, v_node.spec -> 'items');
    end if;
    if v_job.sealed_at is not null then
      insert into jobtree.progress_delta (root_id, job_id) values (v_root, v_job.id);
    end if;
  end loop;

  return query select v_root, true;
end
$$;

-- Ends attempts that failed: the failure goes to the item, and the item back into the queue, to wait out its backoff,
-- or to the failed ones once it has failed more than maxFailuresPerItem times, or for good.
--
-- p_ids      unfinished assignments that this transaction has locked
-- p_failures what went wrong, in the same order: {code, message, permanent?}
-- p_outcome  'failed' for a worker's report, 'lost' for a hold that nobody kept up
-- returns    per assignment its type and when the item is due again: null if it is not
-- locks      the items, which belong to the assignments
create or replace function jobtree.fail_assignments(p_ids uuid[], p_failures jsonb[], p_outcome text)
returns table (assignment_id uuid, root_id uuid, type text, retry_at timestamptz)
language plpgsql volatile
set enable_seqscan = off
set enable_hashjoin = off
set enable_mergejoin = off
set enable_bitmapscan = off
set enable_material = off
set plan_cache_mode = force_generic_plan
as $$
#variable_conflict use_column
declare
  v_now constant timestamptz := clock_timestamp();
begin
  return query
  with ended as (
    update jobtree.assignment a
    set held_item_id = null, finished_at = v_now, outcome = p_outcome
    from unnest(p_ids, p_failures) g(id, failure)
    where a.id = g.id
    returning a.id, a.item_id, a.job_id, a.root_id, a.attempt, a.worker, g.failure
  ), judged as materialized (
    select e.*, j.type,
      coalesce((e.failure ->> 'permanent')::boolean, false) or e.attempt > j.max_failures_per_item as is_dead,
      v_now + (1 + j.backoff_jitter * random()) * interval '1 millisecond'
        * coalesce(j.backoff_ms[least(e.attempt, cardinality(j.backoff_ms))], 0) as due_at
    from ended e
    join jobtree.job j on j.id = e.job_id
  ), failed as (
    update jobtree.job_item i
    set failed_at = case when d.is_dead then v_now end,
      failures = i.failures || jsonb_build_object(
        'attempt', d.attempt, 'code', d.failure -> 'code', 'message', d.failure -> 'message',
        'worker', d.worker, 'at', v_now, 'assignmentId', d.id, 'retryAt', case when not d.is_dead then d.due_at end
      )
    from judged d
    where i.id = d.item_id
    returning i.id as item_id, i.priority, i.payload_bytes
  ), queued as (
    insert into jobtree.queue_entry (item_id, root_id, job_id, type, priority, position, run_at, attempt, payload_bytes)
    select d.item_id, d.root_id, d.job_id, d.type, f.priority, nextval('jobtree.job_item_position_seq'),
      case when d.due_at > v_now then d.due_at end, d.attempt + 1, f.payload_bytes
    from judged d
    join failed f on f.item_id = d.item_id
    where not d.is_dead
  ), counted as (
    insert into jobtree.progress_delta (root_id, job_id, failed)
    select d.root_id, d.job_id, count(*) from judged d where d.is_dead group by d.root_id, d.job_id
  )
  select d.id, d.root_id, d.type, case when not d.is_dead then d.due_at end from judged d;
end
$$;

-- Makes the items of child jobs from successes of their parents: by each child's mapping, and by the new items that
-- the reports name. A cancelled child gets none.
--
-- p_ids      assignments that this transaction has just let succeed
-- p_reports  JSON object of the report that counts for each assignment: report_outcomes
-- returns    the types of the children that got items, each as often as it got some (from 1,000 on it is many)
-- locks      the children's rows, shared and in the order of their ids, so that cancel_job waits
create or replace function jobtree.feed_children(p_ids uuid[], p_reports jsonb)
returns text[]
language plpgsql volatile
set plan_cache_mode = force_generic_plan
as $$
declare
  v_child jobtree.job;
  v_items jsonb;
  v_types text[] := '{}';
begin
  for v_child in
    select c.* from jobtree.job c
    where c.feed is not null and c.parent_id in (select a.job_id from jobtree.assignment a where a.id = any (p_ids))
    order by c.id
    for share
  loop
    continue when v_child.cancelled_at is not null;
    select jsonb_agg(f.item) into v_items
    from (
      select jsonb_build_object('payload', p.payload) as item
      from jobtree.assignment a
      join jobtree.job_item i on i.id = a.item_id
      cross join lateral jobtree.feed_payloads(v_child.feed, i.payload, a.result) p(payload)
      where a.id = any (p_ids) and a.job_id = v_child.parent_id and v_child.feed ->> 'source' = 'SUCCESSES'
      union all
      select n.value
      from jobtree.assignment a
      cross join lateral jsonb_array_elements(p_reports -> a.id::text -> 'newItems') n
      where a.id = any (p_ids) and a.job_id = v_child.parent_id and n.value ->> 'type' = v_child.type
    ) f;
    if v_items is not null then
      perform jobtree.insert_items(v_child, v_items);
      v_types := v_types || array_fill(v_child.type, array[least(jsonb_array_length(v_items), 1000)]);
    end if;
  end loop;
  return v_types;
end
$$;

-- What is wrong with reports whose successes feed child jobs: a forEach that leads to no list, new items for a type that
-- is not the type of exactly one fed child, more than 1,000 new items, or more than 20 MB of them by mappings: a report
-- of a few kilobytes could name gigabytes.
--
-- p_ids      unfinished assignments
-- p_reports  JSON object of the report that counts for each: report_outcomes
-- returns    the first problem of each report that has one
create or replace function jobtree.feed_problems(p_ids uuid[], p_reports jsonb)
returns table (assignment_id uuid, field text, message text)
language sql stable
as $$
  select distinct on (p.id) p.id, p.field, p.message
  from (
    select a.id, 'result' as field,
      format('%s is not a list, so it can''t feed the job of type %s.', c.feed ->> 'forEach', c.type) as message
    from jobtree.assignment a
    cross join lateral (select p_reports -> a.id::text) r(value)
    join jobtree.job_item i on i.id = a.item_id
    join jobtree.job c on c.parent_id = a.job_id
    where a.id = any (p_ids) and not r.value ? 'failure'
      and c.feed ->> 'source' = 'SUCCESSES' and c.feed ->> 'forEach' is not null
      and jsonb_typeof(
        jsonb_build_object('payload', i.payload, 'result', r.value -> 'result') #> string_to_array(c.feed ->> 'forEach', '.')
      ) is distinct from 'array'
    union all
    select a.id, 'newItems',
      format('The job has %s fed children of type %s; new items need exactly one.', f.children, n.value ->> 'type')
    from jobtree.assignment a
    cross join lateral (select p_reports -> a.id::text) r(value)
    cross join lateral jsonb_array_elements(r.value -> 'newItems') n
    cross join lateral (
      select count(*) as children from jobtree.job c
      where c.parent_id = a.job_id and c.feed is not null and c.type = n.value ->> 'type'
    ) f
    where a.id = any (p_ids) and not r.value ? 'failure' and f.children <> 1
    union all
    select a.id, 'result',
      case when m.items + n.items > 1000 then format('The report would make %s new items; the limit is 1000.', m.items + n.items)
        else format('The report would make about %s MB of new items; the limit is 20 MB.', ceil(m.bytes / 1e6)) end
    from jobtree.assignment a
    cross join lateral (select p_reports -> a.id::text) r(value)
    join jobtree.job_item i on i.id = a.item_id
    cross join lateral (
      select coalesce(sum(z.items), 0) as items, coalesce(sum(z.bytes), 0) as bytes
      from jobtree.job c
      cross join lateral jobtree.feed_size(c.feed, i.payload, coalesce(r.value -> 'result', 'null')) z
      where c.parent_id = a.job_id and c.feed ->> 'source' = 'SUCCESSES' and c.cancelled_at is null
    ) m
    cross join lateral (select coalesce(jsonb_array_length(r.value -> 'newItems'), 0) as items) n
    where a.id = any (p_ids) and not r.value ? 'failure' and (m.items + n.items > 1000 or m.bytes > 20e6)
  ) p
  order by p.id
$$;

-- What one success of a parent would make for a child by its mapping, without making it.
--
-- p_feed     as feed_payloads has it
-- returns    how many items, and about how many bytes their payloads have together: more than they will have where the
--            mapping takes parts of the elements of a list
create or replace function jobtree.feed_size(p_feed jsonb, p_payload jsonb, p_result jsonb)
returns table (items bigint, bytes bigint)
language sql immutable
as $$
  select c.items, coalesce(sum(
    case split_part(t.path, '.', 1)
      -- No larger than the list, all elements together.
      when 'element' then pg_column_size(c.list)
      -- The same value for each item.
      else c.items * pg_column_size(jobtree.feed_value(t.path, p_payload, p_result, null))
    end + c.items * length(t.key)
  ), 0)::bigint
  from (
    select l.list,
      case
        when p_feed ->> 'forEach' is null then 1
        when jsonb_typeof(l.list) = 'array' then jsonb_array_length(l.list)
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
  group by c.items
$$;

-- Turns the deltas of one tree into counters, completes what is complete, and tells who listens.
--
-- A job is complete when it is sealed and succeeded + failed + cancelled = itemCount. Completion seals the children
-- that the job feeds, which may complete them in turn; the tree is complete when openJobs on the root's row is 0.
--
-- p_from     the delta to read from: a low-water mark that skips the dead rows of deltas folded before. A delta below
--            it that committed late is found by a fold from 0. Before a job is declared complete its deltas are read
--            from 0, after it was seen to be sealed: it can get no more items, so the sum is exact then.
-- returns    no row if another fold has the tree (try again), else the last delta read (0 for none), and whether a child could
--            not be sealed yet because somebody is adding to it (try again)
-- locks      the root's job_progress row, and then the rows of children to be sealed, both skipped where taken
-- notifies   channel jobtree_progress: {root, openJobs, jobs: [{jobId, itemCount, succeeded, failed, cancelled,
--            sealed, startedAt, completedAt}]}, times in milliseconds; up to 25 jobs a message, below 8,000 bytes
-- durability the commit does not wait for the disk, so that Postgres's notification lock is held only for an instant;
--            after a crash the deltas are there again, and are counted again
create or replace function jobtree.fold_progress(p_root_id uuid, p_from bigint default 0)
returns table (last_delta bigint, retry boolean)
language plpgsql volatile
set enable_seqscan = off
set plan_cache_mode = force_generic_plan
as $$
declare
  v_now constant timestamptz := clock_timestamp();
  v_from bigint := p_from;
  v_last bigint := 0;
  v_read_last bigint;
  v_read uuid[];
  v_touched uuid[] := '{}';
  v_changed uuid[] := '{}';
  v_completed uuid[];
  -- Known to be sealed before the deltas were last read from 0: their sums are exact.
  v_sure uuid[] := '{}';
  v_sealed uuid[];
  v_suspect boolean;
  v_open integer;
  v_blocked uuid[] := '{}';
begin
  perform set_config('synchronous_commit', 'off', true);
  perform 1 from jobtree.job_progress p where p.job_id = p_root_id for no key update skip locked;
  if not found then
    -- No row if another fold has the tree; one that asks for nothing more if the tree is gone.
    return query select 0::bigint, false
    where not exists (select from jobtree.job_progress p where p.job_id = p_root_id);
    return;
  end if;

  loop
    with consumed as (
      delete from jobtree.progress_delta d where d.root_id = p_root_id and d.id >= v_from
      returning d.*
    ), summed as (
      select c.job_id, sum(c.items) as items, sum(c.succeeded) as succeeded, sum(c.failed) as failed,
        sum(c.cancelled) as cancelled, bool_or(c.started or c.succeeded + c.failed > 0) as started, max(c.id) as last
      from consumed c
      group by c.job_id
    ), counted as (
      update jobtree.job_progress p
      set item_count = p.item_count + s.items, succeeded = p.succeeded + s.succeeded, failed = p.failed + s.failed,
        cancelled = p.cancelled + s.cancelled,
        started_at = coalesce(p.started_at, case when s.started then v_now end)
      from summed s
      where p.job_id = s.job_id
      returning p.job_id, p.succeeded + p.failed + p.cancelled > p.item_count as ahead
    )
    select (select max(s.last) from summed s), (select array_agg(s.job_id) from summed s), (select bool_or(c.ahead) from counted c)
    into v_read_last, v_read, v_suspect;

    v_last := greatest(v_last, v_read_last);
    v_touched := v_touched || v_read;
    v_changed := v_changed || v_read;

    select array_agg(p.job_id) into v_completed
    from jobtree.job_progress p
    join jobtree.job j on j.id = p.job_id
    where p.job_id = any (v_touched) and p.completed_at is null and j.sealed_at is not null
      and p.succeeded + p.failed + p.cancelled = p.item_count;

    if (v_from > 0 and v_suspect) or not coalesce(v_completed, '{}') <@ v_sure then
      v_from := 0;
      v_sure := v_sure || v_completed;
      continue;
    end if;
    update jobtree.job_progress p set completed_at = v_now where p.job_id = any (v_completed);
    update jobtree.job_progress p set open_jobs = p.open_jobs - cardinality(v_completed)
    where p.job_id = p_root_id and v_completed is not null;

    with waiting as (
      select c.id from jobtree.job c
      join jobtree.job_progress p on p.job_id = c.parent_id
      where c.parent_id = any (v_touched) and p.completed_at is not null and c.feed is not null and c.sealed_at is null
    ), free as (
      select c.id from jobtree.job c where c.id in (select w.id from waiting w)
      order by c.id
      for no key update skip locked
    ), sealed as (
      update jobtree.job c set sealed_at = v_now from free f where c.id = f.id returning c.id
    )
    select
      (select array_agg(s.id) from sealed s),
      v_blocked || (select array_agg(w.id) from waiting w where w.id not in (select f.id from free f))
    into v_sealed, v_blocked;

    exit when v_completed is null and v_sealed is null;
    v_changed := v_changed || v_completed || v_sealed;
    v_touched := v_sealed;
    v_sure := v_sure || v_sealed;
  end loop;

  -- Somebody is adding to these children: have the next fold look at their parents again.
  insert into jobtree.progress_delta (root_id, job_id)
  select distinct p_root_id, c.parent_id from jobtree.job c where c.id = any (v_blocked);

  if cardinality(v_changed) > 0 then
    select p.open_jobs into v_open from jobtree.job_progress p where p.job_id = p_root_id;
    perform pg_notify('jobtree_progress', jsonb_build_object('root', p_root_id, 'openJobs', v_open, 'jobs', m.jobs)::text)
    from (
      select jsonb_agg(jsonb_build_object(
        'jobId', p.job_id, 'itemCount', p.item_count, 'succeeded', p.succeeded,
        'failed', p.failed, 'cancelled', p.cancelled, 'sealed', j.sealed_at is not null,
        'startedAt', floor(extract(epoch from p.started_at) * 1000),
        'completedAt', floor(extract(epoch from p.completed_at) * 1000)
      )) as jobs
      from (
        select c.*, (row_number() over (order by c.job_id) - 1) / 25 as page from jobtree.job_progress c
        where c.job_id = any (v_changed) or c.job_id = p_root_id
      ) p
      join jobtree.job j on j.id = p.job_id
      group by p.page
    ) m;
  end if;
  return query select v_last, cardinality(v_blocked) > 0;
end
$$;

-- Folds several trees in one transaction, each as fold_progress does: for servers that write to many trees at once.
--
-- p_root_ids the trees, each once
-- p_from     the delta of each to read from, in the same order
-- returns    for each tree what fold_progress says of it; no row for one that another fold has
-- locks      those of fold_progress, until the last tree is folded. What is taken is skipped, so their order does not matter
create or replace function jobtree.fold_trees(p_root_ids uuid[], p_from bigint[])
returns table (root_id uuid, last_delta bigint, retry boolean)
language sql volatile
as $$
  select t.root_id, f.last_delta, f.retry
  from unnest(p_root_ids, p_from) t(root_id, from_delta), lateral jobtree.fold_progress(t.root_id, t.from_delta) f
$$;

-- Turns queue entries into assignments. The second half of claim_items and claim_item.
--
-- p_tids     where the entries are: rows that this transaction has locked
-- p_workers  who gets them, in the same order
-- p_claim_ids, p_offsets
--            the claim that each belongs to, and what makes its place its number there: the two give the assignment's id
-- returns    a row for each job that they belong to; items has a list for each field, of which the entries with the same
--            index belong together: n (the place in p_tids, from 1), id (of the assignment), itemId, attempt, priority,
--            position and payload
-- locks      none new; deletes the entries, inserts assignments, and a delta for a job that had not started
create or replace function jobtree.hold_entries(p_tids tid[], p_workers text[], p_claim_ids uuid[], p_offsets integer[])
returns table (
  job_id uuid, root_id uuid, type text, heartbeat_interval_ms integer, claimed_at timestamptz, deadline_at timestamptz,
  items json
)
language plpgsql volatile
set enable_seqscan = off
set enable_bitmapscan = off
set enable_hashjoin = off
set enable_mergejoin = off
set enable_material = off
set plan_cache_mode = force_generic_plan
as $$
declare
  -- As the columns keep it.
  v_now constant timestamptz(3) := clock_timestamp();
begin
  return query
  with taken as (
    delete from jobtree.queue_entry q
    using unnest(p_tids, p_workers, p_claim_ids, p_offsets) with ordinality p(tid, worker, claim_id, "offset", n)
    where q.ctid = p.tid
    returning jobtree.assignment_id(p.claim_id, p.n + p."offset") as id, p.n, p.worker, q.*
  ), grouped as (
    select t.job_id, t.root_id, t.type, array_agg(t.n) as ns, array_agg(t.id) as ids, array_agg(t.item_id) as item_ids,
      array_agg(t.attempt) as attempts, array_agg(t.worker) as workers, array_agg(t.priority) as priorities,
      array_agg(t.position) as positions, array_agg(i.payload) as payloads
    from taken t
    join jobtree.job_item i on i.id = t.item_id
    group by t.job_id, t.root_id, t.type
  ), held as materialized (
    select g.*, j.heartbeat_interval_ms as interval_ms,
      v_now + 3 * j.heartbeat_interval_ms * interval '1 millisecond' as deadline
    from grouped g
    join jobtree.job j on j.id = g.job_id
  ), assigned as (
    insert into jobtree.assignment (
      id, root_id, job_id, item_id, held_item_id, attempt, worker, claimed_at, heartbeat_at, deadline_at
    )
    select u.id, h.root_id, h.job_id, u.item_id, u.item_id, u.attempt, u.worker, v_now, v_now, h.deadline
    from held h
    cross join lateral unnest(h.ids, h.item_ids, h.attempts, h.workers) u(id, item_id, attempt, worker)
  ), started as (
    insert into jobtree.progress_delta (root_id, job_id, started)
    select h.root_id, h.job_id, true
    from held h
    join jobtree.job_progress p on p.job_id = h.job_id
    where p.started_at is null
  )
  select h.job_id, h.root_id, h.type, h.interval_ms, v_now, h.deadline,
    json_build_object(
      'n', h.ns, 'id', h.ids, 'itemId', h.item_ids, 'attempt', h.attempts, 'priority', h.priorities,
      'position', h.positions, 'payload', h.payloads
    )
  from held h;
end
$$;

-- What is wrong with an object that a caller sent: a key that is not known, or a value that is not what its key wants. A key
-- with null counts as one that is not there.
--
-- p_input    the object: a job, an item, a report, a failure
-- p_keys     the keys that it may have
-- returns    the first problem: the key, and what is to be said of it ("must be …"); no row if there is none
create or replace function jobtree.input_problem(p_input jsonb, p_keys text[])
returns table (field text, message text)
language plpgsql stable
as $$
begin
  if jsonb_typeof(p_input) is distinct from 'object' then
    return query select ''::text, 'must be an object';
    return;
  end if;

  return query
  select e.key, r.message
  from jsonb_each(p_input) e
  cross join lateral (
    select case jsonb_typeof(e.value) when 'string' then length(e.value #>> '{}') else -1 end as length
  ) t
  cross join lateral (
    select case
      when e.key <> all (p_keys) then 'is not known'
      when e.key in ('type', 'code') and t.length not between 1 and 200 then 'must be a text of 1 to 200 characters'
      when e.key = 'dedupeKey' and t.length not between 1 and 500 then 'must be a text of 1 to 500 characters'
      when e.key = 'message' and t.length not between 0 and 10000 then 'must be a text of at most 10000 characters'
      when e.key = 'runAt' and (t.length < 0 or not jobtree.is_instant(e.value #>> '{}'))
        then 'must be an instant from 1970 to the end of the year 9999'
      when e.key in ('sealed', 'finalStage', 'permanent') and jsonb_typeof(e.value) <> 'boolean' then 'must be true or false'
      when e.key in ('items', 'children', 'newItems') and jsonb_typeof(e.value) <> 'array' then 'must be a list'
      when e.key = 'priority'
        and not e.value @? 'strict $ ? (@.type() == "number" && @.floor() == @ && @ >= -32768 && @ <= 32767)'
        then 'must be a whole number from -32768 to 32767'
      when e.key = 'maxFailuresPerItem'
        and not e.value @? 'strict $ ? (@.type() == "number" && @.floor() == @ && @ >= 0 && @ <= 1000)'
        then 'must be a whole number from 0 to 1000'
      when e.key = 'heartbeatIntervalMs'
        and not e.value @? 'strict $ ? (@.type() == "number" && @.floor() == @ && @ >= 1000 && @ <= 86400000)'
        then 'must be a whole number from 1000 to 86400000'
      when e.key = 'backoffJitter' and not e.value @? 'strict $ ? (@.type() == "number" && @ >= 0 && @ <= 1)'
        then 'must be a number from 0 to 1'
      when e.key = 'backoffMs' and (
        not e.value @? 'strict $ ? (@.type() == "array" && @.size() <= 100)'
        or e.value @? 'strict $[*] ? (!(@.type() == "number" && @.floor() == @ && @ >= 0 && @ <= 2147483647))'
      ) then 'must be a list of at most 100 whole numbers from 0 to 2147483647'
      when e.key = 'feed' and not jobtree.is_feed(e.value)
        then 'must be {source?: SUCCESSES | REPORTS, forEach?, payload?} of paths; with REPORTS it has no paths'
    end as message
  ) r
  where e.value <> 'null' and r.message is not null
  limit 1;
end
$$;

-- Puts new items into a job: the items, their queue entries, and one delta. The one door through which items come,
-- for add_items, create_job and feed_children; it checks nothing, that is the callers' part.
--
-- p_job      the job's row, which the caller holds locked, or has just inserted
-- p_items    JSON array of {payload, dedupeKey?, priority?, runAt?}; what is missing comes from the job
-- returns    for each entry, in order, the item's id, and whether the item is new; if not, an item of the job had the
--            dedupe key already, and the id is that item's
-- locks      none but those of inserting; meeting an uncommitted item with the same key waits for it
create or replace function jobtree.insert_items(p_job jobtree.job, p_items jsonb)
returns table (item_ids uuid[], added boolean[])
language plpgsql volatile
set enable_seqscan = off
set enable_hashjoin = off
set enable_mergejoin = off
set plan_cache_mode = force_generic_plan
as $$
declare
  v_now constant timestamptz := clock_timestamp();
  -- One random id for the batch; its last 24 bits count the entries. Random bytes for each would cost a fifth of the call.
  v_id constant text := left(jobtree.new_id()::text, 30);
  v_ids uuid[];
  v_keys text[];
  v_added integer;
begin
  with given as materialized (
    select
      (v_id || lpad(to_hex(e.ordinality), 6, '0'))::uuid as id,
      nextval('jobtree.job_item_position_seq') as position,
      coalesce(e.value -> 'payload', 'null') as payload,
      e.value ->> 'dedupeKey' as dedupe_key,
      coalesce((e.value ->> 'priority')::smallint, p_job.priority) as priority,
      coalesce((e.value ->> 'runAt')::timestamptz, p_job.run_at) as run_at
    from jsonb_array_elements(p_items) with ordinality e
  ), plain as (
    -- On their own: "on conflict" makes every row pay for a search of each unique index and a speculative insert.
    insert into jobtree.job_item (id, root_id, job_id, position, payload, payload_bytes, priority, run_at, created_at)
    select g.id, p_job.root_id, p_job.id, g.position, g.payload, octet_length(g.payload::text), g.priority, g.run_at, v_now
    from given g
    where g.dedupe_key is null
    returning job_item.id, job_item.position, job_item.payload_bytes, job_item.priority, job_item.run_at
  ), keyed as (
    insert into jobtree.job_item (id, root_id, job_id, position, payload, payload_bytes, dedupe_key, priority, run_at, created_at)
    select g.id, p_job.root_id, p_job.id, g.position, g.payload, octet_length(g.payload::text), g.dedupe_key, g.priority,
      g.run_at, v_now
    from given g
    where g.dedupe_key is not null
    -- In the order of their keys: two calls with the same keys would deadlock otherwise.
    order by g.dedupe_key, g.position
    on conflict (job_id, dedupe_key) where dedupe_key is not null do nothing
    returning job_item.id, job_item.position, job_item.payload_bytes, job_item.priority, job_item.run_at
  ), queued as (
    insert into jobtree.queue_entry (item_id, root_id, job_id, type, priority, position, run_at, attempt, payload_bytes)
    select i.id, p_job.root_id, p_job.id, p_job.type, i.priority, i.position,
      case when i.run_at > v_now then i.run_at end, 1, i.payload_bytes
    from (select * from plain union all select * from keyed) i
    returning 1
  )
  select array_agg(g.id order by g.id), array_agg(g.dedupe_key order by g.id), (select count(*) from queued)
  into v_ids, v_keys, v_added
  from given g;

  if v_added > 0 then
    insert into jobtree.progress_delta (root_id, job_id, items) values (p_job.root_id, p_job.id, v_added);
  end if;

  if cardinality(v_ids) = v_added then
    return query select v_ids, array_fill(true, array[v_added]);
  else
    -- A new statement: it sees what the conflicting transactions committed.
    return query
      select array_agg(coalesce(i.id, u.id) order by u.n), array_agg(coalesce(i.id = u.id, true) order by u.n)
      from unnest(v_ids, v_keys) with ordinality u(id, dedupe_key, n)
      left join jobtree.job_item i on i.job_id = p_job.id and i.dedupe_key = u.dedupe_key;
  end if;
end
$$;

-- Whether a job may be fed so: feed_payloads says what a feed is. A path may begin with element only where there is a
-- forEach, and a feed from REPORTS has no paths.
create or replace function jobtree.is_feed(p_feed jsonb)
returns boolean
language sql immutable
as $$
  select case jsonb_typeof(p_feed)
    when 'object' then
      p_feed - '{source,forEach,payload}'::text[] = '{}'
      and length(p_feed::text) <= 10000
      and coalesce(p_feed -> 'source', 'null') in ('null', '"SUCCESSES"', '"REPORTS"')
      and (p_feed ->> 'source' is distinct from 'REPORTS' or coalesce(p_feed ->> 'forEach', p_feed ->> 'payload') is null)
      and not exists (
        select from (
          select p_feed -> 'forEach' as path, '' as element where p_feed ->> 'forEach' is not null
          union all
          select t.path, case when p_feed ->> 'forEach' is null then '' else '|element' end
          from jsonb_path_query(p_feed, '$.payload ? (@.type() == "object").*') t(path)
          union all
          select p_feed -> 'payload', case when p_feed ->> 'forEach' is null then '' else '|element' end
          where p_feed ->> 'payload' is not null and jsonb_typeof(p_feed -> 'payload') <> 'object'
        ) p
        where jsonb_typeof(p.path) <> 'string' or p.path #>> '{}' !~ ('^(payload|result' || p.element || ')(\.[^.]+)*$')
      )
    else false
  end
$$;

-- Whether Postgres reads a text as an instant that a row may have: from 1970 to the end of the year 9999.
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

-- Gives items back unfinished, for somebody else to claim at once. Costs no attempt: a deploy is no failure.
--
-- returns    per assignment RELEASED, or STALE where there is no such hold (any more), with the type of what came back
-- locks      the assignments, in the order of their ids
create or replace function jobtree.release_assignments(p_ids uuid[])
returns table (assignment_id uuid, status text, type text)
language plpgsql volatile
set enable_seqscan = off
set plan_cache_mode = force_generic_plan
as $$
declare
  v_open uuid[];
begin
  select array_agg(l.id) filter (where l.finished_at is null) into v_open
  from (
    select a.id, a.finished_at from jobtree.assignment a where a.id = any (p_ids) order by a.id for update
  ) l;

  return query
  with released as (
    delete from jobtree.assignment a where a.id = any (v_open)
    returning a.id, a.item_id, a.attempt
  ), queued as (
    insert into jobtree.queue_entry (item_id, root_id, job_id, type, priority, position, attempt, payload_bytes)
    select i.id, i.root_id, i.job_id, j.type, i.priority, i.position, r.attempt, i.payload_bytes
    from released r
    join jobtree.job_item i on i.id = r.item_id
    join jobtree.job j on j.id = i.job_id
    returning queue_entry.item_id, queue_entry.type
  )
  select g.id, case when r.id is null then 'STALE' else 'RELEASED' end, q.type
  from unnest(p_ids) with ordinality g(id, n)
  left join released r on r.id = g.id
  left join queued q on q.item_id = r.item_id
  order by g.n;
end
$$;

-- Gives the holds again that a claim got, for a caller that never saw the answer: those that are not finished. Counts as
-- a heartbeat, since the worker is there.
--
-- returns    as hold_entries has it, in the order in which they were given out, without positions: they left the queue
-- locks      the claim's assignments, in the order of their ids
-- errors     JT002 the claim was another worker's
create or replace function jobtree.repeat_claim(p_claim_id uuid, p_worker text)
returns table (
  job_id uuid, root_id uuid, type text, heartbeat_interval_ms integer, claimed_at timestamptz, deadline_at timestamptz,
  items json
)
language plpgsql volatile
set enable_seqscan = off
set enable_bitmapscan = off
set enable_hashjoin = off
set enable_mergejoin = off
set plan_cache_mode = force_generic_plan
as $$
declare
  -- As the columns keep it.
  v_now constant timestamptz(3) := clock_timestamp();
  v_ids uuid[];
  v_open uuid[];
begin
  select array_agg(c) into v_ids from jobtree.claimed_ids(p_claim_id) c;
  if exists (select from jobtree.assignment a where a.id = any (v_ids) and a.worker <> p_worker) then
    raise exception 'claimId belongs to a claim of another worker.' using errcode = 'JT002', column = 'claimId';
  end if;
  select array_agg(l.id) filter (where l.finished_at is null) into v_open
  from (
    select a.id, a.finished_at from jobtree.assignment a where a.id = any (v_ids) order by a.id for no key update
  ) l;

  return query
  with kept as (
    update jobtree.assignment a
    set heartbeat_at = v_now, deadline_at = v_now + 3 * j.heartbeat_interval_ms * interval '1 millisecond'
    from jobtree.job j
    where a.id = any (v_open) and j.id = a.job_id
    returning a.*, j.type, j.heartbeat_interval_ms
  )
  select k.job_id, k.root_id, k.type, k.heartbeat_interval_ms, k.claimed_at, k.deadline_at,
    json_build_object(
      'n', array_agg(k.n), 'id', array_agg(k.id), 'itemId', array_agg(k.item_id), 'attempt', array_agg(k.attempt),
      'payload', array_agg(i.payload)
    )
  from (select row_number() over (order by kept.id) as n, kept.* from kept) k
  join jobtree.job_item i on i.id = k.item_id
  group by k.job_id, k.root_id, k.type, k.heartbeat_interval_ms, k.claimed_at, k.deadline_at;
end
$$;

-- What report_outcomes answers to a batch of which not every report was an accepted success.
--
-- p_reports  as report_outcomes has it
-- p_accepted JSON object of the assignments whose report counted, each with when its item is due again, if it is
-- p_problems JSON object of what is wrong with the report of an assignment: {field, message}
-- returns    as report_outcomes has it
create or replace function jobtree.report_answers(p_reports jsonb, p_accepted jsonb, p_problems jsonb)
returns json
language plpgsql stable
set enable_seqscan = off
set enable_bitmapscan = off
set enable_hashjoin = off
set enable_mergejoin = off
set enable_material = off
set plan_cache_mode = force_generic_plan
as $$
begin
  return (
    select json_agg(json_build_object(
      'index', j.n - 1, 'status', j.status, 'retryAt', coalesce(p_accepted -> j.key, j.first_retry),
      'field', p_problems #> array[j.key, 'field'], 'message', p_problems #> array[j.key, 'message']
    ))
    from (
      select g.n, g.id::text as key,
        case
          when g.nth = 1 and p_accepted ? g.id::text then 'ACCEPTED'
          when g.nth = 1 and p_problems ? g.id::text then 'INVALID'
          when a.outcome = 'succeeded' and g.report ->> 'failure' is null
            and a.result = coalesce(g.report -> 'result', 'null') then 'DUPLICATE'
          when a.outcome = 'failed' and g.report ->> 'failure' is not null then 'DUPLICATE'
          else 'STALE'
        end as status,
        -- What the report was answered the first time, kept with the failure.
        case when a.outcome = 'failed' and g.report ->> 'failure' is not null then (
          select f.value -> 'retryAt'
          from jobtree.job_item i
          cross join lateral jsonb_array_elements(i.failures) f
          where i.id = a.item_id and f.value ->> 'assignmentId' = a.id::text
        ) end as first_retry
      from (
        select r.*, row_number() over (partition by r.id order by r.n) as nth
        from (
          select (e.value ->> 'assignmentId')::uuid as id, e.value as report, e.n
          from jsonb_array_elements(p_reports) with ordinality e(value, n)
        ) r
      ) g
      left join jobtree.assignment a on a.id = g.id
    ) j
    where j.status <> 'ACCEPTED' or p_accepted ->> j.key is not null
  );
end
$$;

-- Takes the outcomes of attempts: a result, or a failure. Each is judged alone:
--   ACCEPTED   it counts, and is durable once this commits
--   DUPLICATE  this assignment has reported the same before: a retried call, nothing changes
--   STALE      the hold is gone (lost, released, cancelled) or ended otherwise: nothing changes
--   INVALID    what it says can't be taken (report_problems, feed_problems): nothing changes, and the hold is kept
-- A hold past its deadline that nobody took back still counts: expiry permits taking back, it does not revoke.
--
-- p_reports  JSON array of {assignmentId, result} or {assignmentId, failure: {code, message, permanent?}}, and with a
--            result newItems?: [{type, payload, dedupeKey?, priority?, runAt?}] for fed children. Of two reports for
--            one assignment the first is judged first.
-- returns    one row: the roots of the trees that changed, the types which may have got claimable items (each as often as
--            it got some), and the answers, a list of {index, status, retryAt, field, message}: index counts from 0,
--            retryAt is when a failed item is due again, and the same for a DUPLICATE of the failure. A report that is not in
--            it is ACCEPTED, with nothing more to say; null if that holds for all.
-- errors     JT002 not a list, an entry without assignmentId; 22P02 an assignmentId that is no id
-- locks      assignments in the order of their ids, then items, then children's job rows
create or replace function jobtree.report_outcomes(p_reports jsonb)
returns table (root_ids uuid[], ready_types text[], answers json)
language plpgsql volatile
set enable_seqscan = off
set enable_bitmapscan = off
set enable_hashjoin = off
set enable_mergejoin = off
set enable_material = off
set plan_cache_mode = force_generic_plan
as $$
declare
  v_now constant timestamptz := clock_timestamp();
  v_ids uuid[];
  v_reports jsonb;
  v_special boolean;
  v_may_feed boolean;
  v_problems jsonb := '{}';
  v_open uuid[];
  v_succeeded uuid[];
  v_roots uuid[];
  v_failed uuid[];
  v_failures jsonb[];
  v_retries jsonb := '{}';
  v_accepted jsonb;
  v_failed_roots uuid[];
  v_failed_ready text[];
  v_ready text[] := '{}';
begin
  -- By their ids, of two for one assignment the first.
  select array_agg(r.id), jsonb_object_agg(r.id, r.report order by r.n desc) filter (where r.id is not null),
    bool_or(r.report ?| '{failure,newItems}' or not r.report ? 'result')
  into v_ids, v_reports, v_special
  from (
    select (e.value ->> 'assignmentId')::uuid as id, e.value as report, e.n
    from jsonb_array_elements(case jsonb_typeof(p_reports) when 'array' then p_reports else '[null]' end)
      with ordinality e(value, n)
  ) r;
  if p_reports is null or array_position(v_ids, null) is not null then
    raise exception 'reports must be a list of objects with an assignmentId.' using errcode = 'JT002', column = 'reports';
  end if;
  select bool_or(j.feeds_children) into v_may_feed
  from (select distinct a.job_id from jobtree.assignment a where a.id = any (v_ids)) h
  join jobtree.job j on j.id = h.job_id;

  if v_special or v_may_feed then
    select array_agg(l.id) into v_open
    from (
      select a.id, a.finished_at from jobtree.assignment a where a.id = any (v_ids) order by a.id for update
    ) l
    where l.finished_at is null;
    select coalesce(jsonb_object_agg(p.assignment_id, to_jsonb(p)), '{}') into v_problems
    from jobtree.report_problems(v_open, v_reports) p;
    select array_agg(o.id) into v_open from unnest(v_open) o(id) where not v_problems ? o.id::text;
    select v_problems || coalesce(jsonb_object_agg(p.assignment_id, to_jsonb(p)), '{}') into v_problems
    from jobtree.feed_problems(v_open, v_reports) p;
    select array_agg(o.id) filter (where o.failure is null),
      array_agg(o.id) filter (where o.failure is not null),
      array_agg(o.failure) filter (where o.failure is not null)
    into v_open, v_failed, v_failures
    from (
      select u.id, nullif(v_reports -> u.id::text -> 'failure', 'null') as failure
      from unnest(v_open) u(id)
      where not v_problems ? u.id::text
    ) o;
  else
    v_open := v_ids;
  end if;

  -- An array of keys is looked up in their order, so this is the lock as well where nothing was to be looked at before.
  -- The state is looked at after the row is found: no index that the hot path keeps changing is involved.
  with succeeded as (
    update jobtree.assignment a
    set result = coalesce(v_reports -> a.id::text -> 'result', 'null'), finished_at = v_now, outcome = 'succeeded'
    where a.id = any (v_open) and a.finished_at is null
    returning a.id, a.root_id, a.job_id
  ), counted as (
    insert into jobtree.progress_delta (root_id, job_id, succeeded)
    select s.root_id, s.job_id, count(*) from succeeded s group by s.root_id, s.job_id
    returning progress_delta.root_id
  )
  select array_agg(s.id), (select array_agg(c.root_id) from counted c) into v_succeeded, v_roots from succeeded s;

  if v_may_feed and v_succeeded is not null then
    v_ready := jobtree.feed_children(v_succeeded, v_reports);
  end if;
  if v_failed is not null then
    select jsonb_object_agg(e.assignment_id, e.retry_at), array_agg(e.root_id),
      array_agg(e.type) filter (where e.retry_at <= clock_timestamp())
    into v_retries, v_failed_roots, v_failed_ready
    from jobtree.fail_assignments(v_failed, v_failures, 'failed') e;
    v_ready := v_ready || v_failed_ready;
  end if;

  select array_agg(distinct r) into v_roots from unnest(v_roots || v_failed_roots) r;

  if cardinality(v_succeeded) = cardinality(v_ids) then
    return query select v_roots, v_ready, null::json;
    return;
  end if;
  select coalesce(jsonb_object_agg(s.id, null), '{}') || v_retries into v_accepted from unnest(v_succeeded) s(id);
  return query select v_roots, v_ready, jobtree.report_answers(p_reports, v_accepted, v_problems);
end
$$;

-- What is wrong with reports that are more than a result: a key that is not known, a failure without its code or message,
-- new items that are none. (Where all of a batch have a result alone and feed nothing, nobody looks for unknown keys.)
--
-- p_ids      unfinished assignments
-- p_reports  JSON object of the report that counts for each: report_outcomes
-- returns    the first problem of each report that has one
create or replace function jobtree.report_problems(p_ids uuid[], p_reports jsonb)
returns table (assignment_id uuid, field text, message text)
language sql stable
as $$
  select r.id, p.field, p.field || ' ' || p.message || '.'
  from unnest(p_ids) with ordinality o(id, n)
  cross join lateral (select o.id, p_reports -> o.id::text as value) r
  cross join lateral (
    select i.field, i.message from jobtree.input_problem(r.value, '{assignmentId,result,failure,newItems}') i
    union all
    select 'failure', 'must stand alone: a report has a result (null is one) or a failure'
    where (r.value ->> 'failure' is not null) = (r.value ? 'result')
      or r.value ->> 'failure' is not null and r.value ->> 'newItems' is not null
    union all
    select 'failure' || coalesce('.' || nullif(i.field, ''), ''), i.message
    from jobtree.input_problem(r.value -> 'failure', '{code,message,permanent}') i
    where r.value ->> 'failure' is not null
    union all
    select 'failure', 'must have a code and a message'
    where r.value ->> 'failure' is not null and (r.value #>> '{failure,code}' is null or r.value #>> '{failure,message}' is null)
    union all
    select format('newItems[%s]', e.n - 1) || coalesce('.' || nullif(i.field, ''), ''), i.message
    from jsonb_array_elements(case jsonb_typeof(r.value -> 'newItems') when 'array' then r.value -> 'newItems' end)
      with ordinality e(value, n)
    cross join lateral jobtree.input_problem(e.value, '{type,payload,dedupeKey,priority,runAt}') i
    limit 1
  ) p
  where r.value - '{assignmentId,result}'::text[] <> '{}' or not r.value ? 'result'
$$;

-- What time brings about, in bounded batches: holds whose heartbeat stopped become failures, due entries become ready.
-- Call it again at once while a batch was full.
--
-- p_deadline_from  a low-water mark: no unfinished hold has an older deadline. It skips the dead and the finished ones;
--                  null reads all.
-- p_delta_seen     the last delta that the sweep before saw; null for a first one
-- returns          how many holds were lost and entries promoted; the types that got ready entries (each as often
--                  as it got some, roughly); the roots whose deltas
--                  nobody folded since the sweep before (by a first sweep, all that have any); the jobs that are cancelled
--                  and have pending items, or did when they were last folded; and the marks for the next call. That of the
--                  deadlines is one minute behind the clock, which is more than a claim takes to commit
-- locks            assignments, entries and cancelled jobs, skipping those that somebody works on
create or replace function jobtree.sweep(
  p_deadline_from timestamptz default null, p_delta_seen bigint default null, p_limit integer default 1000
)
returns table (
  lost integer, promoted integer, ready_types text[], root_ids uuid[], cancelling uuid[], deadline_from timestamptz,
  delta_seen bigint
)
language plpgsql volatile
set enable_seqscan = off
as $$
declare
  v_now constant timestamptz := clock_timestamp();
  v_ids uuid[];
  v_promoted integer;
  v_ready text[] := '{}';
  v_retried text[];
  v_fed text[];
  v_roots uuid[];
  v_delta_seen bigint;
  v_cancelling uuid[];
begin
  select array_agg(l.id order by l.id) into v_ids
  from (
    select a.id from jobtree.assignment a
    where a.deadline_at >= coalesce(p_deadline_from, '-infinity') and a.deadline_at <= v_now and a.finished_at is null
    order by a.deadline_at
    limit p_limit
    for update skip locked
  ) l;
  if v_ids is not null then
    select array_agg(f.type) filter (where f.retry_at <= clock_timestamp()) into v_retried
    from jobtree.fail_assignments(
      v_ids,
      array_fill('{"code": "HEARTBEAT_LOST", "message": "The worker''s heartbeat was lost."}'::jsonb, array[cardinality(v_ids)]),
      'lost'
    ) f;
  end if;

  -- Without a mark: entries that come due may have been added by a transaction that took long.
  with due as materialized (
    select q.ctid as tid, q.run_at, q.position from jobtree.queue_entry q
    where q.run_at <= v_now
    order by q.run_at
    limit p_limit
    for update skip locked
  ), numbered as materialized (
    -- A new position: among equals the one that became due first goes first.
    select d.tid, nextval('jobtree.job_item_position_seq') as position
    from (select * from due order by run_at, position) d
  ), promoted as (
    update jobtree.queue_entry q set run_at = null, position = n.position
    from numbered n where q.ctid = n.tid
    returning q.type
  )
  select count(*), array_agg(p.type) into v_promoted, v_ready from promoted p;

  -- Deltas that stay come from a server that died, from SQL, or from a transaction that took long: no worker was told of
  -- their items.
  select array_agg(distinct d.root_id) filter (where d.id <= coalesce(p_delta_seen, d.id)),
    array_agg(j.type) filter (where n is not null), max(d.id)
  into v_roots, v_fed, v_delta_seen
  from (select d.id, d.root_id, d.job_id, d.items from jobtree.progress_delta d order by d.id limit p_limit) d
  join jobtree.job j on j.id = d.job_id
  left join lateral generate_series(1, least(d.items, 100)) n on true;

  with over as materialized (
    select j.id from jobtree.job j
    join jobtree.job_progress p on p.job_id = j.id
    where j.cancelling and p.completed_at is not null
    limit p_limit
    for no key update of j skip locked
  )
  update jobtree.job j set cancelling = false from over o where j.id = o.id;
  select array_agg(c.id) into v_cancelling from (select j.id from jobtree.job j where j.cancelling limit p_limit) c;

  return query select
    coalesce(cardinality(v_ids), 0), v_promoted, v_ready || v_retried || v_fed, v_roots, v_cancelling,
    case when cardinality(v_ids) = p_limit then p_deadline_from else v_now - interval '1 minute' end,
    coalesce(v_delta_seen, p_delta_seen);
end
$$;

-- For callers of SQL that add items and would rather not wait for the sweep: wakes idle workers when the transaction
-- commits, on all servers. A hint, and never needed. Postgres lets only one transaction at a time commit that notifies, so
-- leave it out where there are hundreds of them in a second.
--
-- p_type     the type of the items
-- p_items    how many were added: as many workers are woken at first
create or replace function jobtree.wake_workers(p_type text, p_items integer default 1)
returns void
language sql volatile
as $$
  select pg_notify('jobtree_work', json_build_object('types', json_build_array(json_build_array(p_type, p_items)))::text);
$$;
