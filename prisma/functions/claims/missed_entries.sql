-- Ready entries that claims do not see, because they are before the place where claims start to read: they committed late, or came back.
--
-- p_types, p_priorities, p_places   where claims start to read, by type and priority
-- returns    for each that has such entries, the first place
create or replace function jobtree.missed_entries(p_types text[], p_priorities integer[], p_places bigint[])
returns table (type text, priority integer, place bigint)
language sql stable
-- plans: no seqscan, bitmapscan
as $$
  select c.type, c.priority, e.place
  from unnest(p_types, p_priorities, p_places) c(type, priority, place)
  cross join lateral (
    select q.place from jobtree.queue_entry q
    where q.type = c.type and q.run_at is null and -q.priority::integer = -c.priority and q.place < c.place
    order by q.place
    limit 1
  ) e
$$;
