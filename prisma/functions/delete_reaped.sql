-- Deletes up to p_limit items of trees that reap_trees has marked, as delete_tree does it: a part of a large tree, or up to a hundred small
-- ones. In another order each time, so that several servers rarely meet at one, and none is always behind one that is locked.
--
-- returns    whether it has done anything
-- locks      those of delete_tree, one tree after the other: whoever has the tree's row in tree_deletion is passed by, and who has rows of its
--            jobs is waited for for a moment, and then passed by
create or replace function jobtree.delete_reaped(p_limit integer default 2000)
returns boolean
language plpgsql volatile
set lock_timeout = '20ms'
as $$
declare
  v_left bigint := p_limit;
  v_tree record;
  v_gone boolean;
  v_done boolean := false;
begin
  for v_tree in
    select d.root_id, d.item_count - d.deleted_items as items from jobtree.tree_deletion d where d.reaped order by random()
  loop
    begin
      v_gone := jobtree.delete_tree(v_tree.root_id, v_left::integer);
    exception
      when lock_not_available then v_gone := null;
    end;
    continue when v_gone is null;
    v_done := true;
    -- A tree costs something even if it is empty.
    v_left := v_left - greatest(v_tree.items, p_limit / 100, 1);
    exit when v_left <= 0 or not v_gone;
  end loop;
  return v_done;
end
$$;
