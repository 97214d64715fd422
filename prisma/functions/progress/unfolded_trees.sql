-- Finds deltas that no server folds: they come from a server that died, from SQL, or from a long transaction. Workers may not have been
-- told of their items either.
--
-- p_from     the delta to read from: a low-water mark that skips the dead rows of deltas folded before; 0 now and then, for those that
--            committed late
-- p_seen     the newest delta of the previous look; null for the first look
-- returns    the trees that have deltas which were there at the previous look (in the first one: any); the types of their items, and how
--            many; the first and the last delta that was read; how many were read, after which a call from the last one on continues the
--            look if that was p_limit; and the newest delta there is
-- locks      none
create or replace function jobtree.unfolded_trees(p_from bigint default 0, p_seen bigint default null, p_limit integer default 1000)
returns table (root_ids uuid[], ready jsonb, first_delta bigint, last_delta bigint, deltas integer, newest bigint)
language sql stable
-- plans: no seqscan, hashjoin, mergejoin
as $$
  with found as materialized (
    select d.id, d.root_id, d.job_id, d.items from jobtree.progress_delta d where d.id >= p_from order by d.id limit p_limit
  )
  select (select array_agg(distinct f.root_id) from found f where f.id <= coalesce(p_seen, f.id)),
    (
      select jsonb_object_agg(t.type, t.items)
      from (select j.type, sum(f.items) as items from found f join jobtree.job j on j.id = f.job_id group by j.type having sum(f.items) > 0) t
    ),
    (select min(f.id) from found f), (select max(f.id) from found f), (select count(*)::integer from found f),
    (select max(d.id) from jobtree.progress_delta d where d.id >= p_from)
$$;
