-- The next part of what an operation on pending items goes through: the jobs in the order of their ids, and the items of each in the order of
-- their positions. If it is known in which jobs the items are, the rest of one that does not fit into a part has parts of its own, and no part
-- has more than 1,000 jobs.
--
-- p_ranges, p_items   how many ranges, and items of these, approximately
-- returns    the job and position of the last item of the part, which begins where the operation is; no row at the end. Every item that is
--            pending now is in a range that begins in this part or an earlier one, even if it moves to another range later
create or replace function jobtree.pending_window(p_operation jobtree.operation, p_ranges integer, p_items bigint)
returns table (last_job_id uuid, last_position bigint)
language plpgsql stable
-- plans: no seqscan, bitmapscan, hashjoin, mergejoin
-- A custom plan drops the tables that the operation does not look at.
set plan_cache_mode = force_custom_plan
as $$
declare
  c_last_job constant uuid := 'ffffffff-ffff-ffff-ffff-ffffffffffff';
  -- There is one after it.
  c_last_position constant bigint := 9223372036854775806;
  v_from_job constant uuid := p_operation.next_job_id;
  v_from constant bigint := p_operation.next_position;
  v_jobs uuid[] := jobtree.jobs_of_operation(p_operation);
  v_until uuid := nullif(c_last_job, v_from_job);
  -- No item that the operation names has a lower position.
  v_before constant bigint := coalesce((select min(u) - 1 from unnest(p_operation.item_positions) u), -1);
begin
  if v_jobs is not null then
    if v_from between 0 and c_last_position - 1 then
      v_jobs := null;
      v_until := v_from_job;
    else
      v_jobs := v_jobs[:1000];
      v_until := v_jobs[cardinality(v_jobs)];
    end if;
  end if;
  if v_until is null then
    return;
  end if;

  select r.job_id, r.last into last_job_id, last_position
  from (
    select r.job_id, r.position, r.last, row_number() over w as n, sum(r.count) over w as items
    from (
      -- Entries, blocked items and leases of a job may overlap: of the last one only the first item is in the part.
      (select q.job_id, q.position, q.position as last, q.count
      from jobtree.queue_entry q
      where p_operation.kind = 'CANCEL' and (q.job_id, q.position) > (v_from_job, v_from) and q.job_id <= v_until
        and (v_jobs is null or q.job_id = any (v_jobs)) and q.position > v_before and q.position < p_operation.before_position
      order by q.job_id, q.position
      limit p_ranges)
      union all
      select d.job_id, d.position, d.last, d.count
      from unnest(p_operation.statuses) s(status)
      cross join lateral (
        select q.job_id, q.position, q.position + q.count - 1 as last, q.count
        from jobtree.queue_entry q
        where p_operation.kind = 'PROMOTE' and jobtree.status_of_item(null, null, false, false, q.run_at, q.attempt) = s.status
          and (q.job_id, q.position) > (v_from_job, v_from) and q.job_id <= v_until
          and (v_jobs is null or q.job_id = any (v_jobs)) and q.position > v_before and q.position < p_operation.before_position
        order by q.job_id, q.position
        limit p_ranges
      ) d
      union all
      (select b.job_id, b.position, b.position, 1
      from jobtree.blocked_item b
      where p_operation.kind = 'CANCEL' and (b.job_id, b.position) > (v_from_job, v_from) and b.job_id <= v_until
        and (v_jobs is null or b.job_id = any (v_jobs)) and b.position > v_before and b.position < p_operation.before_position
      order by b.job_id, b.position
      limit p_ranges)
      union all
      (select l.job_id, l.position, l.position, l.count
      from jobtree.lease l
      where p_operation.kind = 'CANCEL' and (l.job_id, l.position) > (v_from_job, v_from) and l.job_id <= v_until
        and (v_jobs is null or l.job_id = any (v_jobs)) and l.position > v_before and l.position < p_operation.before_position and coalesce(l.check_at, 'infinity') < 'infinity'
      order by l.job_id, l.position
      limit p_ranges)
    ) r
    window w as (order by r.job_id, r.position rows unbounded preceding)
  ) r
  where r.n = p_ranges or r.items >= p_items
  order by r.job_id, r.position
  limit 1;
  if not found then
    last_job_id := v_until;
    last_position := c_last_position;
  end if;
  return next;
end
$$;
