-- Gives a named item to a worker, regardless of what is ahead of it in the queue. An item that is due counts as ready, whether promoted or
-- not. A pause and the limits of its type apply.
--
-- p_durable  as claim_items has it
-- returns    as lease_entries, one row
-- locks      the row of queue, if the type has a limit; the queue entry that has the item
-- errors     JT001 no such item; JT005 it can't be claimed, with the reason in the error's detail: its status, PAUSED or LIMITED
create or replace function jobtree.claim_item(p_job_id uuid, p_position bigint, p_worker text, p_durable boolean default true)
returns setof jobtree.claimed_lease
language plpgsql volatile
-- plans: no seqscan, bitmapscan; generic
as $$
declare
  v_entry record;
  v_status text;
  v_queue jobtree.queue;
  -- Null for a type without limits.
  v_room integer;
  v_lease jobtree.claimed_lease;
begin
  select q.* into v_queue from jobtree.queue q
  where q.type = (select j.type from jobtree.job j where j.id = p_job_id) and (q.paused or q.concurrency is not null or q.rate_limit is not null)
  for no key update;
  if found then
    select l.room into v_room from jobtree.lock_queues(array[v_queue.type]) l;
  elsif not p_durable then
    perform set_config('synchronous_commit', 'off', true);
  end if;
  loop
    select q.ctid as tid, q.position into v_entry from jobtree.queue_entry q
    where q.job_id = p_job_id and q.position between p_position - 127 and p_position and q.position + q.count > p_position
      and (q.run_at is null or q.run_at <= clock_timestamp()) and v_room is distinct from 0
    for update;
    if found then
      v_lease := jobtree.lease_entry(
        row(v_entry.tid, p_position - v_entry.position, 1, 1, 0)::jobtree.claim_pick, p_worker, null, null, null, v_queue.concurrency is not null
      );
      if v_lease.lease_id is not null then
        if v_room is not null then
          perform jobtree.note_claims(array[v_lease.lease_id], array[v_lease.type]);
        end if;
        return next v_lease;
        return;
      end if;
    end if;

    select case when s.due_at <= clock_timestamp() then 'READY' else s.status end into v_status from jobtree.item_status s
    where s.job_id = p_job_id and s.position = p_position;
    if v_status is null then
      raise exception 'There is no item % of job %.', p_position, p_job_id using errcode = 'JT001', column = 'itemId';
    end if;
    if v_status = 'READY' and v_room = 0 then
      raise exception 'Item % of job % can''t be claimed: its queue is %.', p_position, p_job_id,
        case when v_queue.paused then 'paused' else 'at its limit' end
        using errcode = 'JT005', column = 'itemId', detail = case when v_queue.paused then 'PAUSED' else 'LIMITED' end;
    end if;
    -- If it is READY, another transaction has split its entry meanwhile: look again.
    if v_status <> 'READY' then
      raise exception 'Item % of job % can''t be claimed: its status is %.', p_position, p_job_id, v_status
        using errcode = 'JT005', column = 'itemId', detail = v_status;
    end if;
  end loop;
end
$$;
