-- Locks serialize keys as lock_keys does, but without waiting for those that are locked. Nobody can know of a key that an open transaction has
-- just created whether that will commit: after 100 ms these are left, too.
--
-- p_keys     keys; duplicates are allowed
-- returns    those that are locked
-- locks      the keys' rows
create or replace function jobtree.try_lock_keys(p_keys text[])
returns text[]
language plpgsql volatile
-- plans: no seqscan; generic
set lock_timeout = '20ms'
as $$
declare
  v_until constant timestamptz := clock_timestamp() + interval '100 milliseconds';
  v_locked text[] := array(select k.key from jobtree.serialize_key k where k.key = any (p_keys) order by k.key for update skip locked);
  v_absent constant text[] := array(
    select distinct u collate "C" from unnest(p_keys) u
    where not exists (select from jobtree.serialize_key k where k.key = u collate "C")
    order by 1
  );
  v_made text[];
begin
  -- All of them at once; and if that takes too long one by one, for a moment, to get those that no other transaction is creating.
  for n in 0 .. cardinality(v_absent) loop
    exit when v_absent = '{}' or n > 0 and clock_timestamp() > v_until;
    begin
      with made as (
        insert into jobtree.serialize_key as k (key) select u from unnest(case n when 0 then v_absent else v_absent[n:n] end) u
        on conflict (key) do nothing
        returning k.key
      )
      select array_agg(m.key) into v_made from made m;
      v_locked := v_locked || v_made;
      exit when n = 0;
    exception when lock_not_available then null;
    end;
  end loop;
  return v_locked;
end
$$;
