-- Deletes up to p_limit items of trees that reap_trees has marked, using delete_tree: a part of a large tree, or up to a hundred small
-- ones. The order is random, so that several servers rarely meet at a tree, and a locked tree doesn't always delay the same ones.
--
-- returns    whether it has done anything
-- locks      those of delete_tree, one tree after the other: skips locked trees, and waits a moment for locked rows of jobs before
--            it skips the tree
create or replace function jobtree.delete_reaped(p_limit integer default 2000)
returns boolean
language plpgsql volatile
set lock_timeout = '20ms'
-- plans: no seqscan
as $$
declare
  v_left bigint := p_limit;
  v_tree record;
  v_gone boolean;
  v_done boolean := false;
begin
  for v_tree in
    select t.root_id, t.item_count - t.deleted_items as items from jobtree.tree t where t.deletion = 'REAPED' order by random()
  loop
    begin
      v_gone := jobtree.delete_tree(v_tree.root_id, v_left::integer);
    exception
      when lock_not_available then v_gone := null;
    end;
    continue when v_gone is null;
    v_done := true;
    -- Even an empty tree has a cost.
    v_left := v_left - greatest(v_tree.items, p_limit / 100, 1);
    exit when v_left <= 0 or not v_gone;
  end loop;
  return v_done;
end
$$;
