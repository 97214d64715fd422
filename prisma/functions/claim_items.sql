-- Gives ready items to workers: of each type the highest priority first, then in the order in which they became ready.
--
-- p_workers, p_types, p_limits   who wants how many of which type, an element each; of one type, who stands first gets
--            what goes first
-- p_lane_types, p_lane_priorities, p_lane_from
--            low-water positions: of that type and priority nothing claimable was seen below. A type that has lanes
--            here is looked at in these lanes alone; one that has none is read from its start, past every dead row.
--            They are hints of a caller that reads from the start now and then, for rows that committed late, came
--            back, or have a new priority.
-- returns    as hold_entries has it; n orders the items of a type as they go
-- locks      queue entries, skipping those that another claim has
-- durability the commit does not wait for the disk: a claim that a crash forgets leaves the item ready and its
--            assignment unknown, so a report under it is STALE. Do not call this inside a transaction of your own.
create or replace function jobtree.claim_items(
  p_workers text[], p_types text[], p_limits integer[],
  p_lane_types text[] default '{}', p_lane_priorities smallint[] default '{}', p_lane_from bigint[] default '{}'
)
returns table (
  job_id uuid, root_id uuid, type text, heartbeat_interval_ms integer, claimed_at timestamptz, deadline_at timestamptz,
  items json
)
language plpgsql volatile
set enable_seqscan = off
set enable_bitmapscan = off
set plan_cache_mode = force_generic_plan
as $$
declare
  v_want record;
  v_lane record;
  v_more tid[];
  v_picked tid[];
  v_tids tid[] := '{}';
  v_workers text[] := '{}';
begin
  perform set_config('synchronous_commit', 'off', true);

  for v_want in
    select w.type, sum(w.count)::integer as room, array_agg(w.worker order by w.n) as workers,
      array_agg(w.count order by w.n) as counts
    from unnest(p_workers, p_types, p_limits) with ordinality w(worker, type, count, n)
    group by w.type
  loop
    v_picked := '{}';
    if v_want.type = any (p_lane_types) then
      for v_lane in
        select l.priority, l.from_position
        from unnest(p_lane_types, p_lane_priorities, p_lane_from) l(type, priority, from_position)
        where l.type = v_want.type
        order by l.priority desc
      loop
        select array_agg(e.ctid) into v_more
        from (
          select q.ctid from jobtree.queue_entry q
          where q.type = v_want.type and q.priority = v_lane.priority and q.position >= v_lane.from_position
            and q.run_at is null
          order by q.position
          limit v_want.room - cardinality(v_picked)
          for update skip locked
        ) e;
        v_picked := v_picked || v_more;
        exit when cardinality(v_picked) = v_want.room;
      end loop;
    else
      select array_agg(e.ctid) into v_more
      from (
        select q.ctid from jobtree.queue_entry q
        where q.type = v_want.type and q.run_at is null
        order by q.priority desc, q.position
        limit v_want.room
        for update skip locked
      ) e;
      v_picked := v_picked || v_more;
    end if;
    v_tids := v_tids || v_picked;
    for v_i in 1 .. cardinality(v_want.workers) loop
      v_workers := v_workers
        || array_fill(v_want.workers[v_i], array[least(v_want.counts[v_i], cardinality(v_tids) - cardinality(v_workers))]);
    end loop;
  end loop;

  if cardinality(v_tids) > 0 then
    return query select * from jobtree.hold_entries(v_tids, v_workers);
  end if;
end
$$;
