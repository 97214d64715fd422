-- Examines the next open jobs and records which trees are idle (idle_tree), and since when; removes recorded trees that are no longer idle.
-- Every server slowly goes through all open jobs this way.
--
-- p_from              the job to continue after
-- p_limit             how many jobs
-- p_idle_seconds      how long a tree must be idle to be recorded, or its expiry if that is shorter
-- p_expiry_seconds    the expiry of trees without their own; null for never
-- returns             the job to continue after, null at the end; and the trees that have expired: expire_tree
-- locks               rows of idle_tree, for an instant
create or replace function jobtree.find_idle(p_from uuid, p_limit integer, p_idle_seconds integer, p_expiry_seconds integer)
returns table (next_from uuid, expired uuid[])
language plpgsql volatile
-- plans: no seqscan, bitmapscan, hashjoin, mergejoin; generic
as $$
declare
  v_now constant timestamptz := clock_timestamp();
  v_idle constant interval := p_idle_seconds * interval '1 second';
  v_jobs uuid[];
begin
  select array_agg(o.job_id) into v_jobs
  from (
    select o.job_id
    from (values (true), (false)) r(is_root)
    cross join lateral (
      (select p.job_id from jobtree.job_progress p
       where p.is_root = r.is_root and p.started_at is null and p.completed_at is null and p.job_id > p_from
       order by p.job_id limit p_limit)
      union all
      (select p.job_id from jobtree.job_progress p
       where p.is_root = r.is_root and p.started_at is not null and p.completed_at is null and p.job_id > p_from
       order by p.job_id limit p_limit)
    ) o
    order by o.job_id
    limit p_limit
  ) o;
  if cardinality(v_jobs) = p_limit then
    next_from := v_jobs[p_limit];
  end if;

  with quiet as materialized (
    select distinct j.root_id, r.expiry
    from unnest(v_jobs) u(id)
    join jobtree.job j on j.id = u.id
    cross join lateral (
      select nullif(coalesce(r.idle_expiry_seconds, p_expiry_seconds), -1) * interval '1 second' as expiry
      from jobtree.job r where r.id = j.root_id
    ) r
    cross join lateral (select * from jobtree.job_progress p where p.job_id = j.id order by p.version desc limit 1) p
    where j.sealed_at is null and j.feed is null and p.succeeded + p.failed + p.cancelled = p.item_count
      and p.changed_at <= v_now - least(v_idle, r.expiry)
  ), idle as materialized (
    select q.root_id, q.expiry, jobtree.idle_since(q.root_id) as since from quiet q
  ), noted as (
    insert into jobtree.idle_tree as t (root_id, idle_since)
    select i.root_id, i.since from idle i where i.since <= v_now - least(v_idle, i.expiry)
    order by i.root_id
    on conflict (root_id) do update set idle_since = excluded.idle_since where t.idle_since <> excluded.idle_since
  )
  select array_agg(i.root_id) into expired from idle i where i.since <= v_now - i.expiry;
  delete from jobtree.idle_tree t
  where t.root_id = any (array(
    select t.root_id from jobtree.idle_tree t
    where t.root_id > p_from and (next_from is null or t.root_id <= next_from) and jobtree.idle_since(t.root_id) is null
    for update skip locked
  ));
  return next;
end
$$;
