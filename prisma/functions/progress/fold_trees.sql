-- Folds several trees in one transaction: most of them all at once (fold_plain), and each of the others with fold_progress.
--
-- p_root_ids the trees, none twice; of more than 1,000, the others are left for a later call
-- p_from     for each tree the delta to read from
-- returns    for each tree what fold_progress returns; no row for one that another fold has
-- locks      those of fold_progress, until the last tree is folded. Locked rows are skipped, so the order does not matter
create or replace function jobtree.fold_trees(p_root_ids uuid[], p_from bigint[])
returns table (root_id uuid, last_delta bigint, retry boolean, unfinished boolean)
language plpgsql volatile
as $$
#variable_conflict use_column
declare
  v_root_ids uuid[] := p_root_ids[:1000];
  v_from bigint[] := p_from[:1000];
  v_folded uuid[];
  v_lasts bigint[];
  v_left uuid[];
begin
  select array_agg(f.root_id) filter (where f.last_delta is not null), array_agg(f.last_delta) filter (where f.last_delta is not null),
    array_agg(f.root_id) filter (where f.last_delta is null)
  into v_folded, v_lasts, v_left
  from jobtree.fold_plain(v_root_ids, v_from) f;
  if v_left is not null then
    select v_folded || array_agg(f.root_id), v_lasts || array_agg(f.last_delta) into v_folded, v_lasts
    from jobtree.fold_plain(v_left, array_fill(0::bigint, array[cardinality(v_left)])) f
    where f.last_delta is not null;
  end if;
  return query
    select t.root_id, t.last_delta, false, false from unnest(v_folded, v_lasts) t(root_id, last_delta)
    union all
    select t.root_id, f.last_delta, f.retry, f.unfinished
    from unnest(v_root_ids, v_from) t(root_id, from_delta), lateral jobtree.fold_progress(t.root_id, t.from_delta) f
    where t.root_id not in (select u from unnest(v_folded) u);
end
$$;
