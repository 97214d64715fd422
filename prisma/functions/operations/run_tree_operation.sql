-- Does the next batch of an operation on trees, with the trees that the server has just read: those that meet its conditions after next_job_id.
-- Trees that stay locked for longer than a moment are skipped, and tried again at the end. One that is cancelled or complete already, or is being
-- deleted, is not counted, so a repeated pass counts each tree once.
--
-- p_step     the operation's next_position when they were read: if another server has done a batch since, this one is not done
-- p_root_ids     in the order of their ids
-- p_next_id  where the next batch begins: after this tree; null if there are no more
-- returns    whether it is finished; whether to continue at once, or after a pause because the rest is locked; the trees that changed; and whether
--            some of them have more to cancel or delete. No row if another transaction is working on it, or there is no such operation
-- locks      the operation's row, skipping it if locked; then, tree by tree, its row, shared, the rows of its jobs in the order of their ids and
--            those of cancel_job, or those of delete_job and delete_trees, waiting a moment for each
create or replace function jobtree.run_tree_operation(p_id uuid, p_step bigint, p_root_ids uuid[], p_next_id uuid default null)
returns table (finished boolean, more boolean, root_ids uuid[], unfinished boolean)
language plpgsql volatile
set lock_timeout = '100ms'
-- plans: no seqscan
as $$
declare
  v_until constant timestamptz := clock_timestamp() + interval '100 milliseconds';
  v_operation jobtree.operation;
  v_root_id uuid;
  v_is_left boolean;
begin
  select * into v_operation from jobtree.operation o where o.id = p_id for update skip locked;
  if not found then
    return;
  end if;
  finished := v_operation.finished_at is not null;
  more := not finished;
  unfinished := false;
  if finished or v_operation.next_position <> p_step then
    return next;
    return;
  end if;

  more := p_next_id is not null;
  v_operation.next_job_id := p_next_id;
  foreach v_root_id in array p_root_ids loop
    begin
      if v_operation.kind = 'CANCEL_TREES' then
        perform 1 from jobtree.tree t where t.root_id = v_root_id for share;
        perform 1 from jobtree.job j where j.root_id = v_root_id order by j.id for no key update;
        if exists (
          select from jobtree.job j
          where j.root_id = v_root_id and j.cancelled_at is null
            and (select p.completed_at from jobtree.job_progress p where p.job_id = j.id order by p.version desc limit 1) is null
        ) then
          select cardinality(c.cancelling) > 0 into v_is_left from jobtree.cancel_job(v_root_id, 1000) c;
          unfinished := unfinished or v_is_left;
          root_ids := root_ids || v_root_id;
        end if;
      elsif not exists (select from jobtree.tree t where t.root_id = v_root_id and t.deletion = 'REQUESTED') then
        perform jobtree.delete_job(v_root_id);
        -- What is complete and small is gone at once.
        v_is_left := jobtree.delete_trees(array[v_root_id], 1000) is distinct from true;
        unfinished := unfinished or v_is_left;
        root_ids := root_ids || v_root_id;
      end if;
    exception
      when lock_not_available then v_operation.was_busy := true;
      -- The tree has been deleted meanwhile.
      when sqlstate 'JT001' then null;
    end;
    if clock_timestamp() > v_until and v_root_id <> p_root_ids[cardinality(p_root_ids)] then
      more := true;
      v_operation.next_job_id := v_root_id;
      exit;
    end if;
  end loop;

  finished := not more and not v_operation.was_busy;
  if not more then
    v_operation.was_busy := false;
    v_operation.next_job_id := '00000000-0000-0000-0000-000000000000';
  end if;
  update jobtree.operation o
  set done = o.done + coalesce(cardinality(root_ids), 0), total = greatest(o.total, o.done + coalesce(cardinality(root_ids), 0)),
    was_busy = v_operation.was_busy, next_job_id = v_operation.next_job_id, next_position = p_step + 1,
    finished_at = case when finished then clock_timestamp() end
  where o.id = p_id;
  return next;
end
$$;
