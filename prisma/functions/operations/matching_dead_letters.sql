-- The dead letters that an operation selects, in the order of their items, each at most once: an item that fails again meanwhile has had
-- its turn. One that replays selects none of cancelled jobs or of trees that are being deleted, which can't be replayed.
--
-- p_limit    the maximum number, of those after the position at which it has stopped; null for all
-- returns    for each its item and its tree
create or replace function jobtree.matching_dead_letters(p_operation jobtree.operation, p_limit bigint)
returns table (job_id uuid, "position" bigint, root_id uuid)
language plpgsql stable
-- Each batch continues along the primary key where the last one stopped, so nothing is sorted again.
-- plans: no seqscan, bitmapscan, hashjoin, mergejoin, sort
-- A custom plan drops the conditions of what the filter does not name.
set plan_cache_mode = force_custom_plan
as $$
#variable_conflict use_column
declare
  v_jobs constant uuid[] := jobtree.jobs_of_operation(p_operation);
  v_is_inside boolean := v_jobs is not null and p_operation.next_position >= 0;
  v_left bigint := p_limit;
  v_count bigint;
begin
  if p_limit is null then
    perform set_config('enable_sort', 'on', true);
  end if;
  loop
    return query
    select d.job_id, d.position, j.root_id
    from jobtree.dead_letter d
    join jobtree.job j on j.id = d.job_id
    where (d.job_id, d.position) > (p_operation.next_job_id, p_operation.next_position)
      -- The rest of the job at which it has stopped comes first, alone: with an array of jobs, Postgres would read this one from its beginning.
      and (v_is_inside and d.job_id <= p_operation.next_job_id or not v_is_inside and (v_jobs is null or d.job_id = any (v_jobs)))
      and d.died_at <= p_operation.requested_at
      and (p_operation.kind <> 'REPLAY' or j.cancelled_at is null and not exists (
        select from jobtree.tree t where t.root_id = j.root_id and t.deletion is not null
      ))
      and (p_operation.item_positions is null or d.position = any (p_operation.item_positions))
      and (p_operation.tenant is null or d.type > p_operation.tenant || '//' and d.type < p_operation.tenant || '/0')
      and (p_operation.types is null or d.type = any (p_operation.types))
      and (p_operation.codes is null or d.code = any (p_operation.codes))
      and (p_operation.fingerprints is null or d.fingerprint = any (p_operation.fingerprints))
      and (p_operation.died_from is null or d.died_at >= p_operation.died_from)
      and (p_operation.died_until is null or d.died_at < p_operation.died_until)
      and (p_operation.dedupe_keys is null or exists (
        select from jobtree.job_item i
        where i.job_id = d.job_id and i.position = d.position and i.dedupe_key = any (p_operation.dedupe_keys)
      ))
      and (p_operation.item_job_ids is null or exists (
        select from unnest(p_operation.item_job_ids, p_operation.item_positions) u(job_id, position)
        where u.job_id = d.job_id and u.position = d.position
      ))
    order by d.job_id, d.position
    limit v_left;
    get diagnostics v_count = row_count;
    v_left := v_left - v_count;
    exit when not v_is_inside or v_left = 0;
    v_is_inside := false;
  end loop;
end
$$;
