-- Selects the reports that count: of those whose lease is locked and whose item is open, for each assignment the first of which nothing is
-- wrong with the content. The content of whole reports is examined, and that of results for what fed children could not take. What mappings would
-- create in one call is bounded: results beyond about 20 MB of it are put off, which report_answers tells.
--
-- p_leases   the leases that this transaction has locked, with all that they need
-- p_lease_ids, p_numbers, p_values, p_kinds   as report_results takes them
-- returns    what counts: the indexes, from 1, and for each the assignment, what it is and its content, and new items; and what is wrong with
--            those that would count otherwise: {index: [field, message]}
create or replace function jobtree.judge_reports(
  p_leases jobtree.reported_lease[], p_lease_ids uuid[], p_numbers integer[], p_values json, p_kinds text[]
)
returns jobtree.judged_reports
language plpgsql stable
-- plans: no seqscan, bitmapscan, mergejoin; generic
as $$
begin
  return (select row(
    array_agg(r.n) filter (where r.problem is null), array_agg(r.lease_id) filter (where r.problem is null),
    array_agg(r.number) filter (where r.problem is null),
    json_agg(case r.kind when 'snooze' then r.report else r.report -> r.kind end) filter (where r.problem is null),
    array_agg(r.kind) filter (where r.problem is null), array_agg(r.report -> 'newItems') filter (where r.problem is null),
    jsonb_object_agg(r.n, r.problem) filter (where r.problem is not null)
  )::jobtree.judged_reports
  from (
    select o.*, min(o.n) filter (where o.problem is null) over (partition by o.lease_id, o.number) as first_n,
      sum(o.fed_bytes) filter (where o.problem is null) over (order by o.n) as all_fed_bytes
    from (
      select u.n::integer as n, u.lease_id, u.number, w.report, w.kind,
        coalesce(
          case when u.kind = 'report' then (select jsonb_build_array(p.field, p.message) from jobtree.report_problem(w.report::jsonb) p) end,
          case when w.kind = 'result' and (k.feeds_children or w.report ->> 'newItems' is not null) then (
            select jsonb_build_array(p.field, p.message)
            from jobtree.job_item i
            cross join lateral jobtree.feed_problem(k.job_id, i.payload, w.report) p
            where i.job_id = k.job_id and i.position = k.position + u.number - 1
          ) end
        ) as problem,
        -- With those of the rows.
        coalesce(case when w.kind = 'result' and k.feeds_children then (
          select sum(z.bytes + 200 * z.items)
          from jobtree.job_item i
          join jobtree.job c on c.parent_id = i.job_id and c.feed ->> 'source' = 'SUCCESSES' and c.cancelled_at is null
          cross join lateral jobtree.feed_size(c.feed, i.payload, coalesce(w.report -> 'result', 'null')) z
          where i.job_id = k.job_id and i.position = k.position + u.number - 1
        ) end, 0) as fed_bytes
      from rows from (unnest(p_lease_ids), unnest(p_numbers), json_array_elements(p_values), unnest(p_kinds))
        with ordinality u(lease_id, number, value, kind, n)
      join unnest(p_leases) k on k.id = u.lease_id
      cross join lateral (
        select r.report, case
          when r.report ->> 'failure' is not null then 'failure'
          when r.report ->> 'snoozeMs' is not null then 'snooze'
          else 'result'
        end as kind
        from (select jobtree.whole_report(u.value, u.kind) as report offset 0) r
        offset 0
      ) w
      where case when k.cancelled then false when u.number > 0 then get_bit(k.open, u.number - 1) = 1 end
    ) o
    order by o.n
  ) r
  where (r.first_n is null or r.n <= r.first_n) and (r.problem is not null or r.all_fed_bytes <= 20e6 or r.all_fed_bytes = r.fed_bytes));
end
$$;
