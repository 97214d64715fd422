-- Locks serialize keys, whether an item has them or not: a new row has no head, and the caller removes it if it gets none.
--
-- p_keys     keys; duplicates are allowed
-- returns    the same
-- locks      the keys' rows, in their order
create or replace function jobtree.lock_keys(p_keys text[])
returns text[]
language plpgsql volatile
-- plans: no seqscan; generic
as $$
begin
  -- New and existing ones alike; these are locked, not written.
  insert into jobtree.serialize_key as k (key)
  select distinct u collate "C" from unnest(p_keys) u order by 1
  on conflict (key) do update set key = k.key where false;
  return p_keys;
end
$$;
