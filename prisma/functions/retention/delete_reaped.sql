-- Deletes up to p_limit items of trees that reap_trees has marked, using delete_trees: up to a hundred small ones together, and a part of
-- a large tree. The order is random, so that several servers rarely meet at a tree, and a locked tree doesn't always delay the same ones.
--
-- returns    whether it has done anything
-- locks      those of delete_trees: skips locked trees, and waits a moment for locked rows of jobs. If one stays locked, it deletes tree
--            after tree, and skips those with such rows
create or replace function jobtree.delete_reaped(p_limit integer default 2000)
returns boolean
language plpgsql volatile
set lock_timeout = '20ms'
-- plans: no seqscan
as $$
declare
  v_batch record;
  v_root_id uuid;
  v_done boolean := false;
begin
  for v_batch in
    select array_agg(c.root_id) as roots, p_limit - min(c.before) as items
    from (
      select o.root_id, o.cost, sum(o.cost) over (order by o.place) - o.cost as before
      from (
        -- Even an empty tree has a cost.
        select t.root_id, random() as place, greatest(t.item_count - t.deleted_items, p_limit / 100, 1) as cost
        from jobtree.tree t where t.deletion = 'REAPED'
      ) o
    ) c
    where c.before < p_limit
    group by c.before + c.cost > p_limit
    order by c.before + c.cost > p_limit
  loop
    begin
      if jobtree.delete_trees(v_batch.roots, v_batch.items::integer) is not null then
        v_done := true;
      end if;
    exception
      when lock_not_available then
        foreach v_root_id in array v_batch.roots loop
          begin
            if jobtree.delete_trees(array[v_root_id], greatest(v_batch.items / cardinality(v_batch.roots), 1)::integer) is not null then
              v_done := true;
            end if;
          exception
            when lock_not_available then null;
          end;
        end loop;
    end;
  end loop;
  return v_done;
end
$$;
