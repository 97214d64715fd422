-- Begins to replay or discard dead letters, or to cancel pending items: those that meet all that the filter says. run_operation does
-- it, in batches, called by any server until it is finished. What is added, or fails, later is left.
--
-- p_kind     REPLAY, DISCARD or CANCEL
-- p_filter   {jobId?, types?, codes?, dedupeKeys?, items?: [{jobId, position}]}, for dead letters also {groupIds?, diedFrom?,
--            diedUntil?}, for pending items {states?, addedFrom?, addedUntil?}; at least one of them. A job stands for all below it,
--            codes are of the last failure, and states are WAITING, SCHEDULED, READY, BLOCKED and HELD. Beside them {tenant?}: only items
--            of types of this tenant, whose operation it is
-- p_payload  what a replayed item gets as its payload; for a filter of one item only
-- returns    the operation, and how many items there are for it
-- locks      none
-- errors     JT001 no such job; JT002 the filter is empty or invalid; 22P02, 22007 or 22008 for a value that
--            is none
create or replace function jobtree.start_operation(p_kind text, p_filter jsonb, p_payload json default null)
returns table (operation_id uuid, total bigint)
language plpgsql volatile
as $$
declare
  v_operation jobtree.operation := jobtree.operation_of(p_kind, p_filter, p_payload);
begin
  v_operation.total := jobtree.operation_total(v_operation);
  insert into jobtree.operation select v_operation.*;
  return query select v_operation.id, v_operation.total;
end
$$;
