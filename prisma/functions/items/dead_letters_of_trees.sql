-- What items of trees failed of for good: the largest groups among the first dead letters of each tree, job by job. No more is read than is
-- counted, whatever the jobs have.
--
-- p_root_ids  the trees
-- p_most      how many dead letters of each tree are counted
-- p_groups    how many groups of each tree are returned
-- returns     a row for each group, with the number of its tree in p_root_ids, from 1: the largest groups first; `counted` is how many dead
--             letters of the tree were counted, in all groups
create or replace function jobtree.dead_letters_of_trees(p_root_ids uuid[], p_most integer, p_groups integer)
returns table (n integer, id uuid, type text, code text, pattern text, count bigint, counted bigint)
language sql stable
-- plans: no seqscan, bitmapscan, hashjoin, mergejoin
as $$
  select t.n::integer, g.*
  from unnest(p_root_ids) with ordinality as t(root_id, n)
  cross join lateral (
    select c.fingerprint, c.type, c.code, c.pattern, count(*) as count, (sum(count(*)) over ())::bigint
    from (
      select d.fingerprint, d.type, d.code, d.pattern
      from (select j.id from jobtree.job j where j.root_id = t.root_id order by j.id) j
      cross join lateral (
        select d.fingerprint, d.type, d.code, d.pattern from jobtree.dead_letter d
        where d.job_id = j.id
        order by d.position
        limit p_most
      ) d
      limit p_most
    ) c
    group by c.fingerprint, c.type, c.code, c.pattern
    order by count(*) desc, c.fingerprint
    limit p_groups
  ) g
  order by t.n, g.count desc, g.fingerprint
$$;
