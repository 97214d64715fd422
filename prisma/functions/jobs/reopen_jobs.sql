-- Reopens jobs whose failed items are replayed, and unseals the sealed jobs that they feed, since their parents are no longer complete.
-- Each begins a new generation. The tree is not reaped before it is complete again.
--
-- p_job_ids  the job of each replayed item
-- returns    the new states of these jobs, and that of the root
-- locks      the rows of the jobs that it unseals, in the order of their ids. The caller has locked the root's job_progress row
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
    select p.*, n.replayed, n.opened
    from (
      select o.id, o.replayed, true as opened from opened o
      union all
      select p_root_id, 0, false where p_root_id not in (select o.id from opened o)
    ) n
    cross join lateral (select * from jobtree.job_progress p where p.job_id = n.id order by p.version desc limit 1) p
  )
  select array_agg(row(
      k.job_id, k.version + 1, k.is_root, k.generation + case when k.opened then 1 else 0 end, k.item_count, k.succeeded,
      k.failed - k.replayed, k.cancelled,
      k.open_jobs + case when k.is_root then (select count(*) from known c where c.opened and c.completed_at is not null) else 0 end,
      k.started_at, case when not k.opened then k.completed_at end, case when not k.opened then k.outcome end,
      case when k.is_root then (
        -- The worst outcome of the jobs that are still complete.
        select jobtree.worst_outcome(array_agg(distinct p.outcome))
        from jobtree.job j
        cross join lateral (select p.outcome from jobtree.job_progress p where p.job_id = j.id order by p.version desc limit 1) p
        where j.root_id = p_root_id and j.id not in (select o.id from opened o)
      ) end, k.completions, clock_timestamp(), null, false, k.bytes,
      k.tree_failed - case when k.is_root then cardinality(p_job_ids) else 0 end, null, k.pace
    )::jobtree.job_progress)
  into v_rows
  from known k;

  delete from jobtree.job_progress p using unnest(v_rows) r where p.job_id = r.job_id and p.version < r.version;
  insert into jobtree.job_progress select r.* from unnest(v_rows) r;
  return v_rows;
end
$$;
