-- Marks complete trees whose retention is over for deletion: delete_trees, called by any server, deletes them in batches. From here on
-- nothing of them can be replayed, and their dedupe keys are free. Trees that are held, or that is_kept holds back, come later.
--
-- p_default_seconds   the retention of trees without their own; null for ever
-- p_limit             how many trees may be marked at a time: it fills up to this number
-- returns             how many it has marked
-- locks               the trees, and then the rows of jobs with dedupe keys; skips trees of which one of these is locked
create or replace function jobtree.reap_trees(p_default_seconds integer, p_limit integer default 100)
returns integer
language plpgsql volatile
-- plans: no seqscan, bitmapscan, hashjoin, mergejoin; generic
as $$
declare
  v_now constant timestamptz := clock_timestamp();
  v_limit constant bigint := greatest(0, p_limit - (select count(*) from jobtree.tree t where t.deletion = 'REAPED'));
  -- Mostly there are none, so that no tree need be looked at.
  v_operations boolean := exists (select from jobtree.operation o where o.finished_at is null and o.kind in ('REPLAY', 'DISCARD'));
  v_roots uuid[];
  v_marked uuid[];
begin
  with own as (
    select t.root_id from jobtree.tree t
    where t.completed_at at time zone 'UTC' + t.retention_seconds * interval '1 second' <= v_now at time zone 'UTC'
      and t.retention_seconds >= 0 and t.deletion is null and coalesce(t.held_until, '-infinity') <= v_now and not (v_operations and jobtree.is_kept(t.root_id))
    order by t.completed_at at time zone 'UTC' + t.retention_seconds * interval '1 second'
    limit v_limit
    for no key update skip locked
  ), others as (
    select t.root_id from jobtree.tree t
    where t.completed_at <= v_now - p_default_seconds * interval '1 second'
      and t.retention_seconds is null and t.deletion is null and coalesce(t.held_until, '-infinity') <= v_now and not (v_operations and jobtree.is_kept(t.root_id))
    order by t.completed_at
    limit v_limit
    for no key update skip locked
  )
  select array_agg(u.root_id) into v_roots from (select * from own union all select * from others) u;
  if v_roots is null then
    return 0;
  end if;

  -- In new statements, which see what began before the locks.
  v_operations := exists (select from jobtree.operation o where o.finished_at is null and o.kind in ('REPLAY', 'DISCARD'));
  v_roots := array(select r from unnest(v_roots) r where not (v_operations and jobtree.is_kept(r)));
  with keyed as materialized (
    select j.id, j.root_id from jobtree.job j where j.root_id = any (v_roots) and j.dedupe_key is not null
  ), free as materialized (
    select j.id from jobtree.job j where j.id = any (array(select k.id from keyed k)) for update skip locked
  )
  select array_agg(r) into v_marked
  from unnest(v_roots) r
  where r not in (select k.root_id from keyed k where k.id not in (select f.id from free f));
  update jobtree.job j set dedupe_key = null where j.root_id = any (v_marked) and j.dedupe_key is not null;
  update jobtree.tree t
  set deletion = 'REAPED', deletion_requested_at = v_now, item_count = (
    select sum(p.item_count)
    from jobtree.job j
    cross join lateral (select * from jobtree.job_progress p where p.job_id = j.id order by p.version desc limit 1) p
    where j.root_id = t.root_id
  )
  where t.root_id = any (v_marked);
  return coalesce(cardinality(v_marked), 0);
end
$$;
