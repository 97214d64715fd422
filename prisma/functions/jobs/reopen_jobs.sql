-- Reopens jobs whose failed items are replayed, and unseals the sealed jobs that they feed, since their parents are no longer complete.
-- Each begins a new generation. The tree is not reaped before it is complete again.
--
-- p_job_ids  the job of each replayed item
-- returns    the new states of these jobs, and that of the root
-- locks      the rows of the jobs that it unseals, in the order of their ids. The caller has locked the tree
create or replace function jobtree.reopen_jobs(p_root_id uuid, p_job_ids uuid[])
returns jobtree.job_progress[]
language plpgsql volatile
-- plans: no seqscan, bitmapscan, hashjoin, mergejoin; generic
as $$
declare
  v_fed uuid[];
  v_rows jobtree.job_progress[];
begin
  with recursive fed as (
    select c.id from jobtree.job c
    where c.parent_id = any (p_job_ids) and c.feed is not null and c.sealed_at is not null and c.cancelled_at is null
    union
    select c.id from jobtree.job c
    join fed f on c.parent_id = f.id
    where c.feed is not null and c.sealed_at is not null and c.cancelled_at is null
  )
  select array_agg(f.id) into v_fed from fed f;
  -- Another transaction may be cancelling one of them: that one stays sealed.
  perform 1 from jobtree.job j where j.id = any (v_fed) order by j.id for no key update;
  v_fed := array(select j.id from jobtree.job j where j.id = any (v_fed) and j.cancelled_at is null);
  update jobtree.job j set sealed_at = null where j.id = any (v_fed);

  with opened as (
    select u.id, sum(u.replayed) as replayed
    from (
      select r as id, 1 as replayed from unnest(p_job_ids) r
      union all
      select f, 0 from unnest(v_fed) f
    ) u
    group by u.id
  ), known as (
    select n.*, p.version, p.completed_at
    from (
      select o.id, o.replayed, true as opened from opened o
      union all
      select p_root_id, 0, false where p_root_id not in (select o.id from opened o)
    ) n
    cross join lateral (select * from jobtree.job_progress p where p.job_id = n.id order by p.version desc limit 1) p
  ), reopened as (
    update jobtree.job_progress p
    set version = p.version + 1, sealed = p.sealed and p.job_id <> all (v_fed), generation = p.generation + k.opened::integer, failed = p.failed - k.replayed,
      completed_at = case when not k.opened then p.completed_at end, outcome = case when not k.opened then p.outcome end, changed_at = clock_timestamp(),
      open_jobs = p.open_jobs + case when p.is_root then (select count(*) from known c where c.opened and c.completed_at is not null) else 0 end,
      tree_outcome = case when p.is_root then (
        -- The worst outcome of the jobs that are still complete.
        select jobtree.worst_outcome(array_agg(distinct r.outcome))
        from jobtree.job j
        cross join lateral (select r.outcome from jobtree.job_progress r where r.job_id = j.id order by r.version desc limit 1) r
        where j.root_id = p_root_id and j.id not in (select o.id from opened o)
      ) end,
      tree_failed = p.tree_failed - case when p.is_root then cardinality(p_job_ids) else 0 end
    from known k
    where p.job_id = k.id and p.version = k.version
    returning p as progress
  )
  select array_agg(r.progress) into v_rows from reopened r;
  update jobtree.tree t set completed_at = null where t.root_id = p_root_id and t.completed_at is not null;
  return v_rows;
end
$$;
