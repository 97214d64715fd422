-- Deletes up to p_limit items of a tree that delete_job has marked, and whose cancellation is counted, and at the end the tree
-- itself. Each call goes on where the last one ended.
--
-- returns    whether the tree is gone; null if it is not complete yet, or somebody else is at it
-- locks      the tree's row in tree_deletion, skipping it if somebody has it; at the end the jobs' rows in the order of their ids
create or replace function jobtree.delete_tree(p_root_id uuid, p_limit integer default 10000)
returns boolean
language plpgsql volatile
set enable_seqscan = off
set enable_bitmapscan = off
set plan_cache_mode = force_generic_plan
as $$
declare
  v_deletion jobtree.tree_deletion;
  v_job_id uuid;
  v_last bigint;
  v_count bigint;
begin
  select * into v_deletion from jobtree.tree_deletion d where d.root_id = p_root_id for update skip locked;
  if not found then
    return case when not exists (select from jobtree.tree_deletion d where d.root_id = p_root_id) then true end;
  end if;
  if (select p.open_jobs > 0 from jobtree.job_progress p where p.job_id = p_root_id order by p.version desc limit 1) then
    return null;
  end if;

  select j.id into v_job_id from jobtree.job j
  where j.root_id = p_root_id and j.id >= coalesce(v_deletion.next_job_id, p_root_id)
  order by j.id
  limit 1;
  if v_job_id is not null then
    v_deletion.next_position := case when v_job_id = v_deletion.next_job_id then v_deletion.next_position else 0 end;
    select max(i.position), count(*) into v_last, v_count
    from (
      select i.position from jobtree.job_item i
      where i.job_id = v_job_id and i.position >= v_deletion.next_position
      order by i.position
      limit p_limit
    ) i;
    delete from jobtree.outcome o where o.job_id = v_job_id and o.position between v_deletion.next_position and v_last;
    delete from jobtree.failure f where f.job_id = v_job_id and f.position between v_deletion.next_position and v_last;
    delete from jobtree.lease l where l.job_id = v_job_id and l.position between v_deletion.next_position and v_last;
    delete from jobtree.dead_letter d where d.job_id = v_job_id and d.position between v_deletion.next_position and v_last;
    delete from jobtree.cancellation c where c.job_id = v_job_id and c.position between v_deletion.next_position and v_last;
    -- For promote_blocked, which may come later.
    update jobtree.ended_head e set held = false
    where e.job_id = v_job_id and e.position between v_deletion.next_position and v_last and e.held;
    delete from jobtree.replay r where r.job_id = v_job_id and r.position between v_deletion.next_position and v_last;
    delete from jobtree.trace_context t where t.job_id = v_job_id and t.position between v_deletion.next_position and v_last;
    delete from jobtree.job_item i where i.job_id = v_job_id and i.position between v_deletion.next_position and v_last;
    update jobtree.tree_deletion d
    set deleted_items = d.deleted_items + v_count,
      next_position = case when v_count = p_limit then v_last + 1 else 0 end,
      next_job_id = case when v_count = p_limit then v_job_id else (
        select j.id from jobtree.job j where j.root_id = p_root_id and j.id > v_job_id order by j.id limit 1
      ) end
    where d.root_id = p_root_id
    returning * into v_deletion;
    if v_deletion.next_job_id is not null then
      return false;
    end if;
  end if;

  -- Before the jobs, as servers that import have them.
  delete from jobtree.file_import f where f.job_id = any (array(select j.id from jobtree.job j where j.root_id = p_root_id));
  -- Whoever cancels or deletes the tree once more has these rows, and leaves deltas behind.
  perform 1 from jobtree.job j where j.root_id = p_root_id order by j.id for update;
  delete from jobtree.job_progress p where p.job_id in (select j.id from jobtree.job j where j.root_id = p_root_id);
  delete from jobtree.progress_delta d where d.root_id = p_root_id;
  delete from jobtree.callback c where c.root_id = p_root_id;
  delete from jobtree.job j where j.root_id = p_root_id;
  delete from jobtree.tree_deletion d where d.root_id = p_root_id;
  return true;
end
$$;
