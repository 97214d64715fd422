-- Ready entries that claims do not see, because they stand before where claims start to look: they committed late, or came back.
--
-- p_types, p_priorities, p_places   from where claims look, by type and priority
-- returns    of each that has any, the first place
create or replace function jobtree.missed_entries(p_types text[], p_priorities integer[], p_places bigint[])
returns table (type text, priority integer, place bigint)
language sql stable
set enable_seqscan = off
set enable_bitmapscan = off
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
