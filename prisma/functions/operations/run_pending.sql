-- Does the next batch of an operation that cancels pending items, or makes scheduled ones ready before their time: a number of ranges at a
-- time, in the order of their jobs and positions.
--
-- p_until    when to stop; the step that is in progress then is completed
-- p_limit    at how many ranges a step looks at most
-- returns    the operation's new state; whether to continue at once; the trees that changed; and the types that got ready items, and how many
-- locks      those of cancel_pending or promote_pending
create or replace function jobtree.run_pending(p_operation jobtree.operation, p_until timestamptz, p_limit integer default 1000)
returns table (operation jobtree.operation, more boolean, root_ids uuid[], ready jsonb)
language plpgsql volatile
as $$
declare
  v_window record;
  v_ranges jobtree.pending_range[];
  v_step record;
begin
  operation := p_operation;
  loop
    select * into v_window from jobtree.pending_window(operation, p_limit, case operation.kind when 'CANCEL' then 25600 else 5120 end);
    more := found;
    exit when not more;
    v_ranges := array(select m from jobtree.matching_pending(operation, v_window.last_job_id, v_window.last_position) m);
    operation.next_job_id := v_window.last_job_id;
    operation.next_position := v_window.last_position;
    if v_ranges <> '{}' then
      if operation.kind = 'CANCEL' then
        -- With a filter by statuses, an item that became ready now would no longer have the status by which it was selected: promote_blocked
        -- does it later.
        select * into v_step from jobtree.cancel_pending(v_ranges, operation.statuses is null);
        root_ids := array(select unnest(root_ids) union select unnest(v_step.root_ids));
      else
        select * into v_step from jobtree.promote_pending(v_ranges, operation.requested_at);
      end if;
      operation.done := operation.done + v_step.done;
      operation.was_busy := operation.was_busy or v_step.done < (select sum(bit_count(r.items)) from unnest(v_ranges) r);
      ready := jobtree.add_up(ready, v_step.ready);
    end if;
    exit when clock_timestamp() > p_until;
  end loop;
  return next;
end
$$;
