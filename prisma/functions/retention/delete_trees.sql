-- Deletes up to p_limit items of trees that delete_job or reap_trees has marked and whose cancellation is counted, and up to twice as many
-- leases and failures, and finally the trees themselves: one after the other, but what goes of all of them at once. Each call continues
-- where the last one stopped.
--
-- returns    whether the trees are gone, except for those that it skips: trees that are not complete yet, or that another transaction is
--            deleting; null if it skips all that there are
-- locks      the trees, skipping locked ones; leases by id; at the end imports, and then the jobs' rows in the order of their ids
create or replace function jobtree.delete_trees(p_root_ids uuid[], p_limit integer default 10000)
returns boolean
language plpgsql volatile
-- plans: no seqscan, bitmapscan, hashjoin, mergejoin; generic
as $$
declare
  v_roots uuid[] := array(
    select t.root_id from jobtree.tree t
    where t.root_id = any (p_root_ids) and t.deletion is not null and t.completed_at is not null
    for update skip locked
  );
  v_job record;
  v_root_id uuid;
  v_next_id uuid;
  v_jobs uuid[];
  v_first bigint := 0;
  v_left bigint := p_limit;
  v_count bigint;
  v_last bigint;
  v_deleted bigint;
begin
  if v_roots = '{}' then
    return case when not exists (select from jobtree.tree t where t.root_id = any (p_root_ids) and t.deletion is not null) then true end;
  end if;
  for v_job in
    select j.root_id, j.id, case when j.id = t.next_job_id then t.next_position else 0 end as first
    from jobtree.tree t
    join jobtree.job j on j.root_id = t.root_id and j.id >= coalesce(t.next_job_id, t.root_id)
    where t.root_id = any (v_roots)
    order by j.root_id, j.id
  loop
    if v_root_id is distinct from v_job.root_id then
      v_root_id := v_job.root_id;
      v_deleted := 0;
    end if;
    v_next_id := v_job.id;
    -- A job of which only a part is left, or is to be deleted, goes alone: for all others the range of positions is everything.
    exit when v_left <= 0 or v_jobs is not null and greatest(v_first, v_job.first) > 0;
    select max(i.position), count(*) into v_last, v_count
    from (select i.position from jobtree.job_item i where i.job_id = v_job.id and i.position >= v_job.first order by i.position limit v_left) i;
    exit when v_count = v_left and v_jobs is not null;
    v_jobs := v_jobs || v_job.id;
    v_first := v_job.first;
    v_deleted := v_deleted + v_count;
    v_job.first := v_last + 1;
    exit when v_count = v_left;
    -- Even an empty job has a cost.
    v_left := v_left - greatest(v_count, p_limit / 100, 1);
    v_next_id := null;
  end loop;
  if v_next_id is null or v_next_id <> all (v_jobs) then
    v_last := 9223372036854775807;
  end if;

  -- An item may have very many of these.
  delete from jobtree.lease l where l.id = any (array(
    select l.id from jobtree.lease l where l.job_id = any (v_jobs) and l.position between v_first and v_last limit 2 * p_limit
  ));
  get diagnostics v_count = row_count;
  if v_count = 2 * p_limit then
    return false;
  end if;
  delete from jobtree.failure f where f.ctid = any (array(
    select f.ctid from jobtree.failure f where f.job_id = any (v_jobs) and f.position between v_first and v_last limit 2 * p_limit
  ));
  get diagnostics v_count = row_count;
  if v_count = 2 * p_limit then
    return false;
  end if;
  delete from jobtree.outcome o where o.job_id = any (v_jobs) and o.position between v_first and v_last;
  -- After the leases, which note_items locks first.
  delete from jobtree.item_note n where n.job_id = any (v_jobs) and n.position between v_first and v_last;
  delete from jobtree.dead_letter d where d.job_id = any (v_jobs) and d.position between v_first and v_last;
  delete from jobtree.cancellation c where c.job_id = any (v_jobs) and c.position between v_first and v_last;
  -- promote_blocked passes the key on later.
  update jobtree.ended_head e set held = false where e.job_id = any (v_jobs) and e.position between v_first and v_last and e.held;
  delete from jobtree.replay r where r.job_id = any (v_jobs) and r.position between v_first and v_last;
  delete from jobtree.trace_context t where t.job_id = any (v_jobs) and t.position between v_first and v_last;
  delete from jobtree.job_item i where i.job_id = any (v_jobs) and i.position between v_first and v_last;

  if v_next_id is not null then
    update jobtree.tree t
    set deleted_items = t.deleted_items + v_deleted, next_position = v_job.first, next_job_id = v_next_id
    where t.root_id = v_root_id;
    v_roots := array(select r from unnest(v_roots) r where r < v_root_id);
    if v_roots = '{}' then
      return false;
    end if;
  end if;
  -- Before the jobs: the order in which importing servers lock them.
  delete from jobtree.file_import f where f.job_id = any (array(select j.id from jobtree.job j where j.root_id = any (v_roots)));
  -- Another call that cancels or deletes a tree has these rows locked, and leaves deltas behind.
  v_jobs := array(select j.id from jobtree.job j where j.root_id = any (v_roots) order by j.id for update);
  with gone as (delete from jobtree.job_progress p where p.job_id = any (v_jobs) returning p.job_id, p.item_count, p.bytes)
  insert into jobtree.stored_delta (tenant, items, bytes)
  select jobtree.tenant_of(r.type), -sum(g.item_count), -sum(g.bytes)
  from gone g join jobtree.job j on j.id = g.job_id join jobtree.job r on r.id = j.root_id
  group by 1;
  delete from jobtree.progress_delta d where d.root_id = any (v_roots);
  delete from jobtree.callback c where c.root_id = any (v_roots);
  delete from jobtree.job j where j.id = any (v_jobs);
  delete from jobtree.tree t where t.root_id = any (v_roots);
  return v_next_id is null;
end
$$;
