set local check_function_bodies = off;

-- Adds items to a job that is not sealed, and with p_seal seals it in the same transaction.
--
-- p_items    as insert_items has it
-- returns    the tree's root, the job's type and priority, and what insert_items returns
-- locks      the job's row: shared, so that adders run side by side while seal_job and cancel_job wait for them;
--            exclusively where it will be sealed, because two that held it shared would then wait for each other
-- errors     JT001 no such job, JT003 the job is sealed (or cancelled), JT004 p_seal on a job that its parent seals
create or replace function jobtree.add_items(p_job_id uuid, p_items jsonb, p_seal boolean default false)
returns table (root_id uuid, type text, priority smallint, item_ids uuid[], added boolean[])
language plpgsql volatile
set plan_cache_mode = force_generic_plan
as $$
declare
  v_job jobtree.job;
begin
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

-- Cancels pending items of one cancelled job, up to p_limit of them, from a position on: waiting ones leave the queue,
-- holds end (their workers learn it from the next heartbeat). Repeat until a whole pass finds nothing pending: an item
-- may change hands while this looks at it.
--
-- returns    how many were cancelled, how many were pending but out of reach, and the position to go on from: null
--            at the job's end
-- locks      assignments in the order of their ids, then queue entries and items
create or replace function jobtree.cancel_items(p_job_id uuid, p_from bigint default 0, p_limit integer default 1000)
returns table (cancelled integer, missed integer, next_from bigint)
language plpgsql volatile
set enable_seqscan = off
as $$
declare
  v_now constant timestamptz := clock_timestamp();
  v_items uuid[];
  v_last bigint;
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

  perform 1 from jobtree.assignment a where a.held_item_id = any (v_items) order by a.id for update;
  with pending as materialized (
    select i.id from jobtree.job_item i
    left join jobtree.assignment a on a.held_item_id = i.id
    where i.id = any (v_items) and i.failed_at is null and i.cancelled_at is null and a.finished_at is null
  ), dropped as (
    delete from jobtree.queue_entry q using pending p where q.item_id = p.id returning q.item_id
  ), ended as (
    update jobtree.assignment a set finished_at = v_now, outcome = 'cancelled'
    from pending p
    where a.held_item_id = p.id and a.finished_at is null
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

-- Cancels a job and all below it. This marks the jobs, which then take no items; cancel_items does the rest and may be
-- called again after a crash. Cancelling twice does nothing.
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
  set cancelled_at = clock_timestamp(), sealed_at = coalesce(j.sealed_at, clock_timestamp())
  where j.id = any (v_jobs) and j.cancelled_at is null
    and not exists (select from jobtree.job_progress p where p.job_id = j.id and p.completed_at is not null);
  -- Only for jobs that are still there: this may have waited for delete_tree.
  insert into jobtree.progress_delta (root_id, job_id)
  select j.root_id, j.id from jobtree.job j where j.id = any (v_jobs);
  return query select v_root, v_jobs;
end
$$;

-- Gives one named item to a worker, whatever stands before it.
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
  where q.item_id = p_item_id and q.run_at is null
  for update;
  if v_tid is not null then
    return query select * from jobtree.hold_entries(array[v_tid], array[p_worker]);
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

-- Gives ready items to workers: of each type the highest priority first, then in the order in which they became ready.
--
-- p_workers, p_types, p_limits   who wants how many of which type, an element each; of one type, who stands first gets
--            what goes first
-- p_lane_types, p_lane_priorities, p_lane_from
--            low-water positions: of that type and priority nothing claimable was seen below. A type that has lanes
--            here is looked at in these lanes alone; one that has none is read from its start, past every dead row.
--            They are hints of a caller that reads from the start now and then, for rows that committed late, came
--            back, or have a new priority.
-- returns    as hold_entries has it; n orders the items of a type as they go
-- locks      queue entries, skipping those that another claim has
-- durability the commit does not wait for the disk: a claim that a crash forgets leaves the item ready and its
--            assignment unknown, so a report under it is STALE. Do not call this inside a transaction of your own.
create or replace function jobtree.claim_items(
  p_workers text[], p_types text[], p_limits integer[],
  p_lane_types text[] default '{}', p_lane_priorities smallint[] default '{}', p_lane_from bigint[] default '{}'
)
returns table (
  job_id uuid, root_id uuid, type text, heartbeat_interval_ms integer, claimed_at timestamptz, deadline_at timestamptz,
  items json
)
language plpgsql volatile
set enable_seqscan = off
set enable_bitmapscan = off
set plan_cache_mode = force_generic_plan
as $$
declare
  v_want record;
  v_lane record;
  v_more tid[];
  v_picked tid[];
  v_tids tid[] := '{}';
  v_workers text[] := '{}';
begin
  perform set_config('synchronous_commit', 'off', true);

  for v_want in
    select w.type, sum(w.count)::integer as room, array_agg(w.worker order by w.n) as workers,
      array_agg(w.count order by w.n) as counts
    from unnest(p_workers, p_types, p_limits) with ordinality w(worker, type, count, n)
    group by w.type
  loop
    v_picked := '{}';
    if v_want.type = any (p_lane_types) then
      for v_lane in
        select l.priority, l.from_position
        from unnest(p_lane_types, p_lane_priorities, p_lane_from) l(type, priority, from_position)
        where l.type = v_want.type
        order by l.priority desc
      loop
        select array_agg(e.ctid) into v_more
        from (
          select q.ctid from jobtree.queue_entry q
          where q.type = v_want.type and q.priority = v_lane.priority and q.position >= v_lane.from_position
            and q.run_at is null
          order by q.position
          limit v_want.room - cardinality(v_picked)
          for update skip locked
        ) e;
        v_picked := v_picked || v_more;
        exit when cardinality(v_picked) = v_want.room;
      end loop;
    else
      select array_agg(e.ctid) into v_more
      from (
        select q.ctid from jobtree.queue_entry q
        where q.type = v_want.type and q.run_at is null
        order by q.priority desc, q.position
        limit v_want.room
        for update skip locked
      ) e;
      v_picked := v_picked || v_more;
    end if;
    v_tids := v_tids || v_picked;
    for v_i in 1 .. cardinality(v_want.workers) loop
      v_workers := v_workers
        || array_fill(v_want.workers[v_i], array[least(v_want.counts[v_i], cardinality(v_tids) - cardinality(v_workers))]);
    end loop;
  end loop;

  if cardinality(v_tids) > 0 then
    return query select * from jobtree.hold_entries(v_tids, v_workers);
  end if;
end
$$;

-- Creates a whole tree of jobs, with the items that it starts with.
--
-- p_tree     JSON of the root: {type, maxFailuresPerItem?, backoffMs?, backoffJitter?, heartbeatIntervalMs?, priority?,
--            runAt?, finalStage?, dedupeKey?, sealed?, feed?, items?, children?}; children are the same, and any depth
--            up to 32. feed (children only) is {source: SUCCESSES|REPORTS, forEach?, payload?}: feed_payloads.
--            A job without children is a final stage unless finalStage says otherwise.
-- returns    the root's id, and whether it is new: with a dedupeKey that a job of the type has, it is that job's id
-- errors     JT002 a tree too deep or too large, a feed at the root, a child's dedupeKey that is in use;
--            23514 a value out of bounds (the table's checks)
create or replace function jobtree.create_job(p_tree jsonb)
returns table (job_id uuid, created boolean)
language plpgsql volatile
set plan_cache_mode = force_generic_plan
as $$
declare
  v_now constant timestamptz := clock_timestamp();
  v_root uuid;
  v_existing uuid;
  v_node record;
  v_job jobtree.job;
begin
  if p_tree ? 'feed' then
    raise exception 'The root has no parent to feed it.' using errcode = 'JT002', column = 'feed';
  end if;

  for v_node in
    with recursive node as (
      select array[]::integer[] as path, p_tree as spec
      union all
      select n.path || c.ordinality::integer, c.value
      from node n
      cross join lateral jsonb_array_elements(n.spec -> 'children') with ordinality c
      where cardinality(n.path) <= 32
    )
    select n.path, n.spec, count(*) over () as jobs, max(cardinality(n.path)) over () as depth
    from node n
    order by n.path
  loop
    if v_node.depth > 32 then
      raise exception 'The tree is more than 32 levels deep below its root.' using errcode = 'JT002', column = 'children';
    end if;
    if v_node.jobs > 1000 then
      raise exception 'The tree has % jobs; the limit is 1000.', v_node.jobs using errcode = 'JT002', column = 'children';
    end if;

    if v_node.spec ? 'feed' and (v_node.spec ->> 'sealed')::boolean then
      raise exception 'A job that its parent feeds is sealed by its parent''s completion.' using errcode = 'JT002', column = 'sealed';
    end if;

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
      case when v_node.spec ? 'feed' then '{"source": "SUCCESSES"}' || s.feed end,
      coalesce(jsonb_path_exists(v_node.spec, '$.children[*].feed'), false), v_now,
      case when s.sealed then v_now end
    from (select jobtree.new_id() as id) n,
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
    if jsonb_array_length(v_node.spec -> 'items') > 0 then
      perform jobtree.insert_items(v_job, v_node.spec -> 'items');
    end if;
    if v_job.sealed_at is not null then
      insert into jobtree.progress_delta (root_id, job_id) values (v_root, v_job.id);
    end if;
  end loop;

  return query select v_root, true;
end
$$;

-- Deletes a tree that is complete, up to p_limit items a call, the jobs with the last of them. A tree at work is
-- cancelled first: cancel_job, cancel_items, fold_progress.
--
-- returns    whether the tree is gone
-- errors     JT001 no such job, JT002 not a root, or not complete
create or replace function jobtree.delete_tree(p_root_id uuid, p_limit integer default 1000)
returns boolean
language plpgsql volatile
set enable_seqscan = off
as $$
declare
  v_root jobtree.job;
  v_items uuid[];
begin
  select * into v_root from jobtree.job j where j.id = p_root_id for update;
  if v_root.id is null then
    raise exception 'There is no job %.', p_root_id using errcode = 'JT001', column = 'jobId';
  end if;
  if v_root.root_id <> v_root.id then
    raise exception 'Job % is not a root: only whole trees are deleted.', p_root_id using errcode = 'JT002', column = 'jobId';
  end if;
  if (select p.open_jobs from jobtree.job_progress p where p.job_id = p_root_id) > 0 then
    raise exception 'The tree of job % is not complete.', p_root_id using errcode = 'JT002', column = 'jobId';
  end if;

  select array_agg(i.id) into v_items
  from (
    select i.id from jobtree.job_item i
    where i.job_id in (select j.id from jobtree.job j where j.root_id = p_root_id)
    limit p_limit
  ) i;
  if v_items is not null then
    delete from jobtree.assignment a where a.held_item_id = any (v_items);
    -- The assignments that failed are named by the failures of their items.
    delete from jobtree.assignment a
    using jobtree.job_item i, jsonb_array_elements(i.failures) f
    where i.id = any (v_items) and a.id = (f.value ->> 'assignmentId')::uuid;
    delete from jobtree.job_item i where i.id = any (v_items);
    return false;
  end if;

  -- In the order in which a fold takes them.
  delete from jobtree.job_progress p where p.root_id = p_root_id;
  delete from jobtree.progress_delta d where d.root_id = p_root_id;
  delete from jobtree.job j where j.root_id = p_root_id;
  return true;
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
        'worker', d.worker, 'at', v_now, 'assignmentId', d.id
      )
    from judged d
    where i.id = d.item_id
    returning i.id as item_id, i.priority
  ), queued as (
    insert into jobtree.queue_entry (item_id, root_id, job_id, type, priority, position, run_at, attempt)
    select d.item_id, d.root_id, d.job_id, d.type, f.priority, nextval('jobtree.job_item_position_seq'),
      case when d.due_at > v_now then d.due_at end, d.attempt + 1
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
-- returns    the types of the children that got items
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
      v_types := v_types || v_child.type;
    end if;
  end loop;
  return v_types;
end
$$;

-- The payloads of the new items that one success of a parent makes for a child.
--
-- p_feed     {forEach?: path to a list, payload?: a path, or an object whose values are paths}. A path is payload,
--            result or (with forEach) element, then keys or list positions behind dots: result.lines.0.amount.
--            Without payload: the element, or the whole result. A path to nothing gives null.
-- returns    one payload, or one for each element of the list; with forEach that leads to no list: no row at all
create or replace function jobtree.feed_payloads(p_feed jsonb, p_payload jsonb, p_result jsonb)
returns setof jsonb
language sql immutable
as $$
  select case jsonb_typeof(f.template)
    when 'object' then (
      select coalesce(jsonb_object_agg(t.key, jobtree.feed_value(t.value, p_payload, p_result, c.element)), '{}')
      from jsonb_each_text(f.template) t
    )
    else jobtree.feed_value(f.template #>> '{}', p_payload, p_result, c.element)
  end
  from (
    select
      jobtree.feed_value(p_feed ->> 'forEach', p_payload, p_result, null) as list,
      coalesce(p_feed -> 'payload', case when p_feed ->> 'forEach' is null then '"result"' else '"element"' end::jsonb) as template
  ) f
  cross join lateral (
    select null::jsonb as element where p_feed ->> 'forEach' is null
    union all
    select e.value
    from jsonb_array_elements(case jsonb_typeof(f.list) when 'array' then f.list else '[]' end) e
    where p_feed ->> 'forEach' is not null
  ) c
$$;

-- What is wrong with reports whose successes feed child jobs: a forEach that leads to no list, or new items for a
-- type that is not the type of exactly one fed child.
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
  ) p
  order by p.id
$$;

-- What a path of a feed leads to: payload, result or element, then keys or list positions behind dots; null if to nothing.
-- Each path is looked up in its own root: one object of all three would be copied for every element of a list.
create or replace function jobtree.feed_value(p_path text, p_payload jsonb, p_result jsonb, p_element jsonb)
returns jsonb
language sql immutable
as $$
  select coalesce(
    case split_part(p_path, '.', 1) when 'payload' then p_payload when 'result' then p_result when 'element' then p_element end
      #> (string_to_array(p_path, '.'))[2:],
    'null'
  )
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
-- notifies   channel jobtree_progress: {root, openJobs, jobs: [{jobId, revision, itemCount, succeeded, failed, cancelled,
--            sealed, startedAt, completedAt}]}, times in milliseconds; up to 25 jobs a message, below 8,000 bytes
-- durability the commit does not wait for the disk, so that Postgres's notification lock is held only for an instant;
--            after a crash the deltas are there again, and a revision may come again with newer counts
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
    update jobtree.job_progress p set revision = p.revision + 1
    where p.job_id = any (v_changed) or p.job_id = p_root_id;

    select p.open_jobs into v_open from jobtree.job_progress p where p.job_id = p_root_id;
    perform pg_notify('jobtree_progress', jsonb_build_object('root', p_root_id, 'openJobs', v_open, 'jobs', m.jobs)::text)
    from (
      select jsonb_agg(jsonb_build_object(
        'jobId', p.job_id, 'revision', p.revision, 'itemCount', p.item_count, 'succeeded', p.succeeded,
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

-- Keeps holds alive: each deadline moves to three heartbeat intervals from now.
--
-- returns    per assignment HELD, FINISHED (its outcome was reported), CANCELLED, or LOST (unknown, released, or taken
--            back); for all but HELD the worker stops its work
-- locks      the assignments, in the order of their ids
-- durability the commit does not wait for the disk: losing a heartbeat costs at most the hold
create or replace function jobtree.heartbeat(p_ids uuid[])
returns table (assignment_id uuid, status text)
language plpgsql volatile
set enable_seqscan = off
set plan_cache_mode = force_generic_plan
as $$
declare
  v_now constant timestamptz := clock_timestamp();
begin
  perform set_config('synchronous_commit', 'off', true);
  perform 1 from jobtree.assignment a where a.id = any (p_ids) order by a.id for no key update;

  update jobtree.assignment a
  set heartbeat_at = v_now, deadline_at = v_now + 3 * j.heartbeat_interval_ms * interval '1 millisecond'
  from jobtree.job j
  where a.id = any (p_ids) and a.finished_at is null and j.id = a.job_id;

  return query
  select g.id,
    case
      when a.id is null then 'LOST'
      when a.finished_at is null then 'HELD'
      when a.outcome = 'cancelled' then 'CANCELLED'
      when a.outcome = 'lost' then 'LOST'
      else 'FINISHED'
    end
  from unnest(p_ids) with ordinality g(id, n)
  left join jobtree.assignment a on a.id = g.id
  order by g.n;
end
$$;

-- Turns queue entries into assignments. The second half of claim_items and claim_item.
--
-- p_tids     where the entries are: rows that this transaction has locked
-- p_workers  who gets them, in the same order
-- returns    a row for each job that they belong to; items has a list for each field, of which the entries with the same
--            index belong together: n (the place in p_tids, from 1), id (of the assignment), itemId, attempt, priority,
--            position and payload
-- locks      none new; deletes the entries, inserts assignments, and a delta for a job that had not started
create or replace function jobtree.hold_entries(p_tids tid[], p_workers text[])
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
  v_now constant timestamptz := clock_timestamp();
  -- The ids of a batch share their time and go up; what makes each a key that nobody can guess from another is a hash
  -- over a secret of the batch. Random bytes for each would cost several times as much.
  v_id constant text := left(jobtree.new_id()::text, 19) || 'a';
  v_secret constant text := gen_random_uuid()::text;
begin
  return query
  with taken as (
    delete from jobtree.queue_entry q
    using unnest(p_tids, p_workers) with ordinality p(tid, worker, n)
    where q.ctid = p.tid
    returning (v_id || lpad(to_hex(p.n & 4095), 3, '0') || '-' || left(encode(sha256((v_secret || p.n)::bytea), 'hex'), 12))::uuid as id, p.n, p.worker, q.*
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
    insert into jobtree.job_item (id, root_id, job_id, position, payload, priority, run_at, created_at)
    select g.id, p_job.root_id, p_job.id, g.position, g.payload, g.priority, g.run_at, v_now
    from given g
    where g.dedupe_key is null
    returning job_item.id, job_item.position, job_item.priority, job_item.run_at
  ), keyed as (
    insert into jobtree.job_item (id, root_id, job_id, position, payload, dedupe_key, priority, run_at, created_at)
    select g.id, p_job.root_id, p_job.id, g.position, g.payload, g.dedupe_key, g.priority, g.run_at, v_now
    from given g
    where g.dedupe_key is not null
    -- In the order of their keys: two calls with the same keys would deadlock otherwise.
    order by g.dedupe_key, g.position
    on conflict (job_id, dedupe_key) where dedupe_key is not null do nothing
    returning job_item.id, job_item.position, job_item.priority, job_item.run_at
  ), queued as (
    insert into jobtree.queue_entry (item_id, root_id, job_id, type, priority, position, run_at, attempt)
    select i.id, p_job.root_id, p_job.id, p_job.type, i.priority, i.position,
      case when i.run_at > v_now then i.run_at end, 1
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
    insert into jobtree.queue_entry (item_id, root_id, job_id, type, priority, position, attempt)
    select i.id, i.root_id, i.job_id, j.type, i.priority, i.position, r.attempt
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

-- Takes the outcomes of attempts: a result, or a failure. Each is judged alone:
--   ACCEPTED   it counts, and is durable once this commits
--   DUPLICATE  this assignment has reported the same before: a retried call, nothing changes
--   STALE      the hold is gone (lost, released, cancelled) or ended otherwise: nothing changes
--   INVALID    what it says can't be taken: nothing changes, and the hold is kept
-- A hold past its deadline that nobody took back still counts: expiry permits taking back, it does not revoke.
--
-- p_reports  JSON array of {assignmentId, result} or {assignmentId, failure: {code, message, permanent?}}, and with a
--            result newItems?: [{type, payload, dedupeKey?, priority?, runAt?}] for fed children. Of two reports for
--            one assignment the first is judged first.
-- returns    one row: the roots of the trees that changed, the types which may have got claimable items, and the answers,
--            a list of {index, status, retryAt, field, message}: index counts from 0, retryAt is when a failed item is due
--            again. A report that is not in it is ACCEPTED, with nothing more to say; null if that holds for all.
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
  select array_agg(r.id), jsonb_object_agg(r.id, r.report order by r.n desc), bool_or(r.report ?| '{failure,newItems}')
  into v_ids, v_reports, v_special
  from (
    select (e.value ->> 'assignmentId')::uuid as id, e.value as report, e.n
    from jsonb_array_elements(p_reports) with ordinality e(value, n)
  ) r;
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
    from jobtree.feed_problems(v_open, v_reports) p;
    select array_agg(o.id) filter (where not v_reports -> o.id::text ? 'failure' and not v_problems ? o.id::text),
      array_agg(o.id) filter (where v_reports -> o.id::text ? 'failure'),
      array_agg(v_reports -> o.id::text -> 'failure') filter (where v_reports -> o.id::text ? 'failure')
    into v_open, v_failed, v_failures
    from unnest(v_open) o(id);
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
      array_agg(distinct e.type) filter (where e.retry_at <= clock_timestamp())
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
  return query
  select v_roots, v_ready, (
    select json_agg(json_build_object(
      'index', j.n - 1, 'status', j.status, 'retryAt', v_accepted -> j.key,
      'field', v_problems #> array[j.key, 'field'], 'message', v_problems #> array[j.key, 'message']
    ))
    from (
      select g.n, g.id::text as key, g.nth,
        case
          when g.nth = 1 and v_accepted ? g.id::text then 'ACCEPTED'
          when g.nth = 1 and v_problems ? g.id::text then 'INVALID'
          when a.outcome = 'succeeded' and not g.report ? 'failure' and a.result = coalesce(g.report -> 'result', 'null') then 'DUPLICATE'
          when a.outcome = 'failed' and g.report ? 'failure' then 'DUPLICATE'
          else 'STALE'
        end as status
      from (
        select r.*, row_number() over (partition by r.id order by r.n) as nth
        from (
          select (e.value ->> 'assignmentId')::uuid as id, e.value as report, e.n
          from jsonb_array_elements(p_reports) with ordinality e(value, n)
        ) r
      ) g
      left join jobtree.assignment a on a.id = g.id
    ) j
    where j.status <> 'ACCEPTED' or v_retries ? j.key
  );
end
$$;

-- Says that a job gets no more items. Sealing a sealed job does nothing.
--
-- locks      the job's row, exclusively: waits for add_items in flight
-- errors     JT001 no such job, JT004 the job is fed by its parent, whose completion seals it
create or replace function jobtree.seal_job(p_job_id uuid)
returns uuid
language plpgsql volatile
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
    -- A delta of nothing: it has the fold look at the job.
    insert into jobtree.progress_delta (root_id, job_id) values (v_job.root_id, v_job.id);
  end if;
  return v_job.root_id;
end
$$;

-- What time brings about, in bounded batches: holds whose heartbeat stopped become failures, due entries become ready.
-- Call it again at once while a batch was full.
--
-- p_deadline_from  a low-water mark: no unfinished hold has an older deadline. It skips the dead and the finished ones;
--                  null reads all.
-- returns          how many holds were lost and entries promoted, the types that got ready entries, the roots that have
--                  something to fold, and the mark for the next call: one minute behind the clock, which is more than a
--                  claim takes to commit
-- locks            assignments and entries, skipping those that somebody works on
create or replace function jobtree.sweep(p_deadline_from timestamptz default null, p_limit integer default 1000)
returns table (lost integer, promoted integer, ready_types text[], root_ids uuid[], deadline_from timestamptz)
language plpgsql volatile
set enable_seqscan = off
as $$
declare
  v_now constant timestamptz := clock_timestamp();
  v_ids uuid[];
  v_promoted integer;
  v_ready text[] := '{}';
  v_retried text[];
  v_roots uuid[];
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
    select array_agg(distinct f.type) filter (where f.retry_at <= clock_timestamp()) into v_retried
    from jobtree.fail_assignments(
      v_ids,
      array_fill('{"code": "HEARTBEAT_LOST", "message": "The worker''s heartbeat was lost."}'::jsonb, array[cardinality(v_ids)]),
      'lost'
    ) f;
  end if;

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
  select count(*), array_agg(distinct p.type) into v_promoted, v_ready from promoted p;

  -- Deltas that nobody has folded come from a server that died, or from SQL: no worker was told of their items.
  select array_agg(distinct d.root_id), v_ready || array_agg(distinct j.type) filter (where d.items > 0)
  into v_roots, v_ready
  from (select d.root_id, d.job_id, d.items from jobtree.progress_delta d limit p_limit) d
  join jobtree.job j on j.id = d.job_id;

  return query select
    coalesce(cardinality(v_ids), 0), v_promoted, v_ready || v_retried, v_roots,
    case when cardinality(v_ids) = p_limit then p_deadline_from else v_now - interval '1 minute' end;
end
$$;
