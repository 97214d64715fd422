-- Carries out what follows from a layer of a fold (fold_trees). It only marks jobs: cancel_items and release_items do the rest.
--
--   A job in which more items failed than it tolerates ends: from this commit on it accepts no items and gives none to workers, and what is
--   pending in it counts as cancelled. Children that a complete job feeds are sealed: nothing comes any more. A job that waits for others is
--   released when all of them ended SUCCEEDED or PARTIAL, and cancelled as soon as one of them ended FAILED or CANCELLED.
--
-- p_failing  jobs with more failures than they tolerate
-- p_complete   jobs that are complete
-- returns    the jobs that are ended, sealed, released or cancelled (done), and whether that leaves work; and for a later call the jobs of which
--            rows were locked: those that fail, and complete ones whose children or dependents could not be locked because of others
-- locks      the jobs' rows of each kind in the order of their ids, skipping locked ones
create or replace function jobtree.follow_up(p_failing uuid[], p_complete uuid[])
returns table (root_id uuid, job_id uuid, done boolean, leaves_work boolean)
language plpgsql volatile
-- plans: no seqscan, bitmapscan, hashjoin, mergejoin; generic
as $$
#variable_conflict use_column
declare
  v_now constant timestamptz(3) := clock_timestamp();
  v_ended uuid[];
  v_go_on uuid[];
  v_in_vain uuid[];
  v_free uuid[];
begin
  return query
    with free as materialized (
      select j.id from jobtree.job j where j.id = any (p_failing) and j.cancelled_at is null
      order by j.id
      for no key update skip locked
    ), ended as (
      update jobtree.job j
      -- It may wait for others still: the bad lines of its file have failed already.
      set failed_at = v_now, cancelled_at = v_now, cancel_reason = 'FAILURES', cancelling = true, waits = false, sealed_at = coalesce(j.sealed_at, v_now)
      where j.id = any (array(select f.id from free f))
      returning j.root_id, j.id
    )
    select e.root_id, e.id, true, true from ended e
    union all
    select j.root_id, j.id, false, false from jobtree.job j where j.id = any (p_failing) and j.id not in (select f.id from free f);
  return query
    with waiting as materialized (
      select c.id, c.parent_id, c.root_id from jobtree.job c
      where c.parent_id = any (p_complete) and c.feed is not null and c.sealed_at is null
    ), free as materialized (
      select c.id from jobtree.job c where c.id = any (array(select w.id from waiting w))
      order by c.id
      for no key update skip locked
    ), sealed as (
      update jobtree.job c set sealed_at = v_now where c.id = any (array(select f.id from free f)) returning c.root_id, c.id
    )
    select s.root_id, s.id, true, false from sealed s
    union all
    select distinct w.root_id, w.parent_id, false, false from waiting w where w.id not in (select f.id from free f);

  v_ended := array(select j.id from jobtree.job j where j.id = any (p_complete) and j.awaited);
  if v_ended = '{}' then
    return;
  end if;
  select array_agg(w.id) filter (where w.goes_on), array_agg(w.id) filter (where w.in_vain) into v_go_on, v_in_vain
  from (
    select j.id, bool_and(coalesce(o.outcome in ('SUCCEEDED', 'PARTIAL'), false)) as goes_on, bool_or(o.outcome in ('FAILED', 'CANCELLED')) as in_vain
    -- Jobs wait for jobs of their own tree: comparing them with the ended ones of all trees would take most of the time of a fold.
    from (select j.root_id, array_agg(j.id) as ended from jobtree.job j where j.id = any (v_ended) group by j.root_id) r
    join jobtree.job j on j.root_id = r.root_id
    cross join lateral unnest(j.after_ids) a(id)
    cross join lateral (
      select (select p.outcome from jobtree.job_progress p where p.job_id = a.id order by p.version desc limit 1) as outcome
    ) o
    where j.waits and j.after_ids && r.ended
    group by j.id
  ) w;
  select array_agg(f.id) into v_free
  from (
    select j.id from jobtree.job j where j.id = any (v_go_on || v_in_vain) and j.waits
    order by j.id
    for no key update skip locked
  ) f;
  update jobtree.job j
  -- Even without an entry: a transaction may be adding one.
  set waits = false, releasing = true
  where j.id = any (v_free) and j.id = any (v_go_on);
  update jobtree.job j
  set waits = false, cancelled_at = v_now, cancel_reason = 'DEPENDENCY', cancelling = true, sealed_at = coalesce(j.sealed_at, v_now)
  where j.id = any (v_free) and j.id = any (v_in_vain);
  return query
    select j.root_id, j.id, true, true from jobtree.job j where j.id = any (v_free)
    union all
    select distinct e.root_id, e.id, false, false
    from jobtree.job w
    join jobtree.job e on e.id = any (v_ended) and e.id = any (w.after_ids)
    where w.id = any (v_go_on || v_in_vain) and (w.id = any (v_free)) is not true;
end
$$;
