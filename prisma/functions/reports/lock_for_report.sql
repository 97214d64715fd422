-- Locks what reports change: their leases, and the children that the leases' jobs feed.
--
-- p_wait     whether to wait for rows that another transaction has locked
-- returns    the leases that are locked together with everything they need; without p_wait some may be missing
-- locks      the leases in the order of their ids, then those of hold_jobs for the children
create or replace function jobtree.lock_for_report(p_lease_ids uuid[], p_wait boolean)
returns uuid[]
language plpgsql volatile
-- plans: no seqscan; generic
as $$
declare
  v_leases uuid[];
  v_children uuid[];
begin
  if p_wait then
    perform from jobtree.lease l where l.id = any (p_lease_ids) order by l.id for update;
    perform jobtree.hold_jobs(array(
      select f.id from jobtree.job f
      where f.feed is not null and f.parent_id = any (array(select l.job_id from jobtree.lease l where l.id = any (p_lease_ids)))
    ), true);
    return p_lease_ids;
  end if;

  select coalesce(array_agg(k.id), '{}') into v_leases
  from (select l.id from jobtree.lease l where l.id = any (p_lease_ids) order by l.id for update skip locked) k;
  if not exists (
    select from jobtree.job j
    where j.id = any (array(select l.job_id from jobtree.lease l where l.id = any (v_leases))) and j.feeds_children
  ) then
    return v_leases;
  end if;
  v_children := jobtree.hold_jobs(array(
    select f.id from jobtree.job f
    where f.feed is not null and f.parent_id = any (array(select l.job_id from jobtree.lease l where l.id = any (v_leases)))
  ), false);
  return array(
    select l.id from jobtree.lease l
    where l.id = any (v_leases) and not exists (
      select from jobtree.job c
      where c.feed is not null and c.parent_id = l.job_id and c.id <> all (v_children)
    )
  );
end
$$;
