-- Releases or cancels jobs that waited for others: a job is released when all jobs that it waits for ended SUCCEEDED or PARTIAL, and cancelled
-- as soon as one of them ended FAILED or CANCELLED. This only marks them: release_items and cancel_items do the rest.
--
-- p_job_ids  jobs that are complete
-- returns    the jobs that are released or cancelled (done), and the complete jobs whose dependents could not be locked because transactions
--            are adding to them, for a later call
-- locks      the jobs' rows in the order of their ids, skipping locked ones
create or replace function jobtree.settle_dependents(p_job_ids uuid[])
returns table (root_id uuid, job_id uuid, done boolean)
language plpgsql volatile
-- plans: no seqscan, bitmapscan, hashjoin, mergejoin; generic
as $$
#variable_conflict use_column
declare
  v_now constant timestamptz(3) := clock_timestamp();
  v_ended constant uuid[] := array(select j.id from jobtree.job j where j.id = any (p_job_ids) and j.awaited);
  v_go_on uuid[];
  v_in_vain uuid[];
  v_free uuid[];
begin
  if v_ended = '{}' then
    return;
  end if;

  select array_agg(w.id) filter (where w.goes_on), array_agg(w.id) filter (where w.in_vain) into v_go_on, v_in_vain
  from (
    select j.id, bool_and(coalesce(o.outcome in ('SUCCEEDED', 'PARTIAL'), false)) as goes_on, bool_or(o.outcome in ('FAILED', 'CANCELLED')) as in_vain
    from (select distinct j.root_id from jobtree.job j where j.id = any (v_ended)) r
    join jobtree.job j on j.root_id = r.root_id
    cross join lateral unnest(j.after_ids) a(id)
    cross join lateral (
      select (select p.outcome from jobtree.job_progress p where p.job_id = a.id order by p.version desc limit 1) as outcome
    ) o
    where j.waits and j.after_ids && v_ended
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
    select j.root_id, j.id, true from jobtree.job j where j.id = any (v_free)
    union all
    select distinct e.root_id, e.id, false
    from jobtree.job w
    join jobtree.job e on e.id = any (v_ended) and e.id = any (w.after_ids)
    where w.id = any (v_go_on || v_in_vain) and (w.id = any (v_free)) is not true;
end
$$;
