-- Does the next batch of an operation: call it until it is finished. Each call continues where the last one stopped. Rows that stay locked
-- for longer than a moment are skipped, and tried again at the end.
--
-- p_limit    the maximum number of dead letters; it also stops after a moment, as it does for pending items
-- p_checked  of a replay with a patch, which items of the batch may have their new payloads: {afterJobId, afterPosition, toJobId?,
--            toPosition?, valid: {job id: [position]}, problem}; to: the last item that was checked. The others are skipped, the first of them
--            because of the problem. Nothing is done if the operation is no longer where they were read. By default all may
-- returns    whether it is finished; whether to continue at once, or after a pause because the rest is locked; the trees that changed; and
--            the types that have ready items, and how many. No row if another transaction is working on it, or there is no such operation
-- locks      the operation's row, skipping it if locked; then, job by job in the order of their ids, those of replay_items or
--            discard_items, waiting a moment for each, or those of run_pending
create or replace function jobtree.run_operation(p_id uuid, p_limit bigint default 1000, p_checked jsonb default null)
returns table (finished boolean, more boolean, root_ids uuid[], ready jsonb)
language plpgsql volatile
-- Other trees wait until this one is done.
set lock_timeout = '100ms'
set plan_cache_mode = force_generic_plan
as $$
declare
  v_until constant timestamptz := clock_timestamp() + interval '100 milliseconds';
  v_operation jobtree.operation;
  v_found bigint := 0;
  v_part record;
  v_positions bigint[];
  v_replayed record;
  v_pending record;
begin
  select * into v_operation from jobtree.operation o where o.id = p_id for update skip locked;
  if not found then
    return;
  end if;
  finished := v_operation.finished_at is not null;
  more := not finished and p_checked is not null and (v_operation.next_job_id, v_operation.next_position)
    <> ((p_checked ->> 'afterJobId')::uuid, (p_checked ->> 'afterPosition')::bigint);
  if finished or more then
    return next;
    return;
  end if;

  if v_operation.kind in ('CANCEL', 'PROMOTE') then
    select * into v_pending from jobtree.run_pending(v_operation, v_until);
    v_operation := v_pending.operation;
    more := v_pending.more;
    root_ids := v_pending.root_ids;
    ready := v_pending.ready;
  end if;
  for v_part in
    select m.job_id, m.root_id, array_agg(m.job_id) as job_ids, array_agg(m.position order by m.position) as positions
    from jobtree.matching_dead_letters(v_operation, p_limit) m
    where v_operation.kind in ('REPLAY', 'DISCARD')
      -- In the place of those that are no dead letters any more, there may be some that nobody has checked.
      and coalesce((m.job_id, m.position) <= ((p_checked ->> 'toJobId')::uuid, (p_checked ->> 'toPosition')::bigint), true)
    group by m.job_id, m.root_id
    order by m.job_id
  loop
    v_found := v_found + cardinality(v_part.positions);
    v_operation.next_job_id := v_part.job_id;
    v_operation.next_position := v_part.positions[cardinality(v_part.positions)];
    begin
      if v_operation.kind = 'DISCARD' then
        v_operation.done := v_operation.done + jobtree.discard_items(v_part.job_ids, v_part.positions);
      else
        v_positions := v_part.positions;
        if p_checked is not null then
          v_positions := array(
            select u from unnest(v_part.positions) u
            intersect select e::bigint from jsonb_array_elements_text(p_checked -> 'valid' -> v_part.job_id::text) e
            order by u
          );
        end if;
        select * into v_replayed from jobtree.replay_items(
          v_part.root_id, v_part.job_ids[:cardinality(v_positions)], v_positions, v_operation.payload, v_operation.payload_patch
        );
        v_operation.skipped := v_operation.skipped + cardinality(v_part.positions) - cardinality(v_positions);
        v_operation.done := v_operation.done + cardinality(v_replayed.positions);
        if cardinality(v_replayed.positions) > 0 then
          root_ids := root_ids || v_part.root_id;
          ready := jobtree.add_up(ready, v_replayed.ready);
        end if;
      end if;
    exception
      when lock_not_available then v_operation.was_busy := true;
      -- The tree has been deleted meanwhile.
      when sqlstate 'JT001' then null;
    end;
    more := clock_timestamp() > v_until;
    exit when more;
  end loop;

  more := more or v_found >= p_limit or coalesce(p_checked ? 'toJobId', false);
  finished := not more and not v_operation.was_busy;
  if not more and v_operation.was_busy then
    v_operation.was_busy := false;
    -- They are looked at once more.
    v_operation.skipped := 0;
    v_operation.next_job_id := '00000000-0000-0000-0000-000000000000';
    v_operation.next_position := -1;
  end if;
  update jobtree.operation o
  set done = v_operation.done, skipped = v_operation.skipped, problem = coalesce(o.problem, p_checked ->> 'problem'),
    was_busy = v_operation.was_busy, next_job_id = v_operation.next_job_id, next_position = v_operation.next_position,
    selected_job_ids = case when not finished then o.selected_job_ids end, finished_at = case when finished then clock_timestamp() end
  where o.id = p_id;
  return next;
end
$$;
