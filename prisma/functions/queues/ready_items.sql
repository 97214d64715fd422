-- How many items of new trees are ready, by type; null for none.
--
-- returns    a JSON object
create or replace function jobtree.ready_items(p_root_ids uuid[])
returns jsonb
language sql stable
as $$
  select jsonb_object_agg(t.type, t.items)
  from (
    select q.type, sum(q.count) as items
    from jobtree.job j
    -- Only by job: the index of ready entries looks small to the planner, but may be full of dead entries.
    cross join lateral (select e.type, e.count, e.run_at from jobtree.queue_entry e where e.job_id = j.id offset 0) q
    where j.root_id = any (p_root_ids) and q.run_at is null
    group by q.type
  ) t
$$;
