-- How many more items of limited types may be claimed now. Never fewer than the limits allow; a claim that must not exceed them has locked
-- the rows (lock_queues).
--
-- p_types    the types; the answer leaves out those that are neither paused nor limited
-- returns    the room of each, 0 if it is paused or at a limit; and in how many milliseconds to look again once the room is used up: for a
--            rate when its oldest claims stop counting, otherwise soon, since nobody can foresee when an item ends
-- locks      none
create or replace function jobtree.queue_rooms(p_types text[])
returns table (type text, room integer, again_in_ms integer)
language plpgsql stable
-- plans: no seqscan, bitmapscan, hashjoin, mergejoin; generic
as $$
#variable_conflict use_column
declare
  v_now constant timestamptz := clock_timestamp();
begin
  return query
    select q.type, case when q.paused then 0 else greatest(0, least(h.places, r.claims, 1000000))::integer end,
      case
        when q.paused then 1000
        when r.claims <= coalesce(h.places, r.claims)
          then ceil(extract(epoch from coalesce(r.oldest, v_now) + r.interval - v_now) * 1000)::integer
        else 100
      end
    from jobtree.queue q
    cross join lateral (
      select q.concurrency - coalesce(sum(d.items), 0) - case when q.limited_by is null then 0 else jobtree.uncounted_items(q.type) end as places
      from jobtree.held_deltas(case when q.concurrency is not null then q.type end) d
    ) h
    cross join lateral (
      select q.rate_limit - coalesce(sum(s.claims), 0) as claims, min(s.ends_at) as oldest, i.interval
      from (select q.rate_interval_ms * interval '1 millisecond' as interval) i
      left join jobtree.rate_slice s on s.type = q.type and s.ends_at > v_now - i.interval
      group by i.interval
    ) r
    where q.type = any (p_types) and (q.paused or q.concurrency is not null or q.rate_limit is not null);
end
$$;
