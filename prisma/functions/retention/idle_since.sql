-- Since when a tree has waited only for more items: one of its jobs is not sealed, and nothing else of the tree is left to do, neither
-- items nor imports of files, apart from jobs that wait for that one.
--
-- returns    when anything of the tree was last counted; null if it is not idle
create or replace function jobtree.idle_since(p_root_id uuid)
returns timestamptz
language sql stable
-- plans: no seqscan, bitmapscan, hashjoin, mergejoin
as $$
  select case
    when bool_or(j.sealed_at is null and j.feed is null)
      and not bool_or(p.completed_at is null and not j.waits and p.succeeded + p.failed + p.cancelled < p.item_count)
      and not bool_or(j.sealed_at is null and coalesce((
        select f.finished_at is null from jobtree.file_import f where f.type = j.type and f.job_id = j.id
      ), false))
      and not exists (select from jobtree.progress_delta d where d.root_id = p_root_id)
    then max(p.changed_at)
  end
  from jobtree.job j
  cross join lateral (select * from jobtree.job_progress p where p.job_id = j.id order by p.version desc limit 1) p
  where j.root_id = p_root_id
$$;
