-- Gives one named item to a worker, whatever stands before it. One that is due counts as ready, promoted or not.
--
-- returns    as hold_entries has it, one row
-- locks      the item's queue entry
-- errors     JT001 no such item; JT005 it can't be claimed, with the reason in the error's detail: HELD, SCHEDULED,
--            SUCCEEDED, FAILED or CANCELLED
create or replace function jobtree.claim_item(p_item_id uuid, p_worker text)
returns table (
  job_id uuid, root_id uuid, type text, heartbeat_interval_ms integer, claimed_at timestamptz, deadline_at timestamptz,
  items json
)
language plpgsql volatile
set plan_cache_mode = force_generic_plan
as $$
declare
  v_tid tid;
  v_reason text;
begin
  select q.ctid into v_tid from jobtree.queue_entry q
  where q.item_id = p_item_id and (q.run_at is null or q.run_at <= clock_timestamp())
  for update;
  if v_tid is not null then
    return query select * from jobtree.hold_entries(array[v_tid], array[p_worker], array[jobtree.new_id()], '{0}');
    return;
  end if;

  select case
      when i.failed_at is not null then 'FAILED'
      when i.cancelled_at is not null then 'CANCELLED'
      when a.finished_at is not null then 'SUCCEEDED'
      when q.item_id is not null then 'SCHEDULED'
      else 'HELD'
    end into v_reason
  from jobtree.job_item i
  left join jobtree.assignment a on a.held_item_id = i.id
  left join jobtree.queue_entry q on q.item_id = i.id
  where i.id = p_item_id;
  if v_reason is null then
    raise exception 'There is no item %.', p_item_id using errcode = 'JT001', column = 'itemId';
  end if;
  raise exception 'Item % can''t be claimed: it is %.', p_item_id, lower(v_reason)
    using errcode = 'JT005', column = 'itemId', detail = v_reason;
end
$$;
