-- Folds several trees in one transaction, each as fold_progress does: for servers that write to many trees at once.
--
-- p_root_ids the trees, each once
-- p_from     the delta of each to read from, in the same order
-- returns    for each tree what fold_progress says of it; no row for one that another fold has
-- locks      those of fold_progress, until the last tree is folded. What is taken is skipped, so their order does not matter
create or replace function jobtree.fold_trees(p_root_ids uuid[], p_from bigint[])
returns table (root_id uuid, last_delta bigint, retry boolean, unfinished boolean)
language sql volatile
as $$
  select t.root_id, f.last_delta, f.retry, f.unfinished
  from unnest(p_root_ids, p_from) t(root_id, from_delta), lateral jobtree.fold_progress(t.root_id, t.from_delta) f
$$;
