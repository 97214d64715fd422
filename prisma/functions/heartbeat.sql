-- Keeps holds alive: each deadline moves to three heartbeat intervals from now.
--
-- returns    per assignment HELD, FINISHED (its outcome was reported), CANCELLED, or LOST (unknown, released, or taken
--            back); for all but HELD the worker stops its work
-- locks      the assignments, in the order of their ids
-- durability the commit does not wait for the disk: losing a heartbeat costs at most the hold
create or replace function jobtree.heartbeat(p_ids uuid[])
returns table (assignment_id uuid, status text)
language plpgsql volatile
set enable_seqscan = off
set plan_cache_mode = force_generic_plan
as $$
declare
  v_now constant timestamptz := clock_timestamp();
begin
  perform set_config('synchronous_commit', 'off', true);
  perform 1 from jobtree.assignment a where a.id = any (p_ids) order by a.id for no key update;

  update jobtree.assignment a
  set heartbeat_at = v_now, deadline_at = v_now + 3 * j.heartbeat_interval_ms * interval '1 millisecond'
  from jobtree.job j
  where a.id = any (p_ids) and a.finished_at is null and j.id = a.job_id;

  return query
  select g.id,
    case
      when a.id is null then 'LOST'
      when a.finished_at is null then 'HELD'
      when a.outcome = 'cancelled' then 'CANCELLED'
      when a.outcome = 'lost' then 'LOST'
      else 'FINISHED'
    end
  from unnest(p_ids) with ordinality g(id, n)
  left join jobtree.assignment a on a.id = g.id
  order by g.n;
end
$$;
