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
-- plans: no seqscan, bitmapscan, mergejoin
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
