-- How many items of jobs have each status of pending ones, and how many have ended in the last minute. The cost does not depend on how many
-- items are finished.
--
-- returns    a row for each job, in their order; per_second is null before its first item is claimed, and once it is complete
create or replace function jobtree.pending_counts(p_job_ids uuid[])
returns table (waiting bigint, blocked bigint, scheduled bigint, retrying bigint, ready bigint, running bigint, per_second double precision)
language plpgsql stable
-- plans: no seqscan; generic
as $$
begin
  return query
  select coalesce(e.waiting, 0), coalesce(b.blocked, 0), coalesce(e.scheduled, 0), coalesce(e.retrying, 0), coalesce(e.ready, 0),
    coalesce(l.running, 0), p.per_second
  from unnest(p_job_ids) with ordinality u(job_id, n)
  cross join lateral (
    select sum(s.items) filter (where s.status = 'WAITING')::bigint as waiting, sum(s.items) filter (where s.status = 'SCHEDULED')::bigint as scheduled,
      sum(s.items) filter (where s.status = 'RETRYING')::bigint as retrying, sum(s.items) filter (where s.status = 'READY')::bigint as ready
    from (
      select jobtree.status_of_item(null, null, false, false, q.run_at, q.attempt) as status, sum(q.count) as items
      from jobtree.queue_entry q
      where q.job_id = u.job_id
      group by 1
    ) s
  ) e
  cross join lateral (select count(*) as blocked from jobtree.blocked_item i where i.job_id = u.job_id) b
  cross join lateral (
    select sum(bit_count(h.open))::bigint as running from jobtree.lease h
    where h.job_id = u.job_id and coalesce(h.check_at, 'infinity') < 'infinity'
  ) l
  left join lateral (
    select case
      when c.started_at is not null and c.completed_at is null then jobtree.per_second(c.pace, c.started_at, clock_timestamp())
    end as per_second
    from jobtree.job_progress c where c.job_id = u.job_id order by c.version desc limit 1
  ) p on true
  order by u.n;
end
$$;
