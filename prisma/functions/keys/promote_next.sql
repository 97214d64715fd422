-- Passes on serialize keys whose heads have ended: the next item of each line becomes the head and enters the queue. A key without a next
-- item is removed.
--
-- p_keys, p_job_ids, p_positions   keys, none twice, and their heads; an item that is not the head of its key is ignored
-- returns    the keys that have not moved on, with their heads, because they or their next items are locked; null for none. And the types
--            that got ready items, and how many
-- locks      the keys' rows in their order, and the next items, skipping locked ones
create or replace function jobtree.promote_next(p_keys text[], p_job_ids uuid[], p_positions bigint[])
returns table (keys text[], job_ids uuid[], positions bigint[], ready jsonb)
language plpgsql volatile
-- plans: no seqscan, hashjoin, mergejoin, bitmapscan, material; generic
as $$
declare
  v_now constant timestamptz(3) := clock_timestamp();
  v_locked record;
  v_next record;
begin
  -- A snapshot from before the lock would miss items that queued behind the head meanwhile.
  if current_setting('transaction_isolation') in ('read committed', 'read uncommitted') then
    select array_agg(l.key) as keys, array_agg(l.turn) as turns into v_locked
    from (
      select k.key, k.turn from unnest(p_keys, p_job_ids, p_positions) u(key, job_id, position)
      join jobtree.serialize_key k on k.key = u.key collate "C" and k.job_id = u.job_id and k.position = u.position
      order by k.key
      for update of k skip locked
    ) l;
  else
    select null::text[] as keys, null::bigint[] as turns into v_locked;
  end if;

  with first as materialized (
    select u.key, b.tid
    from unnest(v_locked.keys, v_locked.turns) u(key, turn)
    left join lateral (
      -- Starts at the head's turn, to skip the dead rows of earlier items.
      select b.ctid as tid from jobtree.blocked_item b where b.key = u.key collate "C" and b.turn > u.turn order by b.turn limit 1
    ) b on true
  ), free as materialized (
    select b.ctid as tid from jobtree.blocked_item b
    where b.ctid = any (array(select f.tid from first f where f.tid is not null))
    for update skip locked
  ), next as (
    delete from jobtree.blocked_item b where b.ctid = any (array(select f.tid from free f)) returning b.*
  ), passed as (
    update jobtree.serialize_key k set job_id = n.job_id, position = n.position, turn = n.turn from next n where k.key = n.key
  ), unused as (
    delete from jobtree.serialize_key k where k.key = any (array(select f.key from first f where f.tid is null))
  )
  select array_agg(n.key) || array(select f.key from first f where f.tid is null) as keys,
    array_agg(row(
      n.job_id, n.position, n.attempt, n.priority, case when n.run_at > v_now then n.run_at end, null
    )::jobtree.waiting_item) as items,
    jobtree.count_names(array_agg(n.type) filter (where (n.run_at > v_now) is not true)) as ready
  into v_next
  from next n;
  if v_next.items is not null then
    perform jobtree.requeue(v_next.items, true);
  end if;
  if cardinality(v_next.keys) = cardinality(p_keys) then
    return query select null::text[], null::uuid[], null::bigint[], v_next.ready;
    return;
  end if;
  return query
    select array_agg(u.key), array_agg(u.job_id), array_agg(u.position), v_next.ready
    from unnest(p_keys, p_job_ids, p_positions) u(key, job_id, position)
    -- A replayed head may have queued behind itself, and be the next one. Hashed, where "<> all" would compare each with all.
    where u.key not in (select k from unnest(v_next.keys) k)
      and exists (select from jobtree.serialize_key k where k.key = u.key collate "C" and k.job_id = u.job_id and k.position = u.position);
end
$$;
