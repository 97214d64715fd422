-- Marks complete trees whose retention is over for deletion: delete_tree, called by any server, deletes them in batches. From here on
-- nothing of them can be replayed, and their dedupe keys are free. Trees that is_kept holds back come later.
--
-- p_default_seconds   the retention of trees without their own; null for ever
-- p_limit             how many trees may be marked at a time: it fills up to this number
-- returns             how many it has marked
-- locks               the roots' job_progress rows, and then the rows of jobs with dedupe keys; skips trees of which a fold, a replay or a
--                     change of the retention has locked one
create or replace function jobtree.reap_trees(p_default_seconds integer, p_limit integer default 100)
returns integer
language plpgsql volatile
-- plans: no seqscan, bitmapscan, hashjoin, mergejoin; generic
as $$
declare
  v_now constant timestamptz := clock_timestamp();
  v_limit constant bigint := p_limit - (select count(*) from jobtree.tree_deletion d where d.reaped);
  v_roots uuid[];
  v_marked uuid[];
begin
  if v_limit <= 0 then
    return 0;
  end if;
  with own as (
    select p.job_id from jobtree.job_progress p
    where not p.default_retention and p.reap_at <= v_now and not jobtree.is_kept(p.job_id)
    order by p.reap_at
    limit v_limit
    for no key update skip locked
  ), others as (
    select p.job_id from jobtree.job_progress p
    where p.default_retention and p.reap_at <= v_now - p_default_seconds * interval '1 second' and not jobtree.is_kept(p.job_id)
    order by p.reap_at
    limit v_limit
    for no key update skip locked
  )
  select array_agg(u.job_id) into v_roots from (select * from own union all select * from others) u;
  if v_roots is null then
    return 0;
  end if;

  -- In a new statement, which sees what began before the locks.
  v_roots := array(select r from unnest(v_roots) r where not jobtree.is_kept(r));
  with keyed as materialized (
    select j.id, j.root_id from jobtree.job j where j.root_id = any (v_roots) and j.dedupe_key is not null
  ), free as materialized (
    select j.id from jobtree.job j where j.id = any (array(select k.id from keyed k)) for update skip locked
  )
  select array_agg(r) into v_marked
  from unnest(v_roots) r
  where r not in (select k.root_id from keyed k where k.id not in (select f.id from free f));
  update jobtree.job j set dedupe_key = null where j.root_id = any (v_marked) and j.dedupe_key is not null;
  insert into jobtree.tree_deletion (root_id, requested_at, reaped, item_count)
  select j.root_id, v_now, true, sum(p.item_count)
  from jobtree.job j
  cross join lateral (select * from jobtree.job_progress p where p.job_id = j.id order by p.version desc limit 1) p
  where j.root_id = any (v_marked)
  group by j.root_id
  on conflict (root_id) do nothing;
  return coalesce(cardinality(v_marked), 0);
end
$$;
