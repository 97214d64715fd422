-- Examines the next open jobs and records which trees are idle, and since when, and which recorded ones are no longer idle.
-- Every server slowly goes through all open jobs this way.
--
-- p_from              the job to continue after
-- p_limit             how many jobs
-- p_idle_seconds      how long a tree must be idle to be recorded, or its expiry if that is shorter
-- p_expiry_seconds    the expiry of trees without their own; null for never
-- returns             the job to continue after, null at the end; and the trees that have expired: expire_tree
-- locks               the trees, for an instant; skips locked ones
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
      select nullif(coalesce(t.idle_expiry_seconds, p_expiry_seconds), -1) * interval '1 second' as expiry
      from jobtree.tree t where t.root_id = j.root_id
    ) r
    cross join lateral (select * from jobtree.job_progress p where p.job_id = j.id order by p.version desc limit 1) p
    where j.sealed_at is null and j.feed is null and p.succeeded + p.failed + p.cancelled = p.item_count
      and p.changed_at <= v_now - least(v_idle, r.expiry)
  ), idle as materialized (
    select q.root_id, q.expiry, jobtree.idle_since(q.root_id) as since from quiet q
  ), free as materialized (
    select t.root_id, i.since from idle i join jobtree.tree t on t.root_id = i.root_id
    where i.since <= v_now - least(v_idle, i.expiry) and t.idle_since is distinct from i.since
    for no key update of t skip locked
  ), noted as (
    update jobtree.tree t set idle_since = f.since from free f where t.root_id = f.root_id
  )
  select array_agg(i.root_id) into expired from idle i where i.since <= v_now - i.expiry;
  update jobtree.tree t set idle_since = null
  where t.root_id = any (array(
    select t.root_id from jobtree.tree t
    where t.idle_since is not null and t.root_id > p_from and (next_from is null or t.root_id <= next_from)
      and jobtree.idle_since(t.root_id) is null
    for no key update skip locked
  ));
  return next;
end
$$;
