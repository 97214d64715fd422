-- Opens jobs again whose failed items are replayed, and all that they feed: these are unsealed, since their parents are not complete.
-- Each begins a new generation.
--
-- p_job_ids  the job of each replayed item
-- returns    the new states of these jobs, and that of the root
-- locks      none: the caller has the root's job_progress row and the jobs' rows
create or replace function jobtree.reopen_jobs(p_root_id uuid, p_job_ids uuid[])
returns jobtree.job_progress[]
language plpgsql volatile
set enable_seqscan = off
set enable_bitmapscan = off
set enable_hashjoin = off
set enable_mergejoin = off
set plan_cache_mode = force_generic_plan
as $$
declare
  v_rows jobtree.job_progress[];
  v_fed uuid[];
begin
  with recursive opened as (
    select distinct u.id, false as fed from unnest(p_job_ids) u(id)
    union
    select c.id, true from jobtree.job c join opened o on c.parent_id = o.id where c.feed is not null and c.cancelled_at is null
  ), known as (
    select p.*, n.replayed, n.opened
    from (
      select o.id, bool_or(true) as opened, (select count(*) from unnest(p_job_ids) u where u = o.id) as replayed
      from opened o group by o.id
      union all
      select p_root_id, false, 0 where p_root_id not in (select o.id from opened o)
    ) n
    cross join lateral (select * from jobtree.job_progress p where p.job_id = n.id order by p.version desc limit 1) p
  )
  select array_agg(row(
      k.job_id, k.version + 1, k.is_root, k.generation + case when k.opened then 1 else 0 end, k.item_count, k.succeeded, k.failed - k.replayed, k.cancelled,
      k.open_jobs + case when k.is_root then (select count(*) from known c where c.opened and c.completed_at is not null) else 0 end,
      k.started_at, case when not k.opened then k.completed_at end
    )::jobtree.job_progress),
    (select array_agg(o.id) from opened o where o.fed)
  into v_rows, v_fed
  from known k;

  update jobtree.job j set sealed_at = null where j.id = any (v_fed) and j.sealed_at is not null;
  delete from jobtree.job_progress p using unnest(v_rows) r where p.job_id = r.job_id and p.version < r.version;
  insert into jobtree.job_progress select r.* from unnest(v_rows) r;
  return v_rows;
end
$$;
