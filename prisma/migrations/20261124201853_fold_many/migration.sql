drop routine jobtree.add_deliveries(uuid,uuid[]);
drop routine jobtree.fold_counters(uuid[],bigint[]);
drop routine jobtree.next_pace(bigint[],bigint,timestamp with time zone);

set local check_function_bodies = off;

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

  insert into jobtree.callback_delivery (id, message_id, endpoint, event, root_id, body, created_at, due_at)
  select jobtree.new_id(), format('job_%s_%s', m.id, m.completions), c.endpoint, 'JOB', m.root_id,
    jobtree.callback_body('job.completed', m.completed_at, json_build_object(
      'jobId', 'Job:' || m.id, 'rootId', 'Job:' || m.root_id, 'type', jobtree.name_within(m.type, c.endpoint), 'dedupeKey', m.dedupe_key,
      'outcome', m.outcome, 'cancelReason', m.cancel_reason,
      'itemCount', m.item_count, 'succeeded', m.succeeded, 'failed', m.failed, 'cancelled', m.cancelled, 'completions', m.completions
    ))::text, v_now, v_now
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
  on conflict do nothing;

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
  )
  insert into jobtree.callback_delivery (id, message_id, endpoint, event, root_id, body, created_at, due_at)
  select jobtree.new_id(), format('tree_%s_%s', c.root_id, c.completions), c.endpoint, 'TREE', c.root_id,
    jobtree.callback_body('tree.completed', t.completed_at, json_build_object(
      'rootId', 'Job:' || r.id, 'type', jobtree.name_within(r.type, c.endpoint), 'dedupeKey', r.dedupe_key, 'outcome', t.outcome, 'cancelReason', r.cancel_reason, 'jobs', t.jobs,
      'itemCount', t.item_count, 'succeeded', t.succeeded, 'failed', t.failed, 'cancelled', t.cancelled, 'completions', c.completions
    ))::text, v_now, v_now
  from counted c
  join tree t on t.root_id = c.root_id
  join jobtree.job r on r.id = c.root_id
  on conflict do nothing;
end
$$;

-- Folds, all at once, those of the given trees in which nothing follows from the counts except that jobs are complete, which is the usual case.
-- Left alone are trees with a job that has failures which a policy limits, deltas after its completion, or more items done than added; and
-- those with a job that is complete while others wait for it or are fed by it. As in fold_progress, all deltas of a job that is complete must
-- have been read: so trees are left, too, if p_from is not 0, or a transaction is still adding.
--
-- p_root_ids the trees, none twice
-- p_from     for each tree the delta to read from
-- returns    the trees that it folded, and the last delta read of each (0 for none); and, with null, those that it left only because all
--            deltas must have been read. It changed nothing of these and of the others
-- locks      the roots' job_progress rows, skipping locked ones; those of exclude_adders for up to 2,000 jobs that may be complete
-- notifies   as fold_progress does
-- durability as fold_progress
create or replace function jobtree.fold_plain(p_root_ids uuid[], p_from bigint[])
returns table (root_id uuid, last_delta bigint)
language plpgsql volatile
set jit = off
set enable_seqscan = off
set enable_bitmapscan = off
set enable_mergejoin = off
-- In case another client has locked deltas: other trees wait for these.
set lock_timeout = '50ms'
set plan_cache_mode = force_generic_plan
as $$
#variable_conflict use_column
declare
  v_now constant timestamptz(3) := clock_timestamp();
  v_tens constant bigint := floor(extract(epoch from v_now) / 10);
  v_roots uuid[];
  v_from bigint[];
  v_lasts bigint[];
  -- Jobs that are sealed, and to which no transaction is adding.
  v_sure uuid[];
  v_rows jobtree.job_progress[];
  v_ended_trees uuid[];
  v_ended uuid[];
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

  if 0 = any (v_from) then
    v_sure := jobtree.exclude_adders(array(
      select s.job_id
      from (
        select d.job_id, sum(d.items - d.succeeded - d.failed - d.cancelled) as more
        from unnest(v_roots, v_from) t(root_id, from_delta)
        cross join lateral (select d.* from jobtree.progress_delta d where d.root_id = t.root_id offset 0) d
        where t.from_delta = 0
        group by d.job_id
      ) s
      cross join lateral (select j.* from jobtree.job j where j.id = s.job_id offset 0) j
      cross join lateral (select p.* from jobtree.job_progress p where p.job_id = s.job_id order by p.version desc limit 1) p
      where j.sealed_at is not null and not j.waits and not j.awaited and not j.feeds_children
        and p.item_count - p.succeeded - p.failed - p.cancelled + s.more = 0
      limit 2000
    ));
  end if;

  with read as materialized (
    select d.* from unnest(v_roots, v_from) t(root_id, from_delta)
    cross join lateral (
      select d.*, d.ctid as tid from jobtree.progress_delta d where d.root_id = t.root_id and d.id >= t.from_delta offset 0
    ) d
  ), summed as (
    select r.root_id, r.job_id, sum(r.items) as items, sum(r.succeeded) as succeeded, sum(r.failed) as failed, sum(r.cancelled) as cancelled,
      sum(r.bytes) as bytes, bool_or(r.started or r.succeeded > 0) as started, max(r.id) as last, array_agg(r.tid) as tids
    from read r
    group by r.root_id, r.job_id
    union all
    -- The root's row counts the open jobs and the failures of the tree.
    select r.root_id, r.root_id, 0, 0, 0, 0, 0, false, 0, null
    from read r
    group by r.root_id
    having not bool_or(r.job_id = r.root_id)
  ), counted as (
    select s.root_id, s.last, s.tids, s.tids is not null as is_read, s.items as more_items, s.bytes as more_bytes, s.failed as more_failed,
      p.tid, p.job_id, p.version, p.is_root, p.generation, p.item_count + s.items as item_count, p.succeeded + s.succeeded as succeeded,
      p.failed + s.failed as failed, p.item_count + s.items - p.succeeded - s.succeeded - p.failed - s.failed - p.cancelled - s.cancelled as undone,
      p.cancelled + s.cancelled as cancelled, p.open_jobs, coalesce(p.started_at, case when s.started then v_now end) as started_at,
      p.completed_at, p.outcome, p.tree_outcome, p.completions, p.reap_at, p.default_retention, p.bytes + s.bytes as bytes, p.tree_failed,
      p.tree_completed_at, case when s.tids is null then p.pace else jobtree.next_pace(p.pace, s.succeeded + s.failed, v_tens) end as pace,
      j.type, j.sealed_at, j.waits, j.awaited or j.feeds_children as leads_on, j.failed_at, j.cancelled_at, j.retention_seconds,
      coalesce(j.tolerated_failure_count, j.tolerated_failure_percentage) is not null as has_policy
    from summed s
    cross join lateral (
      select p.*, p.ctid as tid from jobtree.job_progress p where p.job_id = s.job_id order by p.version desc limit 1
    ) p
    cross join lateral (select j.* from jobtree.job j where j.id = s.job_id offset 0) j
  ), judged as (
    select c.*, c.is_read and c.undone = 0 and c.sealed_at is not null and not c.waits as ends,
      jobtree.job_verdict(c.failed_at, c.cancelled_at, c.succeeded, c.failed) as verdict
    from counted c
  ), summed_up as (
    select j.*, count(*) filter (where j.ends) over tree as ending, sum(j.more_items) over tree as tree_items, sum(j.more_bytes) over tree as tree_bytes,
      sum(j.more_failed) over tree as more_tree_failed, case when j.is_root then array_agg(j.verdict) filter (where j.ends) over tree end as verdicts,
      bool_and(
        not j.is_read or j.completed_at is null and j.undone >= 0 and not (j.failed > 0 and j.has_policy) and not (j.ends and j.leads_on)
      ) over tree as is_simple,
      bool_and(not j.ends or j.job_id in (select s from unnest(v_sure) s)) over tree as is_sure
    from judged j
    window tree as (partition by j.root_id)
  ), folded as materialized (
    select f.root_id, f.last, f.tids, f.tid, f.type, f.is_root, f.ends, f.tree_items, f.tree_bytes,
      f.is_read or f.is_root and (f.ending > 0 or f.more_tree_failed <> 0) as changes,
      row(
        f.job_id, f.version + 1, f.is_root, f.generation, f.item_count, f.succeeded, f.failed, f.cancelled, f.open_jobs - e.ending, f.started_at,
        case when f.ends then v_now else f.completed_at end, case when f.ends then f.verdict else f.outcome end,
        case when e.ending > 0 then jobtree.worst_outcome(f.tree_outcome || f.verdicts) else f.tree_outcome end,
        f.completions + f.ends::integer, v_now, case when e.ends_tree then jobtree.reap_time(f.retention_seconds, v_now) else f.reap_at end,
        case when e.ends_tree then f.retention_seconds is null else f.default_retention end, f.bytes,
        f.tree_failed + case when f.is_root then f.more_tree_failed else 0 end,
        case when e.ends_tree then v_now else f.tree_completed_at end, f.pace
      )::jobtree.job_progress as progress
    from summed_up f
    cross join lateral (
      select case when f.is_root then f.ending else 0 end as ending, f.is_root and f.ending > 0 and f.ending = f.open_jobs as ends_tree
    ) e
    where f.is_simple and f.is_sure
  ), consumed as (
    delete from jobtree.progress_delta d where d.ctid = any (array(select unnest(f.tids) from folded f))
  ), replaced as (
    delete from jobtree.job_progress p where p.ctid = any (array(select f.tid from folded f where f.changes))
  ), written as (
    insert into jobtree.job_progress select (f.progress).* from folded f where f.changes
  ), stored as (
    insert into jobtree.stored_delta (tenant, items, bytes)
    select t.tenant, sum(t.items), sum(t.bytes)
    from (
      select jobtree.tenant_of(f.type) as tenant, f.tree_items as items, f.tree_bytes as bytes
      from folded f
      where f.is_root and (f.tree_items <> 0 or f.tree_bytes <> 0)
    ) t
    group by t.tenant
  ), trees as (
    select t.root_id, case when bool_and(t.is_sure) then max(t.last) end as last
    from (
      select s.root_id, s.last, s.is_simple, s.is_sure from summed_up s
      union all
      select r, 0, true, true from unnest(v_roots) r
    ) t(root_id, last, is_simple, is_sure)
    group by t.root_id
    having bool_and(t.is_simple)
  )
  select array_agg(t.root_id), array_agg(t.last), array(select f.progress from folded f),
    array(select distinct f.root_id from folded f where f.ends), array(select (f.progress).job_id from folded f where f.ends)
  into v_roots, v_lasts, v_rows, v_ended_trees, v_ended
  from trees t;

  if cardinality(v_ended) > 0 then
    perform jobtree.add_deliveries(v_ended_trees, v_ended);
  end if;
  if cardinality(v_rows) > 0 then
    perform jobtree.tell_progress(v_rows);
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
  v_tens constant bigint := floor(extract(epoch from v_now) / 10);
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
        k.tree_completed_at,
        case when s.job_id is null then k.pace else jobtree.next_pace(k.pace, s.succeeded + s.failed, v_tens) end as pace
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
      select array_agg(r.job_id), bool_or(j.awaited) into v_completed, v_awaited
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
        select r.*, e.id is not null as ends,
          case when e.id is null then r.outcome else jobtree.job_verdict(e.failed_at, e.cancelled_at, r.succeeded, r.failed) end as verdict
        from unnest(v_rows) r
        left join lateral (
          select j.id, j.failed_at, j.cancelled_at from jobtree.job j where j.id = r.job_id and r.job_id = any (v_completed) offset 0
        ) e on true
      )
      select array_agg(row(
        j.job_id, j.version, j.is_root, j.generation, j.item_count, j.succeeded, j.failed, j.cancelled,
        j.open_jobs - case when j.is_root then cardinality(v_completed) else 0 end, j.started_at,
        case when j.ends then v_now else j.completed_at end, j.verdict,
        case when j.is_root then jobtree.worst_outcome(j.tree_outcome || array(select e.verdict from judged e where e.ends)) end,
        j.completions + case when j.ends then 1 else 0 end, j.changed_at, j.reap_at, j.default_retention, j.bytes, j.tree_failed,
        case when j.is_root and j.open_jobs = cardinality(v_completed) then v_now else j.tree_completed_at end,
        j.pace
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
    select jobtree.reap_time(j.retention_seconds, v_now), j.retention_seconds is null
    into v_reap_at, v_default_retention
    from jobtree.job j
    where j.id = p_root_id and (select r.open_jobs = 0 from unnest(v_rows) r where r.is_root);
  end if;
  with replaced as (
    delete from jobtree.job_progress p where p.ctid = any (array(
      select o.tid from unnest(v_rows) r
      cross join lateral (select o.ctid as tid from jobtree.job_progress o where o.job_id = r.job_id and o.version = r.version offset 0) o
      where r.job_id = any (v_changed)
    ))
  )
  insert into jobtree.job_progress
  select r.job_id, r.version + 1, r.is_root, r.generation, r.item_count, r.succeeded, r.failed, r.cancelled, r.open_jobs,
    r.started_at, r.completed_at, r.outcome, r.tree_outcome, r.completions, v_now,
    case when r.is_root then coalesce(v_reap_at, r.reap_at) end,
    case when r.is_root and v_reap_at is not null then v_default_retention else r.default_retention end, r.bytes,
    r.tree_failed, r.tree_completed_at, r.pace
  from unnest(v_rows) r
  where r.job_id = any (v_changed);
  if v_items <> 0 or v_bytes <> 0 then
    insert into jobtree.stored_delta (tenant, items, bytes)
    select jobtree.tenant_of(j.type), v_items, v_bytes from jobtree.job j where j.id = p_root_id;
  end if;
  if cardinality(v_ends) > 0 then
    perform jobtree.add_deliveries(array[p_root_id], v_ends);
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

-- Folds several trees in one transaction: most of them all at once (fold_plain), and each of the others with fold_progress.
--
-- p_root_ids the trees, none twice; of more than 1,000, the others are left for a later call
-- p_from     for each tree the delta to read from
-- returns    for each tree what fold_progress returns; no row for one that another fold has
-- locks      those of fold_progress, until the last tree is folded. Locked rows are skipped, so the order does not matter
create or replace function jobtree.fold_trees(p_root_ids uuid[], p_from bigint[])
returns table (root_id uuid, last_delta bigint, retry boolean, unfinished boolean)
language plpgsql volatile
as $$
#variable_conflict use_column
declare
  v_root_ids uuid[] := p_root_ids[:1000];
  v_from bigint[] := p_from[:1000];
  v_folded uuid[];
  v_lasts bigint[];
  v_left uuid[];
begin
  select array_agg(f.root_id) filter (where f.last_delta is not null), array_agg(f.last_delta) filter (where f.last_delta is not null),
    array_agg(f.root_id) filter (where f.last_delta is null)
  into v_folded, v_lasts, v_left
  from jobtree.fold_plain(v_root_ids, v_from) f;
  if v_left is not null then
    select v_folded || array_agg(f.root_id), v_lasts || array_agg(f.last_delta) into v_folded, v_lasts
    from jobtree.fold_plain(v_left, array_fill(0::bigint, array[cardinality(v_left)])) f
    where f.last_delta is not null;
  end if;
  return query
    select t.root_id, t.last_delta, false, false from unnest(v_folded, v_lasts) t(root_id, last_delta)
    union all
    select t.root_id, f.last_delta, f.retry, f.unfinished
    from unnest(v_root_ids, v_from) t(root_id, from_delta), lateral jobtree.fold_progress(t.root_id, t.from_delta) f
    where t.root_id not in (select u from unnest(v_folded) u);
end
$$;

-- The outcome of a job whose items have all ended.
create or replace function jobtree.job_verdict(p_failed_at timestamptz, p_cancelled_at timestamptz, p_succeeded bigint, p_failed bigint)
returns text
language sql immutable parallel safe
as $$
  select case
    when p_failed_at is not null then 'FAILED'
    when p_cancelled_at is not null then 'CANCELLED'
    when p_failed = 0 then 'SUCCEEDED'
    when p_succeeded > 0 then 'PARTIAL'
    else 'FAILED'
  end
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

-- When a tree that is complete may be reaped; null for never. Where the servers' default applies, that counts from this time.
--
-- p_retention_seconds of the root
create or replace function jobtree.reap_time(p_retention_seconds integer, p_completed_at timestamptz)
returns timestamptz
language sql stable parallel safe
as $$
  select case when p_retention_seconds is distinct from -1 then p_completed_at + make_interval(secs => coalesce(p_retention_seconds, 0)) end
$$;

-- Sends one hint, as send_hints does.
create or replace function jobtree.send_hint(p_topic text, p_payload text)
returns void
language sql volatile
as $$
  select jobtree.send_hints(p_topic, array[p_payload])
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

-- Sends hints on the topic progress about new states of jobs: fold_progress describes the messages.
--
-- p_rows     the states, of one or several trees, including that of each root
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
  -- A job counts as open until the message with its completion, so that openJobs matches the messages read so far.
  perform jobtree.send_hints('progress', array(
    select jsonb_build_object('root', m.root_id, 'openJobs', m.open_jobs + m.later, 'jobs', m.jobs)::text
    from (
      select p.root_id, max(p.tree_open_jobs) as open_jobs, jsonb_agg(jsonb_build_object(
        'jobId', p.job_id, 'generation', p.generation, 'itemCount', p.item_count, 'succeeded', p.succeeded,
        'failed', p.failed, 'cancelled', p.cancelled, 'sealed', p.sealed_at is not null,
        'startedAt', floor(extract(epoch from p.started_at) * 1000),
        'completedAt', floor(extract(epoch from p.completed_at) * 1000), 'outcome', p.outcome, 'cancelReason', p.cancel_reason, 'completions', p.completions
      )) as jobs, coalesce(
        sum(count(p.completed_at)) over (partition by p.root_id order by p.page rows between 1 following and unbounded following), 0
      ) as later
      from (
        select r.*, j.root_id, j.sealed_at, j.cancel_reason, max(r.open_jobs) over (partition by j.root_id) as tree_open_jobs,
          (row_number() over (partition by j.root_id order by r.job_id) - 1) / 22 as page
        from unnest(p_rows) r
        join jobtree.job j on j.id = r.job_id
      ) p
      group by p.root_id, p.page
      order by p.root_id, p.page
    ) m
  ));
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
