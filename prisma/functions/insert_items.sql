-- Puts new items into a job: the items, their queue entries, and one delta. The one door through which items come,
-- for add_items, create_job and feed_children; it checks nothing, that is the callers' part.
--
-- p_job      the job's row, which the caller holds locked, or has just inserted
-- p_items    JSON array of {payload, dedupeKey?, priority?, runAt?}; what is missing comes from the job
-- returns    for each entry, in order, the item's id, and whether the item is new; if not, an item of the job had the
--            dedupe key already, and the id is that item's
-- locks      none but those of inserting; meeting an uncommitted item with the same key waits for it
create or replace function jobtree.insert_items(p_job jobtree.job, p_items jsonb)
returns table (item_ids uuid[], added boolean[])
language plpgsql volatile
set enable_seqscan = off
set enable_hashjoin = off
set enable_mergejoin = off
set plan_cache_mode = force_generic_plan
as $$
declare
  v_now constant timestamptz := clock_timestamp();
  -- One random id for the batch; its last 24 bits count the entries. Random bytes for each would cost a fifth of the call.
  v_id constant text := left(jobtree.new_id()::text, 30);
  v_ids uuid[];
  v_keys text[];
  v_added integer;
begin
  with given as materialized (
    select
      (v_id || lpad(to_hex(e.ordinality), 6, '0'))::uuid as id,
      nextval('jobtree.job_item_position_seq') as position,
      coalesce(e.value -> 'payload', 'null') as payload,
      e.value ->> 'dedupeKey' as dedupe_key,
      coalesce((e.value ->> 'priority')::smallint, p_job.priority) as priority,
      coalesce((e.value ->> 'runAt')::timestamptz, p_job.run_at) as run_at
    from jsonb_array_elements(p_items) with ordinality e
  ), plain as (
    -- On their own: "on conflict" makes every row pay for a search of each unique index and a speculative insert.
    insert into jobtree.job_item (id, root_id, job_id, position, payload, payload_bytes, priority, run_at, created_at)
    select g.id, p_job.root_id, p_job.id, g.position, g.payload, octet_length(g.payload::text), g.priority, g.run_at, v_now
    from given g
    where g.dedupe_key is null
    returning job_item.id, job_item.position, job_item.payload_bytes, job_item.priority, job_item.run_at
  ), keyed as (
    insert into jobtree.job_item (id, root_id, job_id, position, payload, payload_bytes, dedupe_key, priority, run_at, created_at)
    select g.id, p_job.root_id, p_job.id, g.position, g.payload, octet_length(g.payload::text), g.dedupe_key, g.priority,
      g.run_at, v_now
    from given g
    where g.dedupe_key is not null
    -- In the order of their keys: two calls with the same keys would deadlock otherwise.
    order by g.dedupe_key, g.position
    on conflict (job_id, dedupe_key) where dedupe_key is not null do nothing
    returning job_item.id, job_item.position, job_item.payload_bytes, job_item.priority, job_item.run_at
  ), queued as (
    insert into jobtree.queue_entry (item_id, root_id, job_id, type, priority, position, run_at, attempt, payload_bytes)
    select i.id, p_job.root_id, p_job.id, p_job.type, i.priority, i.position,
      case when i.run_at > v_now then i.run_at end, 1, i.payload_bytes
    from (select * from plain union all select * from keyed) i
    returning 1
  )
  select array_agg(g.id order by g.id), array_agg(g.dedupe_key order by g.id), (select count(*) from queued)
  into v_ids, v_keys, v_added
  from given g;

  if v_added > 0 then
    insert into jobtree.progress_delta (root_id, job_id, items) values (p_job.root_id, p_job.id, v_added);
  end if;

  if cardinality(v_ids) = v_added then
    return query select v_ids, array_fill(true, array[v_added]);
  else
    -- A new statement: it sees what the conflicting transactions committed.
    return query
      select array_agg(coalesce(i.id, u.id) order by u.n), array_agg(coalesce(i.id = u.id, true) order by u.n)
      from unnest(v_ids, v_keys) with ordinality u(id, dedupe_key, n)
      left join jobtree.job_item i on i.job_id = p_job.id and i.dedupe_key = u.dedupe_key;
  end if;
end
$$;
