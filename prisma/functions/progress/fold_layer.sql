-- Folds the deltas of trees once: adds them to the counters, and ends the jobs of which all items are done. What follows from that is the caller's
-- to do (fold_trees). A job ends, and counts as sealed, only if all its deltas were read while nothing could be added to it (exact_jobs), and so does
-- a percentage of failures count; trees in which that matters, but of which not all deltas were to be read, are left as they are.
--
-- p_root_ids the trees, none twice, whose rows are locked
-- p_from     for each tree the delta to read from
-- returns    the new state of each job that changed, and of each root: with the last delta read of the tree (0 for none); and whether the job
--            ends now, has more failures than it tolerates, could not be judged since a transaction is adding to it, or is complete with others
--            that wait for it or are fed by it. For a tree that is left a row without a state, which is not whole
-- locks      those of exact_jobs
create or replace function jobtree.fold_layer(p_root_ids uuid[], p_from bigint[])
returns table (
  root_id uuid, is_whole boolean, last_delta bigint, progress jobtree.job_progress, ends boolean, fails boolean, is_busy boolean, leads_on boolean
)
language plpgsql volatile
-- plans: no seqscan, bitmapscan, mergejoin; generic
as $$
#variable_conflict use_column
declare
  v_now constant timestamptz(3) := clock_timestamp();
  v_tens constant bigint := floor(extract(epoch from v_now) / 10);
  v_exact constant uuid[] := case when 0 = any (p_from) then jobtree.exact_jobs(array(
    select t.root_id from unnest(p_root_ids, p_from) t(root_id, from_delta) where t.from_delta = 0
  )) end;
begin
  return query
  with read as materialized (
    select d.*, t.from_delta > 0 as is_partial
    from unnest(p_root_ids, p_from) t(root_id, from_delta)
    cross join lateral (
      select d.*, d.ctid as tid from jobtree.progress_delta d where d.root_id = t.root_id and d.id >= t.from_delta offset 0
    ) d
  ), summed as (
    select r.root_id, r.job_id, true as is_read, bool_or(r.is_partial) as is_partial, sum(r.items) as items, sum(r.succeeded) as succeeded,
      sum(r.failed) as failed, sum(r.cancelled) as cancelled, sum(r.bytes) as bytes, bool_or(r.started or r.succeeded > 0) as started, max(r.id) as last
    from read r
    group by r.root_id, r.job_id
    union all
    -- The root's row counts the open jobs and the failures of the tree.
    select r.root_id, r.root_id, false, false, 0, 0, 0, 0, 0, false, 0
    from read r
    group by r.root_id
    having not bool_or(r.job_id = r.root_id)
  ), counted as (
    select s.root_id, s.is_read, s.is_partial, s.last, s.items as more_items, s.bytes as more_bytes, s.failed as more_failed,
      p.tid, p.state, p.job_id, p.is_root, p.item_count + s.items as item_count, p.succeeded + s.succeeded as succeeded,
      p.failed + s.failed as failed, p.item_count + s.items - p.succeeded - s.succeeded - p.failed - s.failed - p.cancelled - s.cancelled as undone,
      p.cancelled + s.cancelled as cancelled, p.open_jobs, coalesce(p.started_at, case when s.started then v_now end) as started_at,
      p.completed_at, s.is_read and p.completed_at is null as is_open, p.sealed as is_sealed, p.bytes + s.bytes as bytes,
      case when s.is_read then jobtree.next_pace(p.pace, s.succeeded + s.failed, v_tens) else p.pace end as pace,
      j.type, j.sealed_at, j.waits, j.awaited or j.feeds_children as has_followers, j.failed_at, j.cancelled_at,
      j.tolerated_failure_count, j.tolerated_failure_percentage, p.job_id in (select e from unnest(v_exact) e) as is_exact
    from summed s
    cross join lateral (
      select p.*, p.ctid as tid, p as state from jobtree.job_progress p where p.job_id = s.job_id order by p.version desc limit 1
    ) p
    cross join lateral (select j.* from jobtree.job j where j.id = s.job_id offset 0) j
  ), compared as (
    select c.*, c.is_open and c.sealed_at is not null and not c.is_sealed as seals,
      c.is_open and c.sealed_at is not null and not c.waits and c.undone = 0 as is_even,
      c.is_open and c.cancelled_at is null and coalesce(c.failed > c.tolerated_failure_count, false) as is_over,
      -- Not in floating point, where 57 of 10,000 would be more than 0.57 %.
      c.is_open and c.cancelled_at is null and c.sealed_at is not null and coalesce(100 * c.failed > c.tolerated_failure_percentage::numeric * c.item_count, false) as is_over_share
    from counted c
  ), judged as (
    select c.*, c.is_even and c.is_exact and not c.is_over and not c.is_over_share as ends, c.is_over or c.is_over_share and c.is_exact as fails,
      (c.seals or c.is_even or c.is_over_share) and not c.is_exact and not c.is_over as is_busy,
      case when c.failed_at is not null then 'FAILED' when c.cancelled_at is not null then 'CANCELLED' when c.failed = 0 then 'SUCCEEDED'
        when c.succeeded > 0 then 'PARTIAL' else 'FAILED' end as verdict
    from compared c
  ), summed_up as (
    select j.*, count(*) filter (where j.ends) over tree as ending, sum(j.more_items) over tree as tree_items, sum(j.more_bytes) over tree as tree_bytes,
      sum(j.more_failed) over tree as more_tree_failed, max(j.last) over tree as tree_last,
      case when j.is_root then array_agg(j.verdict) filter (where j.ends) over tree end as verdicts,
      not bool_or(j.is_partial and (j.is_busy or j.undone < 0)) over tree as is_whole
    from judged j
    window tree as (partition by j.root_id)
  ), folded as materialized (
    select f.*, e.ending as root_ending, f.is_root and f.ending > 0 and f.ending = f.open_jobs as ends_tree,
      f.is_read and f.has_followers and (f.ends or f.completed_at is not null) as leads_on,
      f.is_read or f.is_root and (f.ending > 0 or f.more_tree_failed <> 0) as changes
    from summed_up f
    cross join lateral (select case when f.is_root then f.ending else 0 end as ending) e
    where f.is_whole
  ), consumed as (
    delete from jobtree.progress_delta d where d.ctid = any (array(
      select r.tid from read r where r.root_id not in (select s.root_id from summed_up s where not s.is_whole)
    ))
  ), written as (
    update jobtree.job_progress p
    set version = p.version + 1, changed_at = v_now, sealed = p.sealed or f.seals and f.is_exact,
      item_count = f.item_count, succeeded = f.succeeded, failed = f.failed, cancelled = f.cancelled,
      bytes = f.bytes, pace = f.pace, started_at = f.started_at, completions = p.completions + f.ends::integer,
      completed_at = case when f.ends then v_now else p.completed_at end, outcome = case when f.ends then f.verdict else p.outcome end,
      open_jobs = p.open_jobs - f.root_ending, tree_failed = p.tree_failed + case when f.is_root then f.more_tree_failed else 0 end,
      tree_outcome = case when f.root_ending > 0 then jobtree.worst_outcome(p.tree_outcome || f.verdicts) else p.tree_outcome end
    from folded f
    where f.changes and p.ctid = f.tid
    returning f.tid, p as state
  ), completed as (
    update jobtree.tree t set completed_at = v_now where t.root_id = any (array(select f.root_id from folded f where f.ends_tree))
  ), stored as (
    insert into jobtree.stored_delta (tenant, items, bytes)
    select t.tenant, sum(t.items), sum(t.bytes)
    from (
      select jobtree.tenant_of(f.type) as tenant, f.tree_items as items, f.tree_bytes as bytes
      from folded f
      where f.is_root and (f.tree_items <> 0 or f.tree_bytes <> 0)
    ) t
    group by t.tenant
  )
  select f.root_id, true, f.tree_last, coalesce(w.state, f.state), f.ends, f.fails, f.is_busy, f.leads_on
  from folded f
  left join written w on w.tid = f.tid
  union all
  select distinct s.root_id, false, 0::bigint, null::jobtree.job_progress, false, false, false, false from summed_up s where not s.is_whole;
end
$$;
