-- Begins to replay or discard dead letters, to cancel pending items, or to make scheduled ones ready before their time: those that meet every
-- condition of the filter. run_operation, called by any server until it is finished, does the work in batches. Items that are added, or fail,
-- later are not affected. One that selects nothing has finished.
--
-- p_kind     REPLAY, DISCARD, CANCEL or PROMOTE
-- p_filter   {jobId?, types?, codes?, dedupeKeys?, items?: [{jobId, position}]}, for dead letters also {groupIds?, diedFrom?, diedUntil?},
--            for pending items {statuses?, addedFrom?, addedUntil?}; at least one of them, and no empty list. A job includes all jobs below it, and codes are
--            those of the last failure. Statuses are those of pending items: WAITING, BLOCKED, SCHEDULED, RETRYING, READY and
--            RUNNING; PROMOTE takes only RETRYING, the default, and SCHEDULED. In addition {tenant?}: only items of types of this tenant, which
--            owns the operation
-- p_payload  the new payload of a replayed item; only with a filter for a single item
-- p_requested_by   who asks for it, for people
-- p_payload_patch  a JSON object that changes the payload of each replayed item (merge_patch), instead of p_payload
-- returns    the operation, and how many items it selects
-- locks      none
-- errors     JT001 no such job; JT002 an empty filter, or another problem with it; 22P02, 22007 or 22008 for a malformed value
create or replace function jobtree.start_operation(
  p_kind text, p_filter jsonb, p_payload json default null, p_requested_by text default null, p_payload_patch json default null
)
returns table (operation_id uuid, total bigint)
language sql volatile
as $$
  insert into jobtree.operation
  select o.* from jobtree.operation_of(p_kind, p_filter, p_payload, p_requested_by, p_payload_patch) o
  returning id, total
$$;
