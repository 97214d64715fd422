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
as $$
declare
  v_now constant timestamptz := clock_timestamp();
  v_ids uuid[];
  v_keys text[];
  v_added uuid[];
begin
  with given as materialized (
    select
      jobtree.new_id() as id,
      nextval('jobtree.job_item_position_seq') as position,
      e.value -> 'payload' as payload,
      e.value ->> 'dedupeKey' as dedupe_key,
      coalesce((e.value ->> 'priority')::smallint, p_job.priority) as priority,
      coalesce((e.value ->> 'runAt')::timestamptz, p_job.run_at) as run_at,
      e.ordinality
    from jsonb_array_elements(p_items) with ordinality e
  ), inserted as (
    insert into jobtree.job_item (id, root_id, job_id, position, payload, dedupe_key, priority, run_at, created_at)
    select g.id, p_job.root_id, p_job.id, g.position, coalesce(g.payload, 'null'), g.dedupe_key, g.priority, g.run_at, v_now
    from given g
    -- In the order of their keys: two calls with the same keys would deadlock otherwise.
    order by g.dedupe_key, g.position
    on conflict do nothing
    returning job_item.id, job_item.position, job_item.priority, job_item.run_at
  ), queued as (
    insert into jobtree.queue_entry (item_id, root_id, job_id, type, priority, position, run_at, attempt)
    select i.id, p_job.root_id, p_job.id, p_job.type, i.priority, i.position,
      case when i.run_at > v_now then i.run_at end, 1
    from inserted i
  )
  select
    (select array_agg(g.id order by g.ordinality) from given g),
    (select array_agg(g.dedupe_key order by g.ordinality) from given g),
    (select array_agg(i.id) from inserted i)
  into v_ids, v_keys, v_added;

  if v_added is not null then
    insert into jobtree.progress_delta (root_id, job_id, items)
    values (p_job.root_id, p_job.id, cardinality(v_added));
  end if;

  if cardinality(v_ids) = cardinality(v_added) then
    return query select v_ids, array_fill(true, array[cardinality(v_ids)]);
  else
    -- A new statement: it sees what the conflicting transactions committed.
    return query
      select array_agg(i.id order by u.ordinality), array_agg(i.id = u.id order by u.ordinality)
      from unnest(v_ids, v_keys) with ordinality u(id, dedupe_key)
      join jobtree.job_item i on i.id = u.id or (i.job_id = p_job.id and i.dedupe_key = u.dedupe_key);
  end if;
end
$$;
