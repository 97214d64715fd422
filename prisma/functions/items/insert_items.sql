-- Adds new items to a job, each with its own settings: the items, their queue entries, and one delta. It checks nothing:
-- callers do.
--
-- p_job      the job's row, which the caller has locked or just inserted
-- p_items    JSON array of {payload, dedupeKey?, priority?, runAt?, serializeKey?}, at least one; the job provides missing values
-- p_parents  for each, the position of the parent job's item that created it; null if none did
-- returns    for each entry, in order, the item's position, and whether the item is new; if not, an item of the job had the
--            dedupe key already, and the position is that item's. And how many are ready: neither scheduled nor waiting nor blocked
-- locks      serialize keys in their order; meeting an uncommitted item with the same dedupe key waits for it
create or replace function jobtree.insert_items(p_job jobtree.job, p_items json, p_parents bigint[] default null)
returns table (positions bigint[], added boolean[], ready integer)
language plpgsql volatile
-- plans: no seqscan, bitmapscan, hashjoin, mergejoin; generic
as $$
declare
  v_now constant timestamptz(3) := clock_timestamp();
  v_job_id constant uuid := p_job.id;
  v_priority constant smallint := p_job.priority;
  -- Items with serialize keys enter the lines once their job no longer waits, in the order of their positions.
  v_waits constant boolean := p_job.waits or p_job.releasing;
  v_positions bigint[];
  v_serialize_keys text[];
  v_inserted record;
begin
  v_positions := jobtree.positions_from(
    array(select nextval('jobtree.block_seq') * 1024 from generate_series(1, json_array_length(p_items), 1024)), json_array_length(p_items)
  );
  if strpos(p_items::text, '"dedupeKey"') > 0 and strpos(p_items::text, '"serializeKey"') > 0 and not v_waits then
    -- Before the dedupe keys: the order in which every other call locks them.
    select array_agg(e.value ->> 'serializeKey') into v_serialize_keys from json_array_elements(p_items) e(value)
    where e.value ->> 'serializeKey' is not null;
    perform jobtree.lock_keys(v_serialize_keys);
  end if;

  with given as materialized (
    select u.position, coalesce(u.value -> 'payload', 'null') as payload, u.value ->> 'dedupeKey' as dedupe_key,
      (u.value ->> 'priority')::smallint as priority, coalesce((u.value ->> 'runAt')::timestamptz, p_job.run_at) as run_at,
      u.value ->> 'serializeKey' as serialize_key, u.parent
    from rows from (unnest(v_positions), json_array_elements(p_items), unnest(p_parents)) u(position, value, parent)
  ), plain as (
    -- Separately: "on conflict" costs every row a search in each unique index and a speculative insert.
    insert into jobtree.job_item as i (job_id, position, created_at, payload_bytes, priority, run_at, payload, serialize_key, parent_position)
    select v_job_id, g.position, v_now, octet_length(g.payload::text), g.priority, g.run_at, g.payload, g.serialize_key, g.parent
    from given g
    where g.dedupe_key is null
    returning i.position, i.payload_bytes, i.priority, i.run_at, i.serialize_key
  ), deduped as (
    insert into jobtree.job_item as i (job_id, position, created_at, payload_bytes, priority, run_at, dedupe_key, payload, serialize_key, parent_position)
    select v_job_id, g.position, v_now, octet_length(g.payload::text), g.priority, g.run_at, g.dedupe_key, g.payload, g.serialize_key, g.parent
    from given g
    where g.dedupe_key is not null
    -- In the order of their keys: two calls with the same keys would deadlock otherwise.
    order by g.dedupe_key, g.position
    on conflict (job_id, dedupe_key) where dedupe_key is not null do nothing
    returning i.position, i.payload_bytes, i.priority, i.run_at, i.serialize_key
  ), inserted as materialized (
    select i.position, i.payload_bytes, coalesce(i.priority, v_priority) as priority, case when i.run_at > v_now then i.run_at end as due_at,
      i.serialize_key is not null as keyed
    from (select * from plain union all select * from deduped) i
  ), queued as (
    insert into jobtree.queue_entry (job_id, position, place, bytes, run_at, attempt, count, priority, type, keyed)
    select v_job_id, min(r.position), min(r.position), sum(r.payload_bytes),
      -- While the job waits for others nothing is due, until release_items examines it again.
      case when p_job.waits or r.keyed then 'infinity' else r.due_at end, 1, count(*), r.priority, p_job.type, r.keyed
    from (
      -- Neighbours that wait under the same conditions are in the same run.
      select i.*, i.position - row_number() over (partition by i.priority, i.due_at, i.keyed order by i.position) as run,
        -- Keyed items get entries of their own: release_items may find the key of one locked, but not that of the next.
        case when i.keyed then 1 else jobtree.entry_size(max(i.payload_bytes) over ()) end as size
      from inserted i
      where not i.keyed or v_waits
    ) r
    group by r.priority, r.due_at, r.keyed, r.run, r.position / r.size
  )
  select (select array_agg(g.dedupe_key order by g.position) from given g) as dedupe_keys, count(*)::integer as added,
    sum(i.payload_bytes) as bytes,
    count(*) filter (where not (i.keyed or p_job.waits) and i.due_at is null)::integer as ready,
    array_agg(row(v_job_id, i.position, 1, i.priority, i.due_at, null)::jobtree.waiting_item order by i.position) filter (where i.keyed) as keyed
  into v_inserted
  from inserted i;

  if v_inserted.added > 0 then
    insert into jobtree.progress_delta (root_id, job_id, items, bytes)
    values (p_job.root_id, v_job_id, v_inserted.added, v_inserted.bytes);
  end if;
  if v_inserted.keyed is not null and not v_waits then
    v_inserted.ready := v_inserted.ready + jobtree.enter_keys(v_inserted.keyed, false);
  end if;
  if v_serialize_keys is not null then
    delete from jobtree.serialize_key k where k.key = any (v_serialize_keys) and k.job_id is null;
  end if;

  if cardinality(v_positions) = v_inserted.added then
    return query select v_positions, array_fill(true, array[v_inserted.added]), v_inserted.ready;
  else
    -- A new statement sees what the conflicting transactions committed.
    return query
      select array_agg(coalesce(i.position, u.position) order by u.n), array_agg(coalesce(i.position = u.position, true) order by u.n),
        v_inserted.ready
      from unnest(v_positions, v_inserted.dedupe_keys) with ordinality u(position, dedupe_key, n)
      left join jobtree.job_item i on i.job_id = v_job_id and i.dedupe_key = u.dedupe_key;
  end if;
end
$$;
