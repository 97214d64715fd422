-- Folds several trees in one transaction: those in which only counters change all at once (fold_counters), and each of the others with
-- fold_progress.
--
-- p_root_ids the trees, none twice
-- p_from     for each tree the delta to read from
-- returns    for each tree what fold_progress returns; no row for one that another fold has
-- locks      those of fold_progress, until the last tree is folded. Locked rows are skipped, so the order does not matter
create or replace function jobtree.fold_trees(p_root_ids uuid[], p_from bigint[])
returns table (root_id uuid, last_delta bigint, retry boolean, unfinished boolean)
language plpgsql volatile
as $$
#variable_conflict use_column
declare
  v_folded uuid[];
  v_lasts bigint[];
begin
  select array_agg(f.root_id), array_agg(f.last_delta) into v_folded, v_lasts from jobtree.fold_counters(p_root_ids, p_from) f;
  return query
    select t.root_id, t.last_delta, false, false from unnest(v_folded, v_lasts) t(root_id, last_delta)
    union all
    select t.root_id, f.last_delta, f.retry, f.unfinished
    from unnest(p_root_ids, p_from) t(root_id, from_delta), lateral jobtree.fold_progress(t.root_id, t.from_delta) f
    where (t.root_id = any (v_folded)) is not true;
end
$$;
