-- Seals the children that complete jobs feed: nothing comes any more.
--
-- p_job_ids  the complete jobs
-- returns    the children that are sealed now (done), and the complete jobs of which children could not be locked, for a later call
-- locks      the children's rows in the order of their ids, skipping locked ones
create or replace function jobtree.seal_children(p_job_ids uuid[])
returns table (root_id uuid, job_id uuid, done boolean)
language sql volatile
-- plans: no seqscan, bitmapscan, hashjoin, mergejoin; generic
as $$
  with waiting as materialized (
    select c.id, c.parent_id, c.root_id from jobtree.job c
    where c.parent_id = any (p_job_ids) and c.feed is not null and c.sealed_at is null
  ), free as materialized (
    select c.id from jobtree.job c where c.id = any (array(select w.id from waiting w))
    order by c.id
    for no key update skip locked
  ), sealed as (
    update jobtree.job c set sealed_at = clock_timestamp() where c.id = any (array(select f.id from free f)) returning c.root_id, c.id
  )
  select s.root_id, s.id, true from sealed s
  union all
  select distinct w.root_id, w.parent_id, false from waiting w where w.id not in (select f.id from free f)
$$;
