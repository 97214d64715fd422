-- Releases or cancels jobs that waited for others: a job is released when all jobs that it waits for ended SUCCEEDED or PARTIAL, and cancelled
-- as soon as one of them ended FAILED or CANCELLED. This only marks them: release_items and cancel_items do the rest.
--
-- p_rows     counters of jobs, as a fold is about to write them
-- p_touched  the jobs that have changed
-- returns    the jobs that were released or cancelled, null for none; and the complete jobs whose dependents could not be locked because
--            transactions are adding to them, for a later call
-- locks      the jobs' rows in the order of their ids, skipping locked ones
create or replace function jobtree.settle_dependents(p_root_id uuid, p_rows jobtree.job_progress[], p_touched uuid[])
returns table (settled uuid[], again uuid[])
language plpgsql volatile
-- plans: no seqscan, bitmapscan, hashjoin, mergejoin; generic
as $$
declare
  v_now constant timestamptz(3) := clock_timestamp();
  v_ended uuid[];
  v_go_on uuid[];
  v_in_vain uuid[];
  v_free uuid[];
begin
  select array_agg(j.id) into v_ended
  from unnest(p_rows) r
  join jobtree.job j on j.id = r.job_id
  where r.job_id = any (p_touched) and r.completed_at is not null and j.awaited;
  if v_ended is null then
    return query select null::uuid[], null::uuid[];
    return;
  end if;

  select array_agg(w.id) filter (where w.goes_on), array_agg(w.id) filter (where w.in_vain) into v_go_on, v_in_vain
  from (
    select j.id, bool_and(coalesce(o.outcome in ('SUCCEEDED', 'PARTIAL'), false)) as goes_on, bool_or(o.outcome in ('FAILED', 'CANCELLED')) as in_vain
    from jobtree.job j
    cross join lateral unnest(j.after_ids) a(id)
    cross join lateral (
      select coalesce(
        (select r.outcome from unnest(p_rows) r where r.job_id = a.id),
        (select p.outcome from jobtree.job_progress p where p.job_id = a.id order by p.version desc limit 1)
      ) as outcome
    ) o
    where j.root_id = p_root_id and j.waits and j.after_ids && v_ended
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

  return query select v_free, (
    select array_agg(e.id) from unnest(v_ended) e(id)
    where exists (
      select from jobtree.job j
      where j.id = any (v_go_on || v_in_vain) and (j.id = any (v_free)) is not true and e.id = any (j.after_ids)
    )
  );
end
$$;
