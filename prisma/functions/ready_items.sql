-- How many items of new trees are ready, by type; null for none.
create or replace function jobtree.ready_items(p_root_ids uuid[])
returns jsonb
language sql stable
as $$
  select jsonb_object_agg(t.type, t.items)
  from (
    select q.type, sum(q.count) as items
    from jobtree.job j
    join jobtree.queue_entry q on q.job_id = j.id
    where j.root_id = any (p_root_ids) and q.run_at is null
    group by q.type
  ) t
$$;
