-- Does the next batch of a cancelling operation: job by job in the order of their ids, a number of ranges of a job at a time.
--
-- p_until    when to stop; the step that is in progress then is completed
-- returns    the operation's new state; whether to continue at once; the trees that changed; and the types that got ready items because
--            serialize keys were freed, and how many
-- locks      those of cancel_pending
create or replace function jobtree.cancel_matching(p_operation jobtree.operation, p_until timestamptz)
returns table (operation jobtree.operation, more boolean, root_ids uuid[], ready jsonb)
language plpgsql volatile
set enable_seqscan = off
set enable_bitmapscan = off
set enable_hashjoin = off
set enable_mergejoin = off
set plan_cache_mode = force_generic_plan
as $$
declare
  c_most constant integer := 1000;
  -- No item that the operation names has a lower position.
  v_first constant bigint := coalesce((select min(u) - 1 from unnest(p_operation.item_positions) u), -1);
  v_named constant uuid[] := jobtree.jobs_of_operation(p_operation);
  v_jobs uuid[];
  v_job record;
  v_step record;
begin
  operation := p_operation;
  if v_named is not null then
    v_jobs := array(select u from unnest(v_named) u where u >= p_operation.next_job_id order by u limit c_most);
  else
    with recursive waiting as (
      -- The jobs that have entries in the queue, one probe each.
      (select q.job_id from jobtree.queue_entry q where q.job_id >= p_operation.next_job_id order by q.job_id limit 1)
      union all
      select n.job_id from waiting w
      cross join lateral (select q.job_id from jobtree.queue_entry q where q.job_id > w.job_id order by q.job_id limit 1) n
    ), blocked as (
      (select b.job_id from jobtree.blocked_item b where b.job_id >= p_operation.next_job_id order by b.job_id limit 1)
      union all
      select n.job_id from blocked w
      cross join lateral (select b.job_id from jobtree.blocked_item b where b.job_id > w.job_id order by b.job_id limit 1) n
    )
    select array_agg(p.job_id) into v_jobs
    from (
      (select w.job_id from waiting w limit c_most)
      union
      (select b.job_id from blocked b limit c_most)
      union
      select l.job_id from (select * from jobtree.lease l where l.deadline_at is not null offset 0) l
      where l.job_id >= p_operation.next_job_id
      order by job_id
      limit c_most
    ) p;
  end if;

  more := coalesce(cardinality(v_jobs), 0) >= c_most;
  for v_job in
    select u.id, j.root_id from unnest(v_jobs) with ordinality u(id, n) left join jobtree.job j on j.id = u.id order by u.n
  loop
    if v_job.id <> operation.next_job_id then
      operation.next_job_id := v_job.id;
      operation.next_position := -1;
    end if;
    operation.next_position := greatest(operation.next_position, v_first);
    loop
      select * into v_step from jobtree.cancel_pending(operation, v_job.id, operation.next_position);
      operation.done := operation.done + v_step.cancelled;
      operation.was_busy := operation.was_busy or v_step.was_busy;
      ready := jobtree.add_up(ready, v_step.ready);
      operation.next_position := coalesce(v_step.next_after, operation.before_position);
      if v_step.cancelled > 0 and (v_job.root_id = any (root_ids)) is not true then
        root_ids := root_ids || v_job.root_id;
      end if;
      more := more or clock_timestamp() > p_until;
      exit when v_step.next_after is null or clock_timestamp() > p_until;
    end loop;
    exit when clock_timestamp() > p_until;
  end loop;
  return next;
end
$$;
