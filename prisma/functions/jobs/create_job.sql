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
-- plans: no seqscan; generic
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
      perform jobtree.add_file(v_job.id, v_job.type, v_spec -> 'file');
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
