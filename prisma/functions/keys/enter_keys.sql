-- Puts items into the lines of their serialize keys: an item whose key is free becomes its head and enters the queue; the others wait
-- behind, where no claim sees them.
--
-- p_items    items with keys, in the order in which they are to run
-- p_last     whether heads go to the end of what is ready, or to their own place
-- returns    how many of them are ready
-- locks      the keys' rows in order, on which calls that finish a head and calls that queue behind it wait for each other
create or replace function jobtree.enter_keys(p_items jobtree.waiting_item[], p_last boolean)
returns integer
language plpgsql volatile
-- plans: no seqscan, hashjoin, mergejoin, bitmapscan, material; generic
as $$
declare
  v_heads record;
  v_waiting record;
begin
  with given as materialized (
    select u.n, u.job_id, u.position, i.key
    from unnest(p_items) with ordinality u(job_id, position, attempt, priority, run_at, lost, n)
    cross join lateral (
      select i.serialize_key collate "C" as key from jobtree.job_item i where i.job_id = u.job_id and i.position = u.position offset 0
    ) i
  ), taken as (
    insert into jobtree.serialize_key as k (key, job_id, position, turn)
    select f.key, f.job_id, f.position, nextval('jobtree.blocked_item_turn_seq')
    from (select distinct on (g.key) g.* from given g order by g.key, g.n) f
    -- A key that has a head is locked and stays as it is; one without gets this head.
    on conflict (key) do update set job_id = excluded.job_id, position = excluded.position, turn = excluded.turn
    where k.job_id is null
    returning k.job_id, k.position
  )
  select array_agg(t.job_id) as job_ids, array_agg(t.position) as positions into v_heads from taken t;

  -- The items behind draw their turns in a new statement, once all keys are locked.
  with given as materialized (
    select u.*, (u.job_id, u.position) not in (select h.* from unnest(v_heads.job_ids, v_heads.positions) h(job_id, position)) as waits
    from unnest(p_items) with ordinality u(job_id, position, attempt, priority, run_at, lost, n)
  ), behind as (
    insert into jobtree.blocked_item (key, job_id, position, type, priority, attempt, run_at, waits_since)
    select i.serialize_key, g.job_id, g.position, j.type, g.priority, g.attempt, g.run_at,
      case when g.attempt = 1 then greatest(i.created_at, i.run_at) end
    from given g
    -- Looked up one by one: a join might scan all items of the job for each.
    cross join lateral (select i.* from jobtree.job_item i where i.job_id = g.job_id and i.position = g.position offset 0) i
    cross join lateral (select j.type from jobtree.job j where j.id = g.job_id offset 0) j
    where g.waits
    order by g.n
  )
  select array_agg(row(g.job_id, g.position, g.attempt, g.priority, g.run_at, g.lost)::jobtree.waiting_item) as items,
    count(*) filter (where g.run_at is null)::integer as ready
  into v_waiting
  from given g
  where not g.waits;
  if v_waiting.items is not null then
    perform jobtree.requeue(v_waiting.items, p_last);
  end if;
  return v_waiting.ready;
end
$$;
