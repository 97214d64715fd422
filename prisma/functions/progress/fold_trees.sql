-- Turns the deltas of trees into counters, completes jobs, and notifies listeners. All trees are folded at once, a layer at a time: what the end
-- of jobs has sealed, released or cancelled is examined in the next one.
--
-- A job is complete when it is sealed, waits for no other job, and succeeded + failed + cancelled = itemCount. Its completion seals the
-- children that it feeds and releases jobs that wait for it, which may complete those in turn; the tree is complete when openJobs on the
-- root's row is 0, and its retention counts from then on. Jobs in which more items failed than they tolerate are ended here.
--
-- p_root_ids the trees, none twice; of more than 1,000, the others are left for a later call
-- p_from     for each tree the delta to read from: a low-water mark that skips the dead rows of deltas folded before. A fold from 0 finds
--            deltas below it that committed late
-- returns    no row for a tree that another fold has (try again); for each other one the last delta read (0 for none); whether to try again,
--            since more layers may end, or a job could not be sealed, released or ended yet; whether a transaction that is adding to such a
--            job is the reason; and whether work is left for cancel_items or release_items. Deltas of a deleted tree are deleted
-- locks      the trees, then the rows of jobs to be ended, sealed or released, and those of exact_jobs, skipping locked
--            ones, so the order does not matter
-- notifies   tell_progress
-- durability the commit does not wait for the disk, so that Postgres's notification lock is held only for an instant; after a crash the
--            deltas are back, and are counted again
create or replace function jobtree.fold_trees(p_root_ids uuid[], p_from bigint[])
returns table (root_id uuid, last_delta bigint, retry boolean, held_up boolean, unfinished boolean)
language plpgsql volatile
-- plans: no seqscan, bitmapscan, mergejoin; generic
-- In case another client has locked deltas: other trees wait for these.
set lock_timeout = '50ms'
as $$
#variable_conflict use_column
declare
  -- Each layer costs in proportion to the deltas of all before it, and other trees wait for this one.
  c_most_layers constant integer := 10;
  -- The advisory lock of a job that ends is kept until this transaction ends, and Postgres has room for some thousands; another layer may add
  -- 2,000 (exact_jobs).
  c_most_ended constant integer := 2000;
  v_ended integer := 0;
  v_folded uuid[];
  v_roots uuid[];
  v_from bigint[];
  v_layer record;
  v_next record;
  -- The last delta read of each tree, by its root; more than one of trees of several layers.
  v_read uuid[] := '{}';
  v_lasts bigint[] := '{}';
  -- The jobs that the next fold must examine again, later their trees; and the trees in which work is left.
  v_again uuid[] := '{}';
  v_unfinished uuid[] := '{}';
begin
  perform set_config('synchronous_commit', 'off', true);
  select array_agg(t.root_id), array_agg(t.from_delta) into v_roots, v_from
  from unnest(p_root_ids[:1000], p_from[:1000]) t(root_id, from_delta)
  cross join lateral (
    select from jobtree.tree r where r.root_id = t.root_id for no key update skip locked
  ) r;
  v_folded := v_roots;
  if cardinality(v_roots) is distinct from cardinality(p_root_ids[:1000]) then
    v_folded := v_roots || array(
      select r from unnest(p_root_ids[:1000]) r where not exists (select from jobtree.tree t where t.root_id = r)
    );
    delete from jobtree.progress_delta d where d.root_id = any (v_folded[coalesce(cardinality(v_roots), 0) + 1:]);
  end if;

  for n in 1..case when v_roots is null then 0 else c_most_layers end loop
    select array_agg(f.progress) filter (where f.is_whole) as rows, array_agg(f.root_id) filter (where not f.is_whole) as left_roots,
      array_agg(f.root_id) filter (where (f.progress).is_root) as read_roots, array_agg(f.last_delta) filter (where (f.progress).is_root) as lasts,
      array_agg(distinct f.root_id) filter (where f.ends) as ended_roots, array_agg((f.progress).job_id) filter (where f.ends) as ended,
      array_agg((f.progress).job_id) filter (where f.leads_on) as leading, array_agg((f.progress).job_id) filter (where f.fails) as failing,
      array_agg((f.progress).job_id) filter (where f.is_busy) as busy
    into v_layer
    from jobtree.fold_layer(v_roots, v_from) f;
    v_read := v_read || v_layer.read_roots;
    v_lasts := v_lasts || v_layer.lasts;
    v_again := v_again || v_layer.busy;
    if v_layer.ended is not null then
      perform jobtree.add_deliveries(v_layer.ended_roots, v_layer.ended);
    end if;
    if v_layer.rows is not null then
      perform jobtree.tell_progress(v_layer.rows);
    end if;
    v_roots := v_layer.left_roots;
    if v_layer.leading is not null or v_layer.failing is not null then
      select array_agg(t.root_id) filter (where t.done) as root_ids, array_agg(t.job_id) filter (where t.done) as job_ids,
        array_agg(t.job_id) filter (where not t.done) as again, array_agg(t.root_id) filter (where t.leaves_work) as unfinished
      into v_next
      from jobtree.follow_up(v_layer.failing, v_layer.leading) t;
      v_again := v_again || v_next.again;
      v_unfinished := v_unfinished || v_next.unfinished;
      insert into jobtree.progress_delta (root_id, job_id) select t.* from unnest(v_next.root_ids, v_next.job_ids) t;
      v_roots := v_roots || v_next.root_ids;
    end if;
    v_ended := v_ended + coalesce(cardinality(v_layer.ended), 0);
    exit when v_roots is null;
    select array_agg(t.root_id), array_agg(0) into v_roots, v_from from (select distinct r as root_id from unnest(v_roots) r) t;
    exit when v_ended >= c_most_ended;
  end loop;

  if v_again <> '{}' then
    with held_up as (
      insert into jobtree.progress_delta (root_id, job_id) select distinct j.root_id, j.id from jobtree.job j where j.id = any (v_again)
      returning root_id
    )
    select coalesce(array_agg(h.root_id), '{}') into v_again from held_up h;
    v_roots := v_roots || v_again;
  end if;
  return query
    select t.root_id, coalesce(min(r.last), 0), t.root_id in (select u from unnest(v_roots) u), t.root_id in (select u from unnest(v_again) u),
      t.root_id in (select u from unnest(v_unfinished) u)
    from unnest(v_folded) t(root_id)
    left join unnest(v_read, v_lasts) r(root_id, last) on r.root_id = t.root_id
    group by t.root_id;
end
$$;
