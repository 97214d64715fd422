-- Makes the items of child jobs from successes of their parents: by each child's mapping, and by the new items that
-- the reports name. A cancelled child gets none.
--
-- p_ids      assignments that this transaction has just let succeed
-- p_reports  JSON object of the report that counts for each assignment: report_outcomes
-- returns    the types of the children that got items, each as often as it got some (from 1,000 on it is many)
-- locks      the children's rows, shared and in the order of their ids, so that cancel_job waits
create or replace function jobtree.feed_children(p_ids uuid[], p_reports jsonb)
returns text[]
language plpgsql volatile
set plan_cache_mode = force_generic_plan
as $$
declare
  v_child jobtree.job;
  v_items jsonb;
  v_types text[] := '{}';
begin
  for v_child in
    select c.* from jobtree.job c
    where c.feed is not null and c.parent_id in (select a.job_id from jobtree.assignment a where a.id = any (p_ids))
    order by c.id
    for share
  loop
    continue when v_child.cancelled_at is not null;
    select jsonb_agg(f.item) into v_items
    from (
      select jsonb_build_object('payload', p.payload) as item
      from jobtree.assignment a
      join jobtree.job_item i on i.id = a.item_id
      cross join lateral jobtree.feed_payloads(v_child.feed, i.payload, a.result) p(payload)
      where a.id = any (p_ids) and a.job_id = v_child.parent_id and v_child.feed ->> 'source' = 'SUCCESSES'
      union all
      select n.value
      from jobtree.assignment a
      cross join lateral jsonb_array_elements(p_reports -> a.id::text -> 'newItems') n
      where a.id = any (p_ids) and a.job_id = v_child.parent_id and n.value ->> 'type' = v_child.type
    ) f;
    if v_items is not null then
      perform jobtree.insert_items(v_child, v_items);
      v_types := v_types || array_fill(v_child.type, array[least(jsonb_array_length(v_items), 1000)]);
    end if;
  end loop;
  return v_types;
end
$$;
