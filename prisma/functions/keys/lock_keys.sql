-- Locks serialize keys, whether an item has them or not: a new row has no head, and the caller removes it if it gets none.
--
-- p_keys     keys; duplicates are allowed
-- p_wait     whether to wait for locked keys, in their order, or to skip them; those that an open transaction has just created are skipped
--            after 100 ms
-- returns    those that are locked
-- locks      the keys' rows
create or replace function jobtree.lock_keys(p_keys text[], p_wait boolean)
returns text[]
language plpgsql volatile
-- plans: no seqscan; generic
as $$
declare
  v_until constant timestamptz := clock_timestamp() + interval '100 milliseconds';
  v_locked text[];
  v_absent text[];
  v_key text;
begin
  if p_wait then
    -- In one order, new and existing ones alike; these are locked, not written.
    insert into jobtree.serialize_key as k (key)
    select distinct u collate "C" from unnest(p_keys) u order by 1
    on conflict (key) do update set key = k.key where false;
    return p_keys;
  end if;

  v_locked := array(select k.key from jobtree.serialize_key k where k.key = any (p_keys) order by k.key for update skip locked);
  v_absent := array(
    select distinct u collate "C" from unnest(p_keys) u
    where not exists (select from jobtree.serialize_key k where k.key = u collate "C")
    order by 1
  );
  if cardinality(v_absent) = 0 then
    return v_locked;
  end if;
  begin
    return v_locked || jobtree.make_keys(v_absent);
  exception when lock_not_available then
    -- Retried one by one below, for a moment, to get those that no other transaction is creating.
  end;
  foreach v_key in array v_absent loop
    exit when clock_timestamp() > v_until;
    begin
      v_locked := v_locked || jobtree.make_keys(array[v_key]);
    exception when lock_not_available then
      continue;
    end;
  end loop;
  return v_locked;
end
$$;
