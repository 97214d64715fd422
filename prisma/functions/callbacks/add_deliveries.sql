-- Adds the callbacks' deliveries for jobs that have just been completed, and for the trees of which these were the last. The fold calls it in
-- its transaction: if a crash undoes that, the next fold adds the same messages with the same ids.
--
-- p_root_ids the trees
-- p_job_ids  the completed jobs, at least one of each tree, whose job_progress rows already show this completion
-- locks      the trees' rows of callback; only another fold of such a tree would wait for them, and there is none
create or replace function jobtree.add_deliveries(p_root_ids uuid[], p_job_ids uuid[])
returns void
language plpgsql volatile
-- plans: no seqscan, bitmapscan, hashjoin, mergejoin; generic
as $$
declare
  v_now constant timestamptz(3) := clock_timestamp();
  v_root_ids constant uuid[] := array(
    select r from unnest(p_root_ids) r cross join lateral (select from jobtree.callback c where c.root_id = r limit 1) c
  );
begin
  if cardinality(v_root_ids) = 0 then
    return;
  end if;

  with counted as (
    update jobtree.callback c
    set completions = c.completions + 1
    from unnest(v_root_ids) r(id)
    where c.root_id = r.id and c.event = 'TREE'
      and (select p.open_jobs from jobtree.job_progress p where p.job_id = r.id order by p.version desc limit 1) = 0
    returning c.*
  ), tree as materialized (
    select j.root_id, count(*) as jobs, sum(p.item_count) as item_count, sum(p.succeeded) as succeeded, sum(p.failed) as failed,
      sum(p.cancelled) as cancelled, max(p.completed_at) as completed_at, max(p.tree_outcome) as outcome
    from (select distinct c.root_id from counted c) c
    join jobtree.job j on j.root_id = c.root_id
    cross join lateral (select * from jobtree.job_progress p where p.job_id = j.id order by p.version desc limit 1) p
    group by j.root_id
  ), message as (
    select 'job' as subject, m.id, m.root_id, c.endpoint, m.completions, m.completed_at, json_build_object(
      'jobId', 'Job:' || m.id, 'rootId', 'Job:' || m.root_id, 'type', jobtree.name_within(m.type, c.endpoint),
      'dedupeKey', m.dedupe_key, 'outcome', m.outcome, 'cancelReason', m.cancel_reason,
      'itemCount', m.item_count, 'succeeded', m.succeeded, 'failed', m.failed, 'cancelled', m.cancelled, 'completions', m.completions
    ) as data
    from (
      select j.id, j.root_id, j.type, j.dedupe_key, j.cancel_reason, p.completed_at, p.outcome, p.item_count, p.succeeded, p.failed, p.cancelled,
        p.completions
      from unnest(p_job_ids) u(id)
      join jobtree.job j on j.id = u.id
      cross join lateral (select * from jobtree.job_progress p where p.job_id = u.id order by p.version desc limit 1) p
      where p.completed_at is not null
      offset 0
    ) m
    join jobtree.callback c on c.root_id = m.root_id and c.event = 'JOB'
    union all
    select 'tree', r.id, r.id, c.endpoint, c.completions, t.completed_at, json_build_object(
      'rootId', 'Job:' || r.id, 'type', jobtree.name_within(r.type, c.endpoint),
      'dedupeKey', r.dedupe_key, 'outcome', t.outcome, 'cancelReason', r.cancel_reason, 'jobs', t.jobs,
      'itemCount', t.item_count, 'succeeded', t.succeeded, 'failed', t.failed, 'cancelled', t.cancelled, 'completions', c.completions
    )
    from counted c
    join tree t on t.root_id = c.root_id
    join jobtree.job r on r.id = c.root_id
  )
  insert into jobtree.callback_delivery (id, message_id, endpoint, event, root_id, body, created_at, due_at)
  select jobtree.new_id(), format('%s_%s_%s', m.subject, m.id, m.completions), m.endpoint, upper(m.subject), m.root_id,
    jobtree.callback_body(m.subject || '.completed', m.completed_at, m.data)::text, v_now, v_now
  from message m
  on conflict do nothing;
end
$$;
