-- Does the next batch of an operation: call it until it is finished. Each call goes on where the last one ended. What somebody has
-- locked is passed by, and gets another turn at the end.
--
-- p_window   how many dead letters to look at
-- returns    whether it is finished, the trees that changed, and the types that have ready items, and how many; no row if
--            somebody else is at it, or there is none
-- locks      the operation's row, skipping it if somebody has it; then, tree by tree in the order of their ids, those of replay_items
create or replace function jobtree.run_operation(p_id uuid, p_window bigint default 1000)
returns table (finished boolean, root_ids uuid[], ready jsonb)
language plpgsql volatile
set plan_cache_mode = force_generic_plan
as $$
declare
  v_operation jobtree.operation;
  v_looked bigint;
  v_tree record;
  v_replayed record;
begin
  select * into v_operation from jobtree.operation o where o.id = p_id for update skip locked;
  if not found then
    return;
  end if;
  finished := v_operation.finished_at is not null or v_operation.cancelled_at is not null;
  if finished then
    update jobtree.operation o set finished_at = clock_timestamp() where o.id = p_id and o.finished_at is null;
    return next;
    return;
  end if;

  v_looked := 0;
  for v_tree in
    select m.root_id, sum(count(*)) over () as looked, array_agg(m.job_id order by m.job_id, m.position) filter (where m.matches) as job_ids,
      array_agg(m.position order by m.job_id, m.position) filter (where m.matches) as positions,
      max(max(array[m.job_id::text, lpad(m.position::text, 20, '0')] collate "C")) over () as last
    from jobtree.matching_dead_letters(v_operation, v_operation.next_job_id, v_operation.next_position, p_window) m
    group by m.root_id
    order by m.root_id
  loop
    v_looked := v_tree.looked;
    v_operation.next_job_id := v_tree.last[1];
    v_operation.next_position := v_tree.last[2];
    continue when v_tree.job_ids is null;
    if v_operation.kind = 'DISCARD' then
      v_operation.done := v_operation.done + jobtree.discard_items(v_tree.job_ids, v_tree.positions);
      continue;
    end if;
    begin
      select * into v_replayed from jobtree.replay_items(v_tree.root_id, v_tree.job_ids, v_tree.positions, v_operation.payload);
      v_operation.done := v_operation.done + cardinality(v_replayed.positions);
      root_ids := root_ids || v_tree.root_id;
      ready := jobtree.add_up(ready, v_replayed.ready);
    exception
      when lock_not_available then v_operation.was_busy := true;
      -- It is deleted meanwhile.
      when sqlstate 'JT001' then null;
    end;
  end loop;

  finished := v_looked < p_window and not v_operation.was_busy;
  if v_looked < p_window and v_operation.was_busy then
    v_operation.was_busy := false;
    v_operation.next_job_id := '00000000-0000-0000-0000-000000000000';
    v_operation.next_position := -1;
  end if;
  update jobtree.operation o
  set done = v_operation.done, was_busy = v_operation.was_busy, next_job_id = v_operation.next_job_id,
    next_position = v_operation.next_position, finished_at = case when finished then clock_timestamp() end
  where o.id = p_id;
  return next;
end
$$;
