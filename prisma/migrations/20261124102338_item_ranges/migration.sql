-- AlterTable
ALTER TABLE "jobtree"."job_progress" ADD COLUMN     "pace" BIGINT[] DEFAULT ARRAY[]::BIGINT[];

set local check_function_bodies = off;

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
      p.bytes + s.bytes as bytes,
      jobtree.next_pace(p.pace, s.succeeded + s.failed, v_now) as pace, s.items as more_items, s.bytes as more_bytes
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
      c.started_at, c.completed_at, c.outcome, c.tree_outcome, c.completions, v_now, null, false, c.bytes, c.pace
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
        k.changed_at, k.reap_at, k.default_retention, k.bytes + coalesce(s.bytes, 0) as bytes,
        case when s.job_id is null then k.pace else jobtree.next_pace(k.pace, s.succeeded + s.failed, v_now) end as pace
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
        j.completions + case when j.ends then 1 else 0 end, j.changed_at, j.reap_at, j.default_retention, j.bytes, j.pace
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
    case when r.is_root and v_reap_at is not null then v_default_retention else r.default_retention end, r.bytes, r.pace
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

-- The items of a job in their order, as ranges that are alike, from the ranges that the tables have: no row of an item is read, except those of
-- failed and blocked ones. What neither waits, runs, failed nor was cancelled has succeeded, if a lease has it.
--
-- p_from, p_until   positions: the first, and the one after the last
-- p_most     how many ranges to return. If there are more of one status, all ranges have the same number of items, but the last
-- p_rows     how many rows to read of each table; it must be more than there can be leases that cover one item
-- returns    the position at which to go on, since there is more to be read than p_rows, or null; and for each range a list: its first position, its
--            last one, and how many items have each status
create or replace function jobtree.item_ranges(
  p_job_id uuid, p_from bigint, p_until bigint, p_most integer, p_rows integer default 20000
)
returns table (next_from bigint, ranges jsonb)
language plpgsql stable
set jit = off
set enable_seqscan = off
set enable_bitmapscan = off
set plan_cache_mode = force_generic_plan
as $$
declare
  -- Once its job is cancelled, what is pending is cancelled.
  v_pending constant text := (select 'CANCELLED' from jobtree.job j where j.id = p_job_id and j.cancelled_at is not null);
begin
  return query
  with entry as materialized (
    select q.position, q.count, jobtree.status_of_item(null, null, false, false, q.run_at, q.attempt) as status
    from jobtree.queue_entry q
    where (q.job_id, q.position) > (p_job_id, p_from - 128) and (q.job_id, q.position) < (p_job_id, p_until)
    order by q.job_id, q.position limit p_rows
  ), lease as materialized (
    select l.position, l.count, l.open
    from jobtree.lease l
    where (l.job_id, l.position) > (p_job_id, p_from - 128) and (l.job_id, l.position) < (p_job_id, p_until)
    order by l.job_id, l.position limit p_rows
  ), failed as materialized (
    select o.position from jobtree.outcome o
    where o.failed and (o.job_id, o.position) >= (p_job_id, p_from) and (o.job_id, o.position) < (p_job_id, p_until)
    order by o.job_id, o.position limit p_rows
  ), blocked as materialized (
    select b.position from jobtree.blocked_item b
    where (b.job_id, b.position) >= (p_job_id, p_from) and (b.job_id, b.position) < (p_job_id, p_until)
    order by b.job_id, b.position limit p_rows
  ), cancelled as materialized (
    select c.position, c.count from jobtree.cancellation c
    where (c.job_id, c.position) >= (p_job_id, coalesce((
        select b.position from jobtree.cancellation b
        where (b.job_id, b.position) >= (p_job_id, 0) and (b.job_id, b.position) <= (p_job_id, p_from)
        order by b.job_id desc, b.position desc limit 1
      ), p_from)) and (c.job_id, c.position) < (p_job_id, p_until)
    order by c.job_id, c.position limit p_rows
  ), seen as (
    -- Where the first table has more rows than were read; a caller gets on in any case.
    select case when count(f.position) > 0 then greatest(min(f.position), p_from + 1) end as until
    from (
      select max(e.position) from entry e having count(*) = p_rows
      union all select max(l.position) from lease l having count(*) = p_rows
      union all select max(o.position) from failed o having count(*) = p_rows
      union all select max(b.position) from blocked b having count(*) = p_rows
      union all select max(c.position) from cancelled c having count(*) = p_rows
    ) f(position)
  ), by_status as materialized (
    select u.status, range_agg(int8range(u.position, u.position + u.count)) as items
    from (
      select coalesce(v_pending, e.status) as status, e.position, e.count from entry e
      union all
      select coalesce(v_pending, 'RUNNING'), l.position, l.count from lease l where bit_count(l.open) = l.count
      union all
      select coalesce(v_pending, 'RUNNING'), l.position + r.from, r.count
      from lease l cross join lateral jobtree.bit_runs(l.open, l.count) r
      where bit_count(l.open) > 0 and bit_count(l.open) < l.count
      union all
      select coalesce(v_pending, 'BLOCKED'), b.position, 1 from blocked b
      union all
      select 'FAILED', o.position, 1 from failed o
      union all
      select 'CANCELLED', c.position, c.count from cancelled c
    ) u
    group by u.status
  ), piece as (
    select u.status, lower(r.items) as position, (upper(r.items) - lower(r.items))::integer as count
    from (
      select s.status, s.items from by_status s
      union all
      select 'SUCCEEDED', (select range_agg(int8range(l.position, l.position + l.count)) from lease l)
        - coalesce((select range_agg(s.items) from by_status s), '{}')
    ) u
    cross join seen w
    cross join lateral unnest(u.items * int8multirange(int8range(p_from, least(p_until, w.until)))) r(items)
  ), counted as (
    select p.*, sum(p.count) over (order by p.position) - p.count as before, sum(p.count) over () as total,
      case when p.status is distinct from lag(p.status) over (order by p.position) then 1 else 0 end as begins
    from piece p
  ), numbered as (
    select c.*, sum(c.begins) over (order by c.position) as run, sum(c.begins) over () as runs,
      (c.total + p_most - 1) / p_most as size
    from counted c
  ), part as (
    -- A run each, or each as much of a piece as belongs to a range.
    select case when n.runs <= p_most then n.run else n.before / n.size end as range, n.status, n.position, n.count
    from numbered n
    where n.runs <= p_most or n.before / n.size = (n.before + n.count - 1) / n.size
    union all
    select s.range, n.status, n.position + greatest(0, s.range * n.size - n.before),
      (least(n.before + n.count, (s.range + 1) * n.size) - greatest(n.before, s.range * n.size))::integer
    from numbered n
    cross join lateral generate_series(n.before / n.size, (n.before + n.count - 1) / n.size) s(range)
    where n.runs > p_most and n.before / n.size < (n.before + n.count - 1) / n.size
  ), alike as (
    select p.range, p.status, min(p.position) as first, max(p.position + p.count) - 1 as last, sum(p.count) as count
    from part p
    group by p.range, p.status
  )
  select (select w.until from seen w), coalesce(jsonb_agg(jsonb_build_array(r.first, r.last, r.counts) order by r.range), '[]')
  from (
    select a.range, min(a.first) as first, max(a.last) as last, jsonb_object_agg(a.status, a.count) as counts
    from alike a
    group by a.range
  ) r;
end
$$;

-- How many items of a job have ended lately, counted by ten seconds, once more have ended: the number of the present ten seconds since 1970, and
-- the counts of these and of the five before them. Plain SQL, so that the planner inlines it.
--
-- p_pace     the same before; empty at first
create or replace function jobtree.next_pace(p_pace bigint[], p_ended bigint, p_now timestamptz) returns bigint[]
language sql immutable parallel safe
as $$
  select array[s.now, coalesce(s.counts[1], 0) + greatest(p_ended, 0)] || s.counts[2:6]
  from (
    select n.now, (array_fill(0::bigint, array[least(greatest(n.now - coalesce(p_pace[1], 0), 0), 6)::integer]) || p_pace[2:7])[1:6] as counts
    from (select floor(extract(epoch from p_now) / 10)::bigint as now) n
  ) s
$$;

-- How many items of jobs have each status of pending ones, and how many have ended in the last minute. The cost does not depend on how many
-- items are finished.
--
-- returns    a row for each job, in their order; per_second is null before its first item is claimed, and once it is complete
create or replace function jobtree.pending_counts(p_job_ids uuid[])
returns table (waiting bigint, blocked bigint, scheduled bigint, retrying bigint, ready bigint, running bigint, per_second double precision)
language plpgsql stable
set jit = off
set enable_seqscan = off
set plan_cache_mode = force_generic_plan
as $$
begin
  return query
  select coalesce(e.waiting, 0), coalesce(b.blocked, 0), coalesce(e.scheduled, 0), coalesce(e.retrying, 0), coalesce(e.ready, 0),
    coalesce(l.running, 0), p.per_second
  from unnest(p_job_ids) with ordinality u(job_id, n)
  cross join lateral (
    select sum(s.items) filter (where s.status = 'WAITING')::bigint as waiting, sum(s.items) filter (where s.status = 'SCHEDULED')::bigint as scheduled,
      sum(s.items) filter (where s.status = 'RETRYING')::bigint as retrying, sum(s.items) filter (where s.status = 'READY')::bigint as ready
    from (
      select jobtree.status_of_item(null, null, false, false, q.run_at, q.attempt) as status, sum(q.count) as items
      from jobtree.queue_entry q
      where q.job_id = u.job_id
      group by 1
    ) s
  ) e
  cross join lateral (select count(*) as blocked from jobtree.blocked_item i where i.job_id = u.job_id) b
  cross join lateral (
    select sum(bit_count(h.open))::bigint as running from jobtree.lease h
    where h.job_id = u.job_id and coalesce(h.check_at, 'infinity') < 'infinity'
  ) l
  left join lateral (
    select case
      when c.started_at is not null and c.completed_at is null then jobtree.per_second(c.pace, c.started_at, clock_timestamp())
    end as per_second
    from jobtree.job_progress c where c.job_id = u.job_id order by c.version desc limit 1
  ) p on true
  order by u.n;
end
$$;

-- How many items of a job end in a second: on the average of the last 50 to 60 seconds, or since its first item was claimed.
--
-- p_pace     as next_pace makes it
create or replace function jobtree.per_second(p_pace bigint[], p_started_at timestamptz, p_now timestamptz) returns double precision
language sql immutable parallel safe
as $$
  select coalesce(sum(c.count), 0)::double precision
    / greatest(1, least(50 + extract(epoch from p_now)::double precision - n.now * 10, extract(epoch from p_now - p_started_at)::double precision))
  from (select floor(extract(epoch from p_now) / 10)::bigint as now) n
  left join lateral unnest(p_pace[2:7]) with ordinality c(count, i) on p_pace[1] - c.i + 1 > n.now - 6
  group by n.now
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
      ) end, k.completions, clock_timestamp(), null, false, k.bytes, k.pace
    )::jobtree.job_progress)
  into v_rows
  from known k;

  delete from jobtree.job_progress p using unnest(v_rows) r where p.job_id = r.job_id and p.version < r.version;
  insert into jobtree.job_progress select r.* from unnest(v_rows) r;
  return v_rows;
end
$$;
