-- Does the next batch of a cancelling operation: a number of ranges of pending items at a time, in the order of their jobs and positions.
--
-- p_until    when to stop; the step that is in progress then is completed
-- p_limit    at how many ranges a step looks at most
-- returns    the operation's new state; whether to continue at once; the trees that changed; and the types that got ready items because
--            serialize keys were freed, and how many
-- locks      those of cancel_pending
create or replace function jobtree.cancel_matching(
  p_operation jobtree.operation, p_until timestamptz, p_limit integer default 1000
)
returns table (operation jobtree.operation, more boolean, root_ids uuid[], ready jsonb)
language plpgsql volatile
as $$
declare
  v_window record;
  v_step record;
begin
  operation := p_operation;
  loop
    select * into v_window from jobtree.pending_window(operation, p_limit);
    more := found;
    exit when not more;
    operation.next_job_id := v_window.from_job_id;
    operation.next_position := v_window.from_position;
    select * into v_step from jobtree.cancel_pending(operation, v_window.last_job_id, v_window.last_position);
    operation.done := operation.done + v_step.cancelled;
    operation.was_busy := operation.was_busy or v_step.was_busy;
    operation.next_job_id := v_window.last_job_id;
    operation.next_position := v_window.last_position;
    root_ids := array(select unnest(root_ids) union select unnest(v_step.root_ids));
    ready := jobtree.add_up(ready, v_step.ready);
    exit when clock_timestamp() > p_until;
  end loop;
  return next;
end
$$;
