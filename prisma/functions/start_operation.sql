-- Begins to replay or discard dead letters: those that meet all that the filter says. run_operation does it, in batches, called by any
-- server until it is finished.
--
-- p_kind     REPLAY or DISCARD
-- p_filter   {jobId?, types?, codes?, groupIds?, diedFrom?, diedUntil?, dedupeKeys?, items?: [{jobId, position}]}, at least one of
--            them. A job stands for all below it
-- p_payload  what a replayed item gets as its payload; for a filter of one item only
-- returns    the operation, and how many dead letters there are for it
-- locks      none
-- errors     JT001 no such job; JT002 the filter names nothing, or something is wrong with it; 22P02, 22007 or 22008 for a value that
--            is none
create or replace function jobtree.start_operation(p_kind text, p_filter jsonb, p_payload json default null)
returns table (operation_id uuid, total bigint)
language plpgsql volatile
as $$
declare
  v_operation jobtree.operation := jobtree.operation_of(p_kind, p_filter, p_payload);
begin
  select count(*) into v_operation.total
  from jobtree.matching_dead_letters(v_operation, v_operation.next_job_id, v_operation.next_position, null);
  insert into jobtree.operation select v_operation.*;
  return query select v_operation.id, v_operation.total;
end
$$;
