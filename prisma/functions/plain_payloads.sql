-- The payloads of new items that are payloads and nothing else, {"payload": …} without a space: what nearly all are. Null if
-- any item is not, and then check_items looks at each. An object with that key and any other is longer than its payload by more
-- than the twelve bytes of the key, the colon and the braces, so two lengths tell it.
--
-- p_items    a JSON array
create or replace function jobtree.plain_payloads(p_items json) returns json[]
language sql immutable
as $$
  select case when bool_and(coalesce(octet_length(g.item::text) - octet_length(g.payload::text) = 12, false)) then array_agg(g.payload) end
  from (
    select e.value as item, e.value -> 'payload' as payload from json_array_elements(p_items) e(value) offset 0
  ) g
$$;
