-- Changes an item that waits: when it is due, its priority, its payload; what is not given stays. An item that its serialize key blocks
-- keeps its place in the line.
--
-- p_changes  {runAt?, priority?, payload?}, at least one of them; runAt null for now, priority null for the job's
-- returns    its tree and type; its priority and its place, from which claims find it, null if it is blocked; and whether this made it
--            ready
-- locks      the queue entry that has the item, or the item itself if it is blocked
-- errors     JT001 no such item; JT002 no or invalid changes; JT007 it does not wait, with its status in the error's detail: RUNNING,
--            SUCCEEDED, FAILED or CANCELLED; Postgres's errors as in add_items
create or replace function jobtree.update_item(p_job_id uuid, p_position bigint, p_changes json)
returns table (root_id uuid, type text, priority smallint, place bigint, made_ready boolean)
language plpgsql volatile
-- plans: no seqscan, bitmapscan; generic
as $$
#variable_conflict use_column
declare
  v_now constant timestamptz(3) := clock_timestamp();
  -- The type rejects what Postgres can't store.
  v_changes constant jsonb := p_changes;
  v_problem record;
  v_entry jobtree.queue_entry;
  v_is_blocked boolean;
  v_job record;
  v_status text;
  v_item record;
begin
  if json_typeof(p_changes) = 'object' and jobtree.is_too_deep((p_changes -> 'payload')::text) then
    raise exception 'payload is nested more than 256 levels deep.' using errcode = 'JT002', column = 'payload';
  end if;
  select * into v_problem from jobtree.input_problem(v_changes, '{payload,priority,runAt}') p limit 1;
  if found then
    raise exception '% %.', v_problem.field, v_problem.message using errcode = 'JT002', column = v_problem.field;
  elsif v_changes = '{}' then
    raise exception 'There is nothing to change.' using errcode = 'JT002';
  end if;

  loop
    select q.* into v_entry from jobtree.queue_entry q
    where q.job_id = p_job_id and q.position between p_position - 127 and p_position and q.position + q.count > p_position
    for update;
    perform from jobtree.blocked_item b where b.job_id = p_job_id and b.position = p_position for update;
    v_is_blocked := found;
    select j.root_id, j.priority, j.cancelled_at is not null as is_cancelled into v_job from jobtree.job j where j.id = p_job_id;
    exit when (v_entry.job_id is not null or v_is_blocked) and not v_job.is_cancelled;
    select s.status into v_status from jobtree.item_status s where s.job_id = p_job_id and s.position = p_position;
    if v_status is null then
      raise exception 'There is no item % of job %.', p_position, p_job_id using errcode = 'JT001', column = 'itemId';
    end if;
    -- Otherwise it still waits, but another transaction has split its entry or passed it the key: look again.
    if v_status in ('RUNNING', 'SUCCEEDED', 'FAILED', 'CANCELLED') then
      raise exception 'Item % of job % can''t be changed: its status is %.', p_position, p_job_id, v_status
        using errcode = 'JT007', column = 'itemId', detail = v_status;
    end if;
  end loop;

  if v_changes ? 'payload' then
    insert into jobtree.progress_delta (root_id, job_id, bytes)
    select v_job.root_id, p_job_id, octet_length((p_changes -> 'payload')::text) - i.payload_bytes from jobtree.job_item i
    where i.job_id = p_job_id and i.position = p_position;
  end if;
  update jobtree.job_item i
  set payload = case when v_changes ? 'payload' then p_changes -> 'payload' else i.payload end,
    payload_bytes = case when v_changes ? 'payload' then octet_length((p_changes -> 'payload')::text) else i.payload_bytes end,
    priority = case when v_changes ? 'priority' then (v_changes ->> 'priority')::smallint else i.priority end,
    run_at = case when v_changes ? 'runAt' then coalesce((v_changes ->> 'runAt')::timestamptz, v_now) else i.run_at end
  where i.job_id = p_job_id and i.position = p_position
  returning i.payload_bytes, coalesce(i.priority, v_job.priority) as priority, i.run_at, i.created_at into v_item;
  if v_is_blocked then
    update jobtree.blocked_item b
    set priority = v_item.priority, run_at = case when v_changes ? 'runAt' then v_item.run_at else b.run_at end,
      waits_since = case when b.attempt = 1 then greatest(v_item.created_at, v_item.run_at) end
    where b.job_id = p_job_id and b.position = p_position;
    return query select v_job.root_id, null::text, v_item.priority, null::bigint, false;
    return;
  end if;

  -- The item gets an entry of its own, since its conditions or its size differ.
  delete from jobtree.queue_entry q where q.job_id = p_job_id and q.position = v_entry.position;
  perform jobtree.put_back_rest(array[v_entry], array[jobtree.bit_at((p_position - v_entry.position)::integer + 1)]);
  v_entry.place := v_entry.place + p_position - v_entry.position;
  if v_changes ? 'runAt' and v_entry.run_at is distinct from 'infinity' then
    made_ready := v_item.run_at <= v_now;
    v_entry.run_at := case when not made_ready then v_item.run_at end;
    v_entry.place := nextval('jobtree.block_seq') * 1024;
    v_entry.ready_at := v_now;
  end if;
  insert into jobtree.queue_entry (job_id, position, place, bytes, run_at, attempt, count, priority, type, keyed, ready_at, lost)
  values (
    p_job_id, p_position, v_entry.place, v_item.payload_bytes, v_entry.run_at, v_entry.attempt, 1, v_item.priority, v_entry.type,
    v_entry.keyed, v_entry.ready_at, v_entry.lost
  );
  return query select v_job.root_id, v_entry.type, v_item.priority, v_entry.place, coalesce(made_ready, false);
end
$$;
