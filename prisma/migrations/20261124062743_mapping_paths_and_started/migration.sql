set local check_function_bodies = off;

-- Fails items for good: writes their outcomes and dead letters, and counts them. An item with a serialize key passes it to the next one in
-- its line, or keeps it until the dead letter is replayed or discarded, as its job says.
--
-- p_job_ids, p_positions   the items, none twice, which are no longer in an entry or an open lease
-- p_lease_ids    the lease of each; null for an item that no worker has started
-- p_codes, p_messages   the last failure of each
-- p_keyed        whether any of them may have a key
-- returns        the types that got ready items, and how many
-- locks          those of promote_next
create or replace function jobtree.bury_items(
  p_job_ids uuid[], p_positions bigint[], p_lease_ids uuid[], p_codes text[], p_messages text[], p_keyed boolean
)
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
    from unnest(p_job_ids, p_positions, p_lease_ids, p_codes, p_messages) u(job_id, position, lease_id, code, message)
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
    from unnest(p_job_ids, p_positions) u(job_id, position)
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

-- The payloads that reports of successes would create for fed jobs through their mappings, for servers that validate them. Goes report by
-- report until there are about 4 MB; the caller asks again for the rest. Leaves out payloads that a report may not create at all
-- (feed_problem).
--
-- p_types    the types of the fed jobs to examine
-- p_lease_ids, p_numbers, p_results   as accept_results takes them
-- p_from     the first report to examine, from 1
-- returns    for each payload the number of its report, the type and the JSON text; and a last row without a type, with the number of the
--            last report examined
create or replace function jobtree.fed_payloads(p_types text[], p_lease_ids uuid[], p_numbers integer[], p_results json, p_from integer)
returns table (n integer, type text, payload text)
language sql stable
set jit = off
set enable_seqscan = off
as $$
  with made as materialized (
    select u.n, c.id, c.type, c.feed, i.payload, u.result, z.items, z.bytes,
      sum(case when z.items <= 1000 and z.bytes <= 20e6 then z.bytes else 0 end) over (order by u.n) as total
    from rows from (unnest(p_lease_ids), unnest(p_numbers), json_array_elements(p_results)) with ordinality u(lease_id, number, result, n)
    cross join lateral (select * from jobtree.lease l where l.id = u.lease_id limit 1) l
    cross join lateral (
      select i.payload from jobtree.job_item i where i.job_id = l.job_id and i.position = l.position + u.number - 1 limit 1
    ) i
    join jobtree.job c on c.parent_id = l.job_id and c.feed ->> 'source' = 'SUCCESSES' and c.type = any (p_types) and c.cancelled_at is null
    cross join lateral jobtree.feed_size(c.feed, i.payload, u.result) z
    where u.n >= p_from
  ), looked as materialized (
    select m.*, m.total <= 4e6 or m.n = min(m.n) over () as is_looked from made m
  )
  select k.n::integer, k.type, f.payload::text
  from looked k
  cross join lateral jobtree.feed_payloads(k.feed, k.payload, k.result) f(payload)
  where case when k.is_looked and k.items <= 1000 and k.bytes <= 20e6 then not exists (select from jobtree.feed_gap(k.feed, k.payload, k.result)) end
  union all
  select coalesce(min(k.n) - 1, cardinality(p_numbers))::integer, null, null from looked k where not k.is_looked;
$$;

-- Finds a path of a mapping that leads nowhere though it is not optional, for one success of a parent. forEach is not examined: it has to lead
-- to a list (feed_problem).
--
-- p_feed     as feed_payloads takes it, with serializeKey. The caller has bounded what it would create (feed_size)
-- returns    the path, and the element where it leads nowhere, from 1; no row if each path leads somewhere
create or replace function jobtree.feed_gap(p_feed jsonb, p_payload json, p_result json)
returns table (path text, element bigint)
language sql immutable
as $$
  select t.path, c.n
  from (select jobtree.feed_value(p_feed ->> 'forEach', p_payload, p_result, null) as list) f
  cross join lateral (
    select null::json as element, null::bigint as n where p_feed ->> 'forEach' is null
    union all
    select e.value, e.n from json_array_elements(case json_typeof(f.list) when 'array' then f.list else '[]' end) with ordinality e(value, n)
  ) c
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

-- Finds what is wrong with a success whose job feeds child jobs: a forEach that does not lead to a list, a path that leads nowhere, new items of a type that is not
-- the type of exactly one fed child, more than 1,000 new items, more than 20 MB of them by mappings (a report of a few kilobytes could
-- create gigabytes), an invalid serialize key or one of a tenant that the child's type does not belong to, or a payload that is nested too deeply once a mapping wraps it in an object. The
-- mappings of cancelled children don't matter.
--
-- p_job_id   the job of the item
-- p_payload  the item's payload
-- p_report   {result, newItems?}
-- returns    the first problem: the field, and a sentence about it; no row if there is none
create or replace function jobtree.feed_problem(p_job_id uuid, p_payload json, p_report json)
returns table (field text, message text)
language sql stable
as $$
  select p.field, p.message
  from (
    select 'result' as field,
      format('%s is not a list, so it can''t feed the job of type %s.', c.feed ->> 'forEach', c.type) as message
    from jobtree.job c
    where c.parent_id = p_job_id and c.feed ->> 'source' = 'SUCCESSES' and c.feed ->> 'forEach' is not null and c.cancelled_at is null
      and json_typeof(jobtree.feed_value(c.feed ->> 'forEach', p_payload, p_report -> 'result', null)) is distinct from 'array'
      and not (c.feed ->> 'forEach' like '%?' and json_typeof(jobtree.feed_value(c.feed ->> 'forEach', p_payload, p_report -> 'result', null)) = 'null')
    union all
    select 'newItems',
      format('The job has %s fed children of type %s; new items need exactly one.', f.children, n.value ->> 'type')
    from json_array_elements(case json_typeof(p_report -> 'newItems') when 'array' then p_report -> 'newItems' end) n
    cross join lateral (
      select count(*) as children from jobtree.job c
      where c.parent_id = p_job_id and c.feed is not null and c.type = n.value ->> 'type'
    ) f
    where f.children <> 1
    union all
    select 'result',
      case when m.items + n.items > 1000 then format('The report would create %s new items; the limit is 1000.', m.items + n.items)
        else format('The report would create about %s MB of new items; the limit is 20 MB.', ceil(m.bytes / 1e6)) end
    from (
      select coalesce(sum(z.items), 0) as items, coalesce(sum(z.bytes), 0) as bytes
      from jobtree.job c
      cross join lateral jobtree.feed_size(c.feed, p_payload, coalesce(p_report -> 'result', 'null')) z
      where c.parent_id = p_job_id and c.feed ->> 'source' = 'SUCCESSES' and c.cancelled_at is null
    ) m
    cross join lateral (
      select coalesce(json_array_length(case json_typeof(p_report -> 'newItems') when 'array' then p_report -> 'newItems' end), 0) as items
    ) n
    where m.items + n.items > 1000 or m.bytes > 20e6
    union all
    select 'result', format('%s leads nowhere%s, so it can''t feed the job of type %s. If it may be missing, the mapping says %1$s?',
      g.path, case when g.element is not null then format(' in element %s of %s', g.element, c.feed ->> 'forEach') else '' end, c.type)
    from jobtree.job c
    cross join lateral jobtree.feed_gap(c.feed, p_payload, coalesce(p_report -> 'result', 'null')) g
    where c.parent_id = p_job_id and c.feed ->> 'source' = 'SUCCESSES' and c.cancelled_at is null
    union all
    select 'result', format('%s is neither a text of 1 to 255 characters nor a number, so it can''t be the serialize key of a new item of type %s.',
      c.feed ->> 'serializeKey', c.type)
    from jobtree.job c
    cross join lateral jobtree.feed_keys(c.feed, p_payload, coalesce(p_report -> 'result', 'null')) k(value)
    where c.parent_id = p_job_id and c.feed ? 'serializeKey' and c.cancelled_at is null
      and (json_typeof(k.value) not in ('null', 'string', 'number')
        or json_typeof(k.value) <> 'null' and length(k.value #>> '{}') not between 1 and 255)
    union all
    select 'result', format('%s is a name of a tenant, so it can''t be the serialize key of a new item of type %s.', c.feed ->> 'serializeKey', c.type)
    from jobtree.job c
    cross join lateral jobtree.feed_keys(c.feed, p_payload, coalesce(p_report -> 'result', 'null')) k(value)
    where c.parent_id = p_job_id and c.feed ? 'serializeKey' and c.cancelled_at is null
      and jobtree.tenant_of(c.type) = '' and jobtree.tenant_of(k.value #>> '{}') <> ''
    union all
    select 'result', format('New items of type %s would be nested more than 256 levels deep.', c.type)
    from jobtree.job c
    cross join lateral jsonb_each_text(case jsonb_typeof(c.feed -> 'payload') when 'object' then c.feed -> 'payload' else '{}' end) t(key, path)
    where c.parent_id = p_job_id and c.feed ->> 'source' = 'SUCCESSES' and c.cancelled_at is null
      -- An element has fewer levels than the list that it comes from.
      and t.path !~ '^element'
      and jobtree.is_too_deep(jobtree.feed_value(t.path, p_payload, coalesce(p_report -> 'result', 'null'), null)::text, 255)
    limit 1
  ) p
$$;

-- Accepts plain results of jobs that feed children by the simplest mappings: one new item each, with the result, the payload, or a part of
-- either. All others go to report_each, which examines each report for what its mapping could create.
--
-- p_lease_ids, p_numbers, p_results   as accept_results takes them
-- returns    the trees that changed; the types that got ready items, and how many; which reports counted, from 1; and figures as
--            report_results returns them
-- locks      those of hold_jobs for the fed children, then those of accept_results. If a child can't be held at once, no report of its
--            parent counts
create or replace function jobtree.feed_results(p_lease_ids uuid[], p_numbers integer[], p_results json)
returns table (root_ids uuid[], ready jsonb, accepted integer[], figures json[])
language plpgsql volatile
set jit = off
set enable_seqscan = off
set enable_bitmapscan = off
set enable_hashjoin = off
set enable_mergejoin = off
set plan_cache_mode = force_generic_plan
as $$
declare
  v_parents uuid[];
  v_locked uuid[];
  v_done record;
begin
  select array_agg(j.id) into v_parents from jobtree.job j
  where j.id = any (array(select l.job_id from jobtree.lease l where l.id = any (p_lease_ids))) and j.feeds_children;
  if v_parents is null then
    return query select null::uuid[], null::jsonb, '{}'::integer[], null::json[];
    return;
  end if;

  v_locked := jobtree.hold_jobs(array(select f.id from jobtree.job f where f.parent_id = any (v_parents) and f.feed is not null), false);
  if exists (
    select from jobtree.job c
    where c.parent_id = any (v_parents) and c.feed is not null
      and (c.id <> all (v_locked) or c.feed ?| '{forEach,serializeKey}' or jsonb_typeof(c.feed -> 'payload') = 'object')
  ) or exists (
    -- A path that leads nowhere. A path without keys, or an optional one, always leads somewhere.
    select from jobtree.job c
    cross join rows from (unnest(p_lease_ids), unnest(p_numbers), json_array_elements(p_results)) u(lease_id, number, result)
    cross join lateral (select * from jobtree.lease l where l.id = u.lease_id limit 1) l
    left join lateral (
      select i.payload from jobtree.job_item i
      where c.feed ->> 'payload' like 'payload%' and i.job_id = l.job_id and i.position = l.position + u.number - 1 limit 1
    ) i on true
    where c.parent_id = any (v_parents) and c.parent_id = l.job_id and c.feed ->> 'payload' like '%.%' and c.feed ->> 'payload' not like '%?'
      and jobtree.feed_value(c.feed ->> 'payload', i.payload, u.result, null) is null
  ) then
    return query select null::uuid[], null::jsonb, '{}'::integer[], null::json[];
    return;
  end if;

  select * into v_done from jobtree.accept_results(p_lease_ids, p_numbers, p_results, true);
  return query select v_done.root_ids, jobtree.add_up(v_done.ready, jobtree.feed_children(v_done.job_ids, v_done.positions)),
    coalesce(v_done.accepted, array(select generate_series(1, cardinality(p_numbers)))), v_done.figures;
end
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
      sum(r.cancelled) as cancelled, sum(r.bytes) as bytes, bool_or(r.started or r.succeeded > 0) as started, max(r.id) as last
    from read r
    group by r.root_id, r.job_id
  ), counted as materialized (
    select s.root_id, s.last, p.tid, p.job_id, p.version, p.is_root, p.generation, p.item_count + s.items as item_count,
      p.succeeded + s.succeeded as succeeded, p.failed + s.failed as failed, p.cancelled + s.cancelled as cancelled, p.open_jobs,
      coalesce(p.started_at, case when s.started then v_now end) as started_at, p.completed_at, p.outcome, p.tree_outcome, p.completions,
      p.bytes + s.bytes as bytes, s.items as more_items, s.bytes as more_bytes
    from summed s
    cross join lateral (
      select p.*, p.ctid as tid from jobtree.job_progress p where p.job_id = s.job_id order by p.version desc limit 1
    ) p
  ), judged as materialized (
    select t.root_id, coalesce(c.last, 0) as last, c.more_items, c.more_bytes
    from unnest(v_roots) t(root_id)
    left join (
      select c.root_id, max(c.last) as last, sum(c.more_items) as more_items, sum(c.more_bytes) as more_bytes, bool_and(
        c.completed_at is null
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
      c.started_at, c.completed_at, c.outcome, c.tree_outcome, c.completions, v_now, null, false, c.bytes
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
        k.changed_at, k.reap_at, k.default_retention, k.bytes + coalesce(s.bytes, 0) as bytes
      from known k
      left join summed s on s.job_id = k.job_id
    )
    select (select max(s.last) from summed s), (select array_agg(s.job_id) from summed s),
      v_items + coalesce((select sum(s.items) from summed s), 0), v_bytes + coalesce((select sum(s.bytes) from summed s), 0),
      bool_or(c.succeeded + c.failed + c.cancelled > c.item_count),
      bool_or(c.succeeded + c.failed + c.cancelled = c.item_count and c.completed_at is null),
      bool_or(c.completed_at is not null and (c.job_id = any (v_touched) or c.job_id in (select s.job_id from summed s))),
      bool_or(c.failed > 0 and c.completed_at is null), array_agg(c::jobtree.job_progress)
    into v_read_last, v_read, v_items, v_bytes, v_suspect, v_even, v_over, v_has_failures, v_rows
    from counted c;

    v_last := greatest(v_last, v_read_last);
    v_touched := v_touched || v_read;
    v_changed := v_changed || v_read;

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
        j.completions + case when j.ends then 1 else 0 end, j.changed_at, j.reap_at, j.default_retention, j.bytes
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
    case when r.is_root and v_reap_at is not null then v_default_retention else r.default_retention end, r.bytes
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
