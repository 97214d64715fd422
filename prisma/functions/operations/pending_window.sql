-- The next part of what an operation on pending items goes through: the jobs in the order of their ids, and the items of each in the order of
-- their positions. If the filter names jobs, each has parts of its own.
--
-- p_ranges, p_items   how many ranges, and items of these, approximately
-- returns    after which position of which job the part begins, and the job and position of its last item; no row at the end. Every item that
--            is pending now is in a range that begins in this part or an earlier one, even if it moves to another range later
create or replace function jobtree.pending_window(p_operation jobtree.operation, p_ranges integer, p_items bigint)
returns table (from_job_id uuid, from_position bigint, last_job_id uuid, last_position bigint)
language plpgsql stable
-- plans: no seqscan, bitmapscan, hashjoin, mergejoin
-- A custom plan drops the tables that the operation does not look at.
set plan_cache_mode = force_custom_plan
as $$
declare
  c_last_job constant uuid := 'ffffffff-ffff-ffff-ffff-ffffffffffff';
  c_last_position constant bigint := 9223372036854775807;
  v_named constant uuid[] := jobtree.jobs_of_operation(p_operation);
  v_until uuid := nullif(c_last_job, p_operation.next_job_id);
begin
  from_job_id := p_operation.next_job_id;
  from_position := p_operation.next_position;
  if v_named is not null then
    -- To pass by the jobs in between.
    v_until := (select u from unnest(v_named) u where (u, c_last_position) > (from_job_id, from_position) order by u limit 1);
    if v_until > from_job_id then
      from_job_id := v_until;
      from_position := -1;
    end if;
    -- No item that the operation names has a lower position.
    from_position := greatest(from_position, (select min(u) - 1 from unnest(p_operation.item_positions) u));
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
      where p_operation.kind = 'CANCEL' and (q.job_id, q.position) > (from_job_id, from_position) and q.job_id <= v_until
        and q.position < p_operation.before_position
      order by q.job_id, q.position
      limit p_ranges)
      union all
      select d.job_id, d.position, d.last, d.count
      from unnest(p_operation.statuses) s(status)
      cross join lateral (
        select q.job_id, q.position, q.position + q.count - 1 as last, q.count
        from jobtree.queue_entry q
        where p_operation.kind = 'PROMOTE' and jobtree.status_of_item(null, null, false, false, q.run_at, q.attempt) = s.status
          and (q.job_id, q.position) > (from_job_id, from_position) and q.job_id <= v_until
          and q.position < p_operation.before_position
        order by q.job_id, q.position
        limit p_ranges
      ) d
      union all
      (select b.job_id, b.position, b.position, 1
      from jobtree.blocked_item b
      where p_operation.kind = 'CANCEL' and (b.job_id, b.position) > (from_job_id, from_position) and b.job_id <= v_until
        and b.position < p_operation.before_position
      order by b.job_id, b.position
      limit p_ranges)
      union all
      (select l.job_id, l.position, l.position, l.count
      from jobtree.lease l
      where p_operation.kind = 'CANCEL' and (l.job_id, l.position) > (from_job_id, from_position) and l.job_id <= v_until
        and l.position < p_operation.before_position and coalesce(l.check_at, 'infinity') < 'infinity'
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
