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
-- plans: no seqscan, bitmapscan; generic
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
