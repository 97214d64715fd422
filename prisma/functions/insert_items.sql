-- Puts new items into a job, each with what settings it has: the items, their queue entries, and one delta. It checks
-- nothing, that is the callers' part.
--
-- p_job      the job's row, which the caller holds locked, or has just inserted
-- p_items    JSON array of {payload, dedupeKey?, priority?, runAt?}, at least one; what is missing comes from the job
-- returns    for each entry, in order, the item's position, and whether the item is new; if not, an item of the job had the
--            dedupe key already, and the position is that item's
-- locks      none but those of inserting; meeting an uncommitted item with the same key waits for it
create or replace function jobtree.insert_items(p_job jobtree.job, p_items json)
returns table (positions bigint[], added boolean[])
language plpgsql volatile
set enable_seqscan = off
set enable_bitmapscan = off
set enable_hashjoin = off
set enable_mergejoin = off
set plan_cache_mode = force_generic_plan
as $$
declare
  v_now constant timestamptz(3) := clock_timestamp();
  v_job_id constant uuid := p_job.id;
  v_priority constant smallint := p_job.priority;
  v_positions bigint[];
  v_keys text[];
  v_added integer;
begin
  v_positions := jobtree.new_positions(json_array_length(p_items));

  with given as materialized (
    select u.position, coalesce(u.value -> 'payload', 'null') as payload, u.value ->> 'dedupeKey' as dedupe_key,
      (u.value ->> 'priority')::smallint as priority, coalesce((u.value ->> 'runAt')::timestamptz, p_job.run_at) as run_at
    from rows from (unnest(v_positions), json_array_elements(p_items)) u(position, value)
  ), plain as (
    -- On their own: "on conflict" makes every row pay for a search of each unique index and a speculative insert.
    insert into jobtree.job_item as i (job_id, position, created_at, payload_bytes, priority, run_at, payload)
    select v_job_id, g.position, v_now, octet_length(g.payload::text), g.priority, g.run_at, g.payload
    from given g
    where g.dedupe_key is null
    returning i.position, i.payload_bytes, i.priority, i.run_at
  ), keyed as (
    insert into jobtree.job_item as i (job_id, position, created_at, payload_bytes, priority, run_at, dedupe_key, payload)
    select v_job_id, g.position, v_now, octet_length(g.payload::text), g.priority, g.run_at, g.dedupe_key, g.payload
    from given g
    where g.dedupe_key is not null
    -- In the order of their keys: two calls with the same keys would deadlock otherwise.
    order by g.dedupe_key, g.position
    on conflict (job_id, dedupe_key) where dedupe_key is not null do nothing
    returning i.position, i.payload_bytes, i.priority, i.run_at
  ), inserted as materialized (
    select i.position, i.payload_bytes, coalesce(i.priority, v_priority) as priority, case when i.run_at > v_now then i.run_at end as due_at
    from (select * from plain union all select * from keyed) i
  ), queued as (
    insert into jobtree.queue_entry (job_id, position, place, bytes, run_at, attempt, count, priority, type)
    select v_job_id, min(r.position), min(r.position), sum(r.payload_bytes),
      -- Of a job that waits for others nothing is due until release_items looks at it again.
      case when p_job.waits then 'infinity' else r.due_at end, 1, count(*), r.priority, p_job.type
    from (
      -- Neighbours that wait under the same conditions have the same run.
      select i.*, i.position - row_number() over (partition by i.priority, i.due_at order by i.position) as run,
        jobtree.entry_size(max(i.payload_bytes) over ()) as size
      from inserted i
    ) r
    group by r.priority, r.due_at, r.run, r.position / r.size
  )
  select array_agg(g.dedupe_key order by g.position), (select count(*) from inserted)
  into v_keys, v_added
  from given g;

  if v_added > 0 then
    insert into jobtree.progress_delta (root_id, job_id, items) values (p_job.root_id, v_job_id, v_added);
  end if;

  if cardinality(v_positions) = v_added then
    return query select v_positions, array_fill(true, array[v_added]);
  else
    -- A new statement: it sees what the conflicting transactions committed.
    return query
      select array_agg(coalesce(i.position, u.position) order by u.n), array_agg(coalesce(i.position = u.position, true) order by u.n)
      from unnest(v_positions, v_keys) with ordinality u(position, dedupe_key, n)
      left join jobtree.job_item i on i.job_id = v_job_id and i.dedupe_key = u.dedupe_key;
  end if;
end
$$;
