-- Deletes up to p_limit items of a tree that delete_job or reap_trees has marked and whose cancellation is counted, and up to twice as many
-- leases and failures, and finally the tree itself. Each call continues where the last one stopped.
--
-- returns    whether the tree is gone; null if it is not complete yet, or another transaction is deleting it
-- locks      the tree, skipping it if locked; at the end the jobs' rows in the order of their ids
create or replace function jobtree.delete_tree(p_root_id uuid, p_limit integer default 10000)
returns boolean
language plpgsql volatile
-- plans: no seqscan, bitmapscan; generic
as $$
declare
  v_tree jobtree.tree;
  v_job_id uuid;
  v_left bigint := p_limit;
  v_last bigint;
  v_count bigint;
  v_rows bigint;
begin
  select * into v_tree from jobtree.tree t where t.root_id = p_root_id and t.deletion is not null for update skip locked;
  if not found then
    return case when not exists (select from jobtree.tree t where t.root_id = p_root_id and t.deletion is not null) then true end;
  end if;
  if v_tree.completed_at is null then
    return null;
  end if;

  v_tree.next_job_id := coalesce(v_tree.next_job_id, p_root_id);
  while v_tree.next_job_id is not null and v_left > 0 loop
    v_job_id := v_tree.next_job_id;
    select max(i.position), count(*) into v_last, v_count
    from (
      select i.position from jobtree.job_item i
      where i.job_id = v_job_id and i.position >= v_tree.next_position
      order by i.position
      limit v_left
    ) i;
    -- An item may have very many of these.
    delete from jobtree.lease l where l.id = any (array(
      select l.id from jobtree.lease l where l.job_id = v_job_id and l.position between v_tree.next_position and v_last
      order by l.position limit 2 * p_limit
    ));
    get diagnostics v_rows = row_count;
    exit when v_rows = 2 * p_limit;
    delete from jobtree.failure f where f.ctid = any (array(
      select f.ctid from jobtree.failure f where f.job_id = v_job_id and f.position between v_tree.next_position and v_last
      order by f.position limit 2 * p_limit
    ));
    get diagnostics v_rows = row_count;
    exit when v_rows = 2 * p_limit;
    delete from jobtree.outcome o where o.job_id = v_job_id and o.position between v_tree.next_position and v_last;
    -- After the leases, which note_items locks first.
    delete from jobtree.item_note n where n.job_id = v_job_id and n.position between v_tree.next_position and v_last;
    delete from jobtree.dead_letter d where d.job_id = v_job_id and d.position between v_tree.next_position and v_last;
    delete from jobtree.cancellation c where c.job_id = v_job_id and c.position between v_tree.next_position and v_last;
    -- promote_blocked passes the key on later.
    update jobtree.ended_head e set held = false
    where e.job_id = v_job_id and e.position between v_tree.next_position and v_last and e.held;
    delete from jobtree.replay r where r.job_id = v_job_id and r.position between v_tree.next_position and v_last;
    delete from jobtree.trace_context t where t.job_id = v_job_id and t.position between v_tree.next_position and v_last;
    delete from jobtree.job_item i where i.job_id = v_job_id and i.position between v_tree.next_position and v_last;
    v_tree.deleted_items := v_tree.deleted_items + v_count;
    if v_count = v_left then
      v_tree.next_position := v_last + 1;
    else
      v_tree.next_position := 0;
      select j.id into v_tree.next_job_id from jobtree.job j where j.root_id = p_root_id and j.id > v_job_id order by j.id limit 1;
    end if;
    -- Even an empty job has a cost.
    v_left := v_left - greatest(v_count, p_limit / 100, 1);
  end loop;
  if v_tree.next_job_id is not null then
    update jobtree.tree t
    set deleted_items = v_tree.deleted_items, next_position = v_tree.next_position, next_job_id = v_tree.next_job_id
    where t.root_id = p_root_id;
    return false;
  end if;

  -- Before the jobs: the order in which importing servers lock them.
  delete from jobtree.file_import f where f.job_id = any (array(select j.id from jobtree.job j where j.root_id = p_root_id));
  -- Another call that cancels or deletes the tree has these rows locked, and leaves deltas behind.
  perform 1 from jobtree.job j where j.root_id = p_root_id order by j.id for update;
  with gone as (
    delete from jobtree.job_progress p where p.job_id in (select j.id from jobtree.job j where j.root_id = p_root_id)
    returning p.item_count, p.bytes
  )
  insert into jobtree.stored_delta (tenant, items, bytes)
  select (select jobtree.tenant_of(j.type) from jobtree.job j where j.id = p_root_id), -sum(g.item_count), -sum(g.bytes) from gone g
  having count(*) > 0;
  delete from jobtree.progress_delta d where d.root_id = p_root_id;
  delete from jobtree.callback c where c.root_id = p_root_id;
  delete from jobtree.job j where j.root_id = p_root_id;
  delete from jobtree.tree t where t.root_id = p_root_id;
  return true;
end
$$;
