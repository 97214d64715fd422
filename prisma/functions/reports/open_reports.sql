-- Selects the reports whose lease is locked and whose item is open, together with the first problem of their content: of several for one
-- assignment the first that has none, and those before it.
--
-- p_ns, p_lease_ids, p_numbers, p_reports   as report_each takes them
-- p_held     the leases that this transaction has locked for them
-- returns    for each its index, assignment, report, kind (RESULT, FAILURE, SNOOZE), and whether its job feeds children; message is null if
--            nothing is wrong
create or replace function jobtree.open_reports(
  p_ns integer[], p_lease_ids uuid[], p_numbers integer[], p_reports json[], p_held uuid[]
)
returns table (n integer, lease_id uuid, number integer, report json, kind text, feeds_children boolean, field text, message text)
language plpgsql stable
-- plans: no seqscan, hashjoin, mergejoin; generic
as $$
#variable_conflict use_column
begin
  return query
    select r.n, r.lease_id, r.number, r.report, r.kind, r.feeds_children, r.field, r.message
    from (
      select o.n, o.lease_id, o.number, o.report, o.kind, o.feeds_children, p.field, p.message,
        min(o.n) filter (where p.message is null) over (partition by o.lease_id, o.number) as first_n
      from (
        select u.*, case
            when u.report ->> 'failure' is not null then 'FAILURE'
            when u.report ->> 'snoozeMs' is not null then 'SNOOZE'
            else 'RESULT'
          end as kind, l.job_id, l.position + u.number - 1 as position, j.feeds_children
        from unnest(p_ns, p_lease_ids, p_numbers, p_reports) u(n, lease_id, number, report)
        join jobtree.lease l on l.id = u.lease_id
        join jobtree.job j on j.id = l.job_id
        where u.lease_id = any (p_held) and j.cancelled_at is null
          and case when u.number > 0 then get_bit(l.open, u.number - 1) = 1 end
      ) o
      left join lateral (
        select r.* from jobtree.report_problem(o.report::jsonb) r
        union all
        select f.*
        from jobtree.job_item i
        cross join lateral jobtree.feed_problem(o.job_id, i.payload, o.report) f
        where i.job_id = o.job_id and i.position = o.position and o.kind = 'RESULT'
          and (o.feeds_children or o.report ->> 'newItems' is not null)
          and not exists (select from jobtree.report_problem(o.report::jsonb))
        limit 1
      ) p on true
    ) r
    where r.first_n is null or r.n <= r.first_n;
end
$$;
