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
-- plans: no seqscan, bitmapscan, mergejoin
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
        select d.job_id, sum(d.items::bigint - d.succeeded - d.failed - d.cancelled) as more
        from unnest(v_roots, v_from) t(root_id, from_delta)
        cross join lateral (select d.* from jobtree.progress_delta d where d.root_id = t.root_id offset 0) d
        where t.from_delta = 0
        group by d.job_id
      ) s
      cross join lateral (select j.* from jobtree.job j where j.id = s.job_id offset 0) j
      cross join lateral (select p.* from jobtree.job_progress p where p.job_id = s.job_id order by p.version desc limit 1) p
      where j.sealed_at is not null and not j.waits and not j.awaited and not j.feeds_children
        and p.item_count - p.succeeded - p.failed - p.cancelled + s.more = 0
      -- Of one tree the ids begin alike: the limit cuts one tree, not all of them.
      order by s.job_id
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
