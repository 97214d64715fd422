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
      p.bytes + s.bytes as bytes, jobtree.next_pace(p.pace, s.succeeded + s.failed, v_now) as pace, s.items as more_items, s.bytes as more_bytes, s.is_read,
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
      c.started_at, c.completed_at, c.outcome, c.tree_outcome, c.completions, v_now, null, false, c.bytes, c.tree_failed, null, c.pace
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
