-- Creates the rows of keys that are not in use, still without a head: lock_keys.
--
-- returns    those that are new
-- errors     55P03 if an open transaction has just created one of them: nobody can know whether it will commit
create or replace function jobtree.make_keys(p_keys text[])
returns text[]
language plpgsql volatile
set lock_timeout = '20ms'
set plan_cache_mode = force_generic_plan
as $$
declare
  v_made text[];
begin
  with made as (
    insert into jobtree.serialize_key as k (key)
    select distinct u collate "C" from unnest(p_keys) u order by 1
    on conflict (key) do nothing
    returning k.key
  )
  select array_agg(m.key) into v_made from made m;
  return v_made;
end
$$;
