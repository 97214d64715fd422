alter table "jobtree"."job_progress" add column "tree_failed" bigint not null default 0;
alter table "jobtree"."job_progress" add column "tree_completed_at" timestamptz(3);
create index "job_progress_tree_failed" on "jobtree"."job_progress" ("job_id") where "is_root" and "tree_failed" > 0;

-- Beginnings of keys are ranges in the order of bytes. No index but the one for lists begins with all types, so that these read no other.
drop index "jobtree"."job_type_dedupe_key_key";
alter table "jobtree"."job" alter column "dedupe_key" type text collate "C";
create unique index "job_dedupe_key_type_key" on "jobtree"."job" ("dedupe_key", "type");
create index "job_dedupe_keys" on "jobtree"."job" ("type", "dedupe_key") where "dedupe_key" is not null;
create index "job_root_types" on "jobtree"."job" ("type", "id") where "parent_id" is null;

set local check_function_bodies = off;

-- Creates a whole tree of jobs, with the items that it starts with.
--
-- p_tree     JSON of the root: {type, maxFailuresPerItem?, backoffMs?, backoffJitter?, heartbeatIntervalMs?, priority?,
--            runAt?, finalStage?, toleratedFailureCount?, toleratedFailurePercentage?, serializeOnFailure?, name?, after?, dedupeKey?, sealed?,
--            feed?, items?, file?, callbacks?, traceContext?, children?, retentionSeconds?, idleExpirySeconds?}; children are the same, and any
--            depth up to 32. after: link_jobs. Only for the root: callbacks (add_callbacks); traceContext, for the items that the tree
--            starts with (check_trace_context); retentionSeconds and idleExpirySeconds, which default to the servers' settings, and are
--            never if they are null. Only for children: feed, {source: SUCCESSES|REPORTS, forEach?, payload?, serializeKey?}
--            (feed_payloads, feed_keys). file: add_file, which has a server add the lines of an upload and seal the job.
--            The defaults of priority, failures, backoff and heartbeats come from the queue of the type, if it has them.
--            A job without children is a final stage unless finalStage says otherwise. The ids of the jobs ascend in the order of
--            the document, parents before their children.
-- returns    the root's id, and whether it is new; if another job of the type has the dedupeKey, that job's id
-- errors     JT002 a tree that is too deep or too large, a child's dedupeKey that is in use, or an invalid job, items (check_job),
--            after (link_jobs), callbacks (add_callbacks) or file (add_file)
create or replace function jobtree.create_job(p_tree json)
returns table (job_id uuid, created boolean)
language plpgsql volatile
set jit = off
set enable_seqscan = off
set plan_cache_mode = force_generic_plan
as $$
declare
  -- One random id for the tree, whose last 24 bits count the jobs: so their ids are in order even within a millisecond.
  v_id constant text := left(jobtree.new_id()::text, 30);
  -- The time in the id: so lists select by the time of creation with ranges of ids.
  v_now constant timestamptz(3) := to_timestamp(('x' || replace(left(v_id, 13), '-', ''))::bit(48)::bigint / 1000.0);
  v_root uuid;
  v_parent_id uuid;
  v_existing uuid;
  v_node record;
  v_spec jsonb;
  v_payloads text[];
  v_job jobtree.job;
  v_waits boolean := false;
  v_keys text[];
begin
  if strpos(p_tree::text, '"serializeKey"') > 0 then
    -- The keys of all jobs at once and in order: other trees may lock the same ones.
    v_keys := jobtree.lock_keys(jobtree.tree_keys(p_tree), true);
  end if;
  for v_node in
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

    v_spec := v_node.spec::jsonb;
    v_payloads := jobtree.check_job(v_spec, v_node.spec -> 'items', v_node.path);

    -- Nodes come parents first, so v_job, the last one inserted, is this node's parent or a descendant of it: walk up to the parent.
    while v_root is not null and v_job.depth >= cardinality(v_node.path) loop
      select * into v_job from jobtree.job j where j.id = v_job.parent_id;
    end loop;

    v_parent_id := v_job.id;
    loop
      insert into jobtree.job (
        id, root_id, parent_id, depth, type, dedupe_key, priority, run_at, max_failures_per_item, backoff_ms,
        backoff_jitter, heartbeat_interval_ms, final_stage, feed, feeds_children, created_at, sealed_at,
        tolerated_failure_count, tolerated_failure_percentage, waits,
        blocks_on_failure, retention_seconds, idle_expiry_seconds
      )
      select
        n.id, coalesce(v_root, n.id), v_parent_id, cardinality(v_node.path),
        s.type, s."dedupeKey", coalesce(s.priority, q.priority, 0), s."runAt",
        coalesce(s."maxFailuresPerItem", q.max_failures_per_item, 3),
        coalesce(s."backoffMs", q.backoff_ms, '{30000,300000,1800000}'), coalesce(round(s."backoffJitter", 9), q.backoff_jitter, 0.1),
        coalesce(s."heartbeatIntervalMs", q.heartbeat_interval_ms, 60000), coalesce(s."finalStage", not coalesce(v_spec @? 'strict $.children[0]', false)),
        case when v_spec ->> 'feed' is not null then '{"source": "SUCCESSES"}' || jsonb_strip_nulls(s.feed) end,
        coalesce(jsonb_path_exists(v_spec, '$.children[*].feed ? (@ != null)'), false), v_now,
        case when s.sealed then v_now end, s."toleratedFailureCount", s."toleratedFailurePercentage",
        coalesce(v_spec @? 'strict $.after[0]', false), coalesce(s."serializeOnFailure" = 'BLOCK', false),
        coalesce(s."retentionSeconds", case when v_spec ? 'retentionSeconds' then -1 end),
        coalesce(s."idleExpirySeconds", case when v_spec ? 'idleExpirySeconds' then -1 end)
      from (select (v_id || lpad(to_hex(v_node.number), 6, '0'))::uuid as id) n
        cross join jsonb_to_record(v_spec) as s(
          type text, "dedupeKey" text, priority smallint, "runAt" timestamptz, "maxFailuresPerItem" integer,
          "backoffMs" integer[], "backoffJitter" numeric, "heartbeatIntervalMs" integer, "finalStage" boolean,
          feed jsonb, sealed boolean, "toleratedFailureCount" integer, "toleratedFailurePercentage" double precision,
          "serializeOnFailure" text, "retentionSeconds" integer, "idleExpirySeconds" integer
        )
        left join lateral (select q.* from jobtree.queue q where q.type = s.type offset 0) q on true
      on conflict (type, dedupe_key) do nothing
      returning * into v_job;
      exit when v_job.id is not null;

      select j.id into v_existing from jobtree.job j
      where j.type = v_spec ->> 'type' and j.dedupe_key = v_spec ->> 'dedupeKey';
      -- Another transaction may just have freed the key.
      continue when v_existing is null;
      if v_root is not null then
        raise exception 'A job of type % with the dedupe key % exists already.', v_spec ->> 'type', v_spec ->> 'dedupeKey'
          using errcode = 'JT002', column = 'dedupeKey';
      end if;
      perform jobtree.drop_keys(v_keys);
      return query select v_existing, false;
      return;
    end loop;

    v_root := coalesce(v_root, v_job.id);
    if v_spec ->> 'callbacks' is not null then
      perform jobtree.add_callbacks(v_root, v_spec -> 'callbacks');
    end if;
    v_waits := v_waits or v_job.waits;
    insert into jobtree.job_progress (job_id, version, is_root, open_jobs)
    values (v_job.id, 0, v_job.id = v_root, case when v_job.id = v_root then v_node.jobs else 0 end);
    if v_payloads is not null then
      perform jobtree.insert_payloads(v_job, v_payloads);
    elsif v_spec @? 'strict $.items[0]' then
      perform jobtree.insert_items(v_job, v_node.spec -> 'items');
    end if;
    if v_spec ->> 'file' is not null then
      perform jobtree.add_file(v_job.id, v_spec -> 'file');
    end if;
    if v_job.sealed_at is not null then
      insert into jobtree.progress_delta (root_id, job_id) values (v_root, v_job.id);
    end if;
  end loop;

  if p_tree ->> 'traceContext' is not null then
    perform jobtree.check_trace_context(p_tree -> 'traceContext');
    insert into jobtree.trace_context (job_id, position, count, traceparent, tracestate)
    select j.id, b.first, b.last - b.first + 1, p_tree #>> '{traceContext,traceparent}', p_tree #>> '{traceContext,tracestate}'
    from jobtree.job j
    cross join lateral (
      select min(i.position) as first, max(i.position) as last from jobtree.job_item i where i.job_id = j.id group by i.position / 1024
    ) b
    where j.root_id = v_root;
  end if;
  if v_waits then
    perform jobtree.link_jobs(v_root, p_tree);
  end if;
  if v_keys is not null then
    perform jobtree.drop_keys(v_keys);
  end if;
  return query select v_root, true;
end
$$;

-- Folds, all at once, those of the given trees in which only counters change, which is the usual case: each job that has deltas is not
-- sealed or has items left to do, and has no failures that a policy limits.
--
-- p_root_ids the trees, none twice
-- p_from     for each tree the delta to read from
-- returns    the trees that it folded, and the last delta read of each (0 for none). It changed nothing of the others
-- locks      the roots' job_progress rows, skipping locked ones
-- notifies   as fold_progress does
-- durability as fold_progress
create or replace function jobtree.fold_counters(p_root_ids uuid[], p_from bigint[])
returns table (root_id uuid, last_delta bigint)
language plpgsql volatile
set jit = off
set enable_seqscan = off
set enable_bitmapscan = off
set enable_hashjoin = off
set enable_mergejoin = off
-- In case another client has locked deltas: other trees wait for these.
set lock_timeout = '50ms'
set plan_cache_mode = force_generic_plan
as $$
#variable_conflict use_column
declare
  v_now constant timestamptz(3) := clock_timestamp();
  v_roots uuid[];
  v_from bigint[];
  v_rows jobtree.job_progress[];
  v_lasts bigint[];
begin
  perform set_config('synchronous_commit', 'off', true);
  select array_agg(t.root_id), array_agg(t.from_delta) into v_roots, v_from
  from unnest(p_root_ids, p_from) t(root_id, from_delta)
  cross join lateral (
    select from jobtree.job_progress p where p.job_id = t.root_id order by p.version desc limit 1 for no key update skip locked
  ) p;
  if v_roots is null then
    return;
  end if;

  with read as materialized (
    select d.* from unnest(v_roots, v_from) t(root_id, from_delta)
    cross join lateral (
      select d.*, d.ctid as tid from jobtree.progress_delta d where d.root_id = t.root_id and d.id >= t.from_delta offset 0
    ) d
  ), summed as (
    select r.root_id, r.job_id, sum(r.items) as items, sum(r.succeeded) as succeeded, sum(r.failed) as failed,
      sum(r.cancelled) as cancelled, sum(r.bytes) as bytes, bool_or(r.started or r.succeeded > 0) as started, max(r.id) as last, true as is_read
    from read r
    group by r.root_id, r.job_id
    union all
    -- The root's row counts the failures of the tree.
    select r.root_id, r.root_id, 0, 0, 0, 0, 0, false, 0, false
    from read r
    group by r.root_id
    having sum(r.failed) <> 0 and not bool_or(r.job_id = r.root_id)
  ), counted as materialized (
    select s.root_id, s.last, p.tid, p.job_id, p.version, p.is_root, p.generation, p.item_count + s.items as item_count,
      p.succeeded + s.succeeded as succeeded, p.failed + s.failed as failed, p.cancelled + s.cancelled as cancelled, p.open_jobs,
      coalesce(p.started_at, case when s.started then v_now end) as started_at, p.completed_at, p.outcome, p.tree_outcome, p.completions,
      p.bytes + s.bytes as bytes, s.items as more_items, s.bytes as more_bytes, s.is_read,
      p.tree_failed + case when p.is_root then sum(s.failed) over (partition by s.root_id) else 0 end as tree_failed
    from summed s
    cross join lateral (
      select p.*, p.ctid as tid from jobtree.job_progress p where p.job_id = s.job_id order by p.version desc limit 1
    ) p
  ), judged as materialized (
    select t.root_id, coalesce(c.last, 0) as last, c.more_items, c.more_bytes
    from unnest(v_roots) t(root_id)
    left join (
      select c.root_id, max(c.last) as last, sum(c.more_items) as more_items, sum(c.more_bytes) as more_bytes, bool_and(
        not c.is_read
        or c.completed_at is null
        and c.succeeded + c.failed + c.cancelled <= c.item_count
        and (c.succeeded + c.failed + c.cancelled < c.item_count or j.sealed_at is null)
        and (c.failed = 0 or coalesce(j.tolerated_failure_count, j.tolerated_failure_percentage) is null)
      ) as is_plain
      from counted c
      join jobtree.job j on j.id = c.job_id
      group by c.root_id
    ) c on c.root_id = t.root_id
    where c.is_plain is not false
  ), consumed as (
    delete from jobtree.progress_delta d
    where d.ctid = any (array(select r.tid from read r where r.root_id in (select j.root_id from judged j)))
  ), replaced as (
    delete from jobtree.job_progress p
    where p.ctid = any (array(select c.tid from counted c where c.root_id in (select j.root_id from judged j)))
  ), written as (
    insert into jobtree.job_progress
    select c.job_id, c.version + 1, c.is_root, c.generation, c.item_count, c.succeeded, c.failed, c.cancelled, c.open_jobs,
      c.started_at, c.completed_at, c.outcome, c.tree_outcome, c.completions, v_now, null, false, c.bytes, c.tree_failed, null
    from counted c
    where c.root_id in (select j.root_id from judged j)
    returning job_progress
  ), stored as (
    insert into jobtree.stored_delta (tenant, items, bytes)
    select r.tenant, sum(r.items), sum(r.bytes)
    from (
      select jobtree.tenant_of(t.type) as tenant, j.more_items as items, j.more_bytes as bytes
      from judged j
      cross join lateral (select t.type from jobtree.job t where t.id = j.root_id offset 0) t
      where j.more_items <> 0 or j.more_bytes <> 0
    ) r
    group by r.tenant
  )
  select array(select j.root_id from judged j), array(select j.last from judged j), array(select w.job_progress from written w)
  into v_roots, v_lasts, v_rows;

  if cardinality(v_rows) > 0 then
    -- Each message contains how many jobs of its tree are open, which is in the root's row.
    perform jobtree.tell_progress(v_rows || array(
      select p::jobtree.job_progress
      from unnest(v_roots, v_lasts) t(root_id, last)
      cross join lateral (select p.* from jobtree.job_progress p where p.job_id = t.root_id order by p.version desc limit 1) p
      where t.last > 0 and t.root_id not in (select r.job_id from unnest(v_rows) r)
    ));
  end if;
  return query select t.root_id, t.last from unnest(v_roots, v_lasts) t(root_id, last);
end
$$;

-- Turns the deltas of one tree into counters, completes jobs, and notifies listeners.
--
-- A job is complete when it is sealed, waits for no other job, and succeeded + failed + cancelled = itemCount. Its completion seals the
-- children that it feeds and releases jobs that wait for it, which may complete those in turn; the tree is complete when openJobs on the
-- root's row is 0, and its retention counts from then on. Jobs in which more items failed than they tolerate are ended here: fail_jobs.
--
-- p_from     the delta to read from: a low-water mark that skips the dead rows of deltas folded before. A fold from 0 finds deltas below it
--            that committed late. Before a job is declared complete, its deltas are read from 0, after it was seen to be sealed: no more
--            items can be added then, so the sum is exact
-- returns    no row if another fold has the tree (try again); otherwise the last delta read (0 for none); whether to try again, since a job
--            could not be sealed, released or ended yet because a transaction is adding to it, or more layers of jobs may end; and whether work is left for cancel_items or
--            release_items. Deltas of a deleted tree are deleted
-- locks      the root's job_progress row, and then the rows of jobs to be ended, sealed or released, skipping locked ones
-- notifies   send_hint, topic progress: {root, openJobs, jobs: [{jobId, generation, itemCount, succeeded, failed, cancelled, sealed,
--            startedAt, completedAt, outcome, cancelReason, completions}]}, times in milliseconds; up to 22 jobs a message, below 8,000
--            bytes. openJobs is 0 only in the last message: jobs whose completion is in a later message count as open
-- durability the commit does not wait for the disk, so that Postgres's notification lock is held only for an instant; after a crash the
--            deltas are back, and are counted again
create or replace function jobtree.fold_progress(p_root_id uuid, p_from bigint default 0)
returns table (last_delta bigint, retry boolean, unfinished boolean)
language plpgsql volatile
set jit = off
set enable_seqscan = off
set enable_bitmapscan = off
set enable_mergejoin = off
-- In case another client has locked deltas: other trees wait for this one.
set lock_timeout = '50ms'
set plan_cache_mode = force_generic_plan
as $$
declare
  v_now constant timestamptz(3) := clock_timestamp();
  v_root jobtree.job_progress;
  -- The counters of the jobs under examination, as they will be written at the end.
  v_rows jobtree.job_progress[];
  v_from bigint := p_from;
  v_last bigint := 0;
  v_read_last bigint;
  v_read uuid[];
  -- The root, if any job has more failures: its row counts those of the tree.
  v_counting_root uuid[];
  v_touched uuid[] := '{}';
  v_changed uuid[] := '{}';
  v_completed uuid[];
  -- All jobs that this fold has completed.
  v_ends uuid[] := '{}';
  -- Jobs known to be sealed before the deltas were last read from 0: their sums are exact.
  v_sure uuid[] := '{}';
  v_sealed uuid[] := '{}';
  v_suspect boolean;
  -- Whether a job has all its items done, and whether a complete job may have children to seal.
  v_even boolean;
  v_over boolean;
  v_blocked uuid[] := '{}';
  -- Jobs that were just ended because more items failed than they tolerate; those for which only the next count can tell;
  -- and those that a transaction is adding to.
  v_has_failures boolean;
  v_ended uuid[];
  v_inexact uuid[];
  v_held uuid[];
  -- Of the completed jobs.
  v_failed uuid[];
  v_cancelled uuid[];
  v_settled uuid[];
  v_awaited boolean;
  -- The tree's retention, if this fold has completed it.
  v_reap_at timestamptz;
  v_default_retention boolean := false;
  -- What the deltas add to the tenant's storage.
  v_items bigint := 0;
  v_bytes bigint := 0;
  -- To which transactions are still adding.
  v_busy uuid[] := '{}';
  v_free uuid[];
  -- Jobs that the next fold must examine again.
  v_again uuid[] := '{}';
  v_unfinished boolean := false;
  -- How many times the end of jobs has sealed or released others, which may then end.
  c_most_layers constant integer := 10;
  v_layers integer := 0;
begin
  perform set_config('synchronous_commit', 'off', true);
  select * into v_root from jobtree.job_progress p
  where p.job_id = p_root_id order by p.version desc limit 1 for no key update skip locked;
  if not found then
    if not exists (select from jobtree.job_progress p where p.job_id = p_root_id) then
      delete from jobtree.progress_delta d where d.root_id = p_root_id;
      return query select 0::bigint, false, false;
    end if;
    return;
  end if;
  v_rows := array[v_root];

  loop
    with consumed as (
      delete from jobtree.progress_delta d where d.root_id = p_root_id and d.id >= v_from
      returning d.*
    ), summed as (
      select c.job_id, sum(c.items) as items, sum(c.succeeded) as succeeded, sum(c.failed) as failed,
        sum(c.cancelled) as cancelled, sum(c.bytes) as bytes, bool_or(c.started or c.succeeded > 0) as started, max(c.id) as last
      from consumed c
      group by c.job_id
    ), known as (
      select r.* from unnest(v_rows) r
      union all
      select p.*
      from (select s.job_id from summed s union select u from unnest(v_sealed) u) n
      cross join lateral (
        select * from jobtree.job_progress p where p.job_id = n.job_id order by p.version desc limit 1
      ) p
      where n.job_id not in (select r.job_id from unnest(v_rows) r)
    ), counted as (
      select k.job_id, k.version, k.is_root, k.generation, k.item_count + coalesce(s.items, 0) as item_count,
        k.succeeded + coalesce(s.succeeded, 0) as succeeded, k.failed + coalesce(s.failed, 0) as failed,
        k.cancelled + coalesce(s.cancelled, 0) as cancelled, k.open_jobs,
        coalesce(k.started_at, case when s.started then v_now end) as started_at, k.completed_at, k.outcome, k.tree_outcome, k.completions,
        k.changed_at, k.reap_at, k.default_retention, k.bytes + coalesce(s.bytes, 0) as bytes,
        k.tree_failed + case when k.is_root then coalesce((select sum(a.failed) from summed a), 0) else 0 end as tree_failed,
        k.tree_completed_at
      from known k
      left join summed s on s.job_id = k.job_id
    )
    select (select max(s.last) from summed s), (select array_agg(s.job_id) from summed s),
      (select array[p_root_id] from summed s where s.failed <> 0 limit 1),
      v_items + coalesce((select sum(s.items) from summed s), 0), v_bytes + coalesce((select sum(s.bytes) from summed s), 0),
      bool_or(c.succeeded + c.failed + c.cancelled > c.item_count),
      bool_or(c.succeeded + c.failed + c.cancelled = c.item_count and c.completed_at is null),
      bool_or(c.completed_at is not null and (c.job_id = any (v_touched) or c.job_id in (select s.job_id from summed s))),
      bool_or(c.failed > 0 and c.completed_at is null), array_agg(c::jobtree.job_progress)
    into v_read_last, v_read, v_counting_root, v_items, v_bytes, v_suspect, v_even, v_over, v_has_failures, v_rows
    from counted c;

    v_last := greatest(v_last, v_read_last);
    v_touched := v_touched || v_read;
    v_changed := v_changed || v_read || v_counting_root;

    v_held := null;
    if v_has_failures then
      select f.ended, f.inexact, f.held into v_ended, v_inexact, v_held from jobtree.fail_jobs(v_rows, v_touched, v_sure, v_busy) f;
      if v_ended is not null or v_inexact is not null then
        v_unfinished := v_unfinished or v_ended is not null;
        v_changed := v_changed || v_ended;
        v_from := 0;
        v_free := jobtree.exclude_adders(v_inexact);
        v_sure := v_sure || v_free;
        v_busy := v_busy || array(select i from unnest(v_inexact) i where i <> all (v_free));
        continue;
      end if;
      v_again := v_again || v_held;
    end if;

    v_completed := null;
    v_awaited := false;
    if v_even then
      select array_agg(r.job_id), array_agg(r.job_id) filter (where j.failed_at is not null),
        array_agg(r.job_id) filter (where j.failed_at is null and j.cancelled_at is not null),
        bool_or(j.awaited)
      into v_completed, v_failed, v_cancelled, v_awaited
      from unnest(v_rows) r
      join jobtree.job j on j.id = r.job_id
      where r.job_id = any (v_touched) and r.completed_at is null and j.sealed_at is not null and not j.waits
        and (r.job_id = any (v_held || v_busy)) is not true and r.succeeded + r.failed + r.cancelled = r.item_count;
    end if;

    if (v_from > 0 and v_suspect) or not coalesce(v_completed, '{}') <@ v_sure then
      v_from := 0;
      v_free := jobtree.exclude_adders(v_completed);
      v_sure := v_sure || v_free;
      v_busy := v_busy || array(select c from unnest(v_completed) c where c <> all (v_free));
      continue;
    end if;
    if v_completed is not null then
      with judged as materialized (
        select r.*, r.job_id = any (v_completed) as ends,
          case
            when (r.job_id = any (v_completed)) is not true then r.outcome
            when r.job_id = any (v_failed) then 'FAILED' when r.job_id = any (v_cancelled) then 'CANCELLED'
            when r.failed = 0 then 'SUCCEEDED' when r.succeeded > 0 then 'PARTIAL' else 'FAILED'
          end as verdict
        from unnest(v_rows) r
      )
      select array_agg(row(
        j.job_id, j.version, j.is_root, j.generation, j.item_count, j.succeeded, j.failed, j.cancelled,
        j.open_jobs - case when j.is_root then cardinality(v_completed) else 0 end, j.started_at,
        case when j.ends then v_now else j.completed_at end, j.verdict,
        case when j.is_root then jobtree.worst_outcome(j.tree_outcome || array(select e.verdict from judged e where e.ends)) end,
        j.completions + case when j.ends then 1 else 0 end, j.changed_at, j.reap_at, j.default_retention, j.bytes, j.tree_failed,
        case when j.is_root and j.open_jobs = cardinality(v_completed) then v_now else j.tree_completed_at end
      )::jobtree.job_progress) into v_rows
      from judged j;
      v_changed := v_changed || v_completed || p_root_id;
      v_ends := v_ends || v_completed;
    end if;
    exit when v_completed is null and v_over is not true;

    with waiting as (
      select c.id from jobtree.job c
      where c.parent_id = any (array(
          select r.job_id from unnest(v_rows) r where r.job_id = any (v_touched) and r.completed_at is not null
        ))
        and c.feed is not null and c.sealed_at is null
    ), free as (
      select c.id from jobtree.job c where c.id = any (array(select w.id from waiting w))
      order by c.id
      for no key update skip locked
    ), sealed as (
      update jobtree.job c set sealed_at = v_now where c.id = any (array(select f.id from free f)) returning c.id
    )
    select
      (select array_agg(s.id) from sealed s),
      v_blocked || (select array_agg(w.id) from waiting w where w.id not in (select f.id from free f))
    into v_sealed, v_blocked;

    if v_awaited or v_over then
      select s.settled, v_again || s.again into v_settled, v_again from jobtree.settle_dependents(p_root_id, v_rows, v_touched) s;
      v_unfinished := v_unfinished or v_settled is not null;
      v_sealed := v_sealed || v_settled;
    end if;

    exit when v_completed is null and v_sealed is null;
    v_layers := v_layers + 1;
    if v_layers >= c_most_layers then
      -- Each round costs in proportion to all jobs of the rounds before it, and other trees wait for this one.
      v_again := v_again || v_sealed;
      exit;
    end if;
    -- Items that were added to them so far may have deltas before the mark.
    v_from := 0;
    v_changed := v_changed || v_sealed;
    v_touched := v_sealed;
  end loop;

  if cardinality(v_ends) > 0 then
    select case when j.retention_seconds is distinct from -1 then v_now + coalesce(j.retention_seconds, 0) * interval '1 second' end,
      j.retention_seconds is null
    into v_reap_at, v_default_retention
    from jobtree.job j
    where j.id = p_root_id and (select r.open_jobs = 0 from unnest(v_rows) r where r.is_root);
  end if;
  with replaced as (
    delete from jobtree.job_progress p using unnest(v_rows) r
    where r.job_id = any (v_changed) and p.job_id = r.job_id and p.version = r.version
  )
  insert into jobtree.job_progress
  select r.job_id, r.version + 1, r.is_root, r.generation, r.item_count, r.succeeded, r.failed, r.cancelled, r.open_jobs,
    r.started_at, r.completed_at, r.outcome, r.tree_outcome, r.completions, v_now,
    case when r.is_root then coalesce(v_reap_at, r.reap_at) end,
    case when r.is_root and v_reap_at is not null then v_default_retention else r.default_retention end, r.bytes,
    r.tree_failed, r.tree_completed_at
  from unnest(v_rows) r
  where r.job_id = any (v_changed);
  if v_items <> 0 or v_bytes <> 0 then
    insert into jobtree.stored_delta (tenant, items, bytes)
    select jobtree.tenant_of(j.type), v_items, v_bytes from jobtree.job j where j.id = p_root_id;
  end if;
  if cardinality(v_ends) > 0 then
    perform jobtree.add_deliveries(p_root_id, v_ends);
  end if;

  if cardinality(v_blocked) > 0 then
    -- Transactions are adding to these children: have the next fold examine their parents again.
    v_again := v_again || array(select c.parent_id from jobtree.job c where c.id = any (v_blocked));
  end if;
  v_again := v_again || v_busy;
  if cardinality(v_again) > 0 then
    insert into jobtree.progress_delta (root_id, job_id) select distinct p_root_id, a.id from unnest(v_again) a(id);
  end if;

  if cardinality(v_changed) > 0 then
    perform jobtree.tell_progress(array(select r from unnest(v_rows) r where r.job_id = any (v_changed) or r.is_root));
  end if;
  return query select v_last, cardinality(v_again) > 0, v_unfinished;
end
$$;

-- Reopens jobs whose failed items are replayed, and unseals the sealed jobs that they feed, since their parents are no longer complete.
-- Each begins a new generation. The tree is not reaped before it is complete again.
--
-- p_job_ids  the job of each replayed item
-- returns    the new states of these jobs, and that of the root
-- locks      the rows of the jobs that it unseals, in the order of their ids. The caller has locked the root's job_progress row
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
    select p.*, n.replayed, n.opened
    from (
      select o.id, o.replayed, true as opened from opened o
      union all
      select p_root_id, 0, false where p_root_id not in (select o.id from opened o)
    ) n
    cross join lateral (select * from jobtree.job_progress p where p.job_id = n.id order by p.version desc limit 1) p
  )
  select array_agg(row(
      k.job_id, k.version + 1, k.is_root, k.generation + case when k.opened then 1 else 0 end, k.item_count, k.succeeded,
      k.failed - k.replayed, k.cancelled,
      k.open_jobs + case when k.is_root then (select count(*) from known c where c.opened and c.completed_at is not null) else 0 end,
      k.started_at, case when not k.opened then k.completed_at end, case when not k.opened then k.outcome end,
      case when k.is_root then (
        -- The worst outcome of the jobs that are still complete.
        select jobtree.worst_outcome(array_agg(distinct p.outcome))
        from jobtree.job j
        cross join lateral (select p.outcome from jobtree.job_progress p where p.job_id = j.id order by p.version desc limit 1) p
        where j.root_id = p_root_id and j.id not in (select o.id from opened o)
      ) end, k.completions, clock_timestamp(), null, false, k.bytes,
      k.tree_failed - case when k.is_root then cardinality(p_job_ids) else 0 end, null
    )::jobtree.job_progress)
  into v_rows
  from known k;

  delete from jobtree.job_progress p using unnest(v_rows) r where p.job_id = r.job_id and p.version < r.version;
  insert into jobtree.job_progress select r.* from unnest(v_rows) r;
  return v_rows;
end
$$;
