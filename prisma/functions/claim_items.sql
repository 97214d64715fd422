-- Gives ready items to workers: of each type the highest priority first, then in the order in which they became ready. All
-- payloads together have about 32 MB at most, but there is at least one item: an answer must fit into memory.
--
-- p_workers, p_types, p_limits   who wants how many of which type, an element each; of one type, who stands first gets
--            what goes first
-- p_lane_types, p_lane_priorities, p_lane_from
--            low-water positions: of that type and priority nothing claimable was seen below. A type that has lanes
--            here is looked at in these lanes alone; one that has none is read from its start, past every dead row.
--            They are hints of a caller that reads from the start now and then, for rows that committed late, came
--            back, or have a new priority.
-- p_claim_ids, p_before
--            the claim that each want belongs to, null for none, and how many the wants before it in its claim ask for.
--            A claim that was carried out before gives what it got then and is not finished, and nothing new.
-- returns    as hold_entries has it; n orders the items of a type as they go. kind is NEW; CUT if there was more that the
--            size forbade, and then other claims may have passed by it; REPEATED for what a claim got before
-- locks      queue entries, skipping those that another claim has
-- errors     JT002 the repeated claim was another worker's; JT006 it must be repeated in a call of its own
-- durability the commit does not wait for the disk: a claim that a crash forgets leaves the item ready and its
--            assignment unknown, so a report under it is STALE. Do not call this inside a transaction of your own.
create or replace function jobtree.claim_items(
  p_workers text[], p_types text[], p_limits integer[],
  p_lane_types text[] default '{}', p_lane_priorities smallint[] default '{}', p_lane_from bigint[] default '{}',
  p_claim_ids uuid[] default '{}', p_before integer[] default '{}'
)
returns table (
  job_id uuid, root_id uuid, type text, heartbeat_interval_ms integer, claimed_at timestamptz, deadline_at timestamptz,
  items json, kind text
)
language plpgsql volatile
set enable_seqscan = off
set enable_bitmapscan = off
set plan_cache_mode = force_generic_plan
as $$
declare
  v_claim_id constant uuid := jobtree.new_id();
  v_want record;
  v_lane record;
  v_more tid[];
  v_bytes bigint;
  v_picked tid[];
  v_picked_bytes bigint;
  v_left bigint := 32000000;
  v_kind text := 'NEW';
  v_tids tid[] := '{}';
  v_workers text[] := '{}';
  v_claim_ids uuid[] := '{}';
  v_offsets integer[] := '{}';
  v_taken integer;
  v_count integer;
begin
  perform set_config('synchronous_commit', 'off', true);

  if cardinality(p_claim_ids) > 0 and exists (select from unnest(p_claim_ids) c(id) cross join lateral jobtree.claimed_ids(c.id)) then
    if (p_claim_ids[1] = all (p_claim_ids)) is not true then
      raise exception 'A repeated claim can''t go together with others.' using errcode = 'JT006';
    end if;
    return query select r.*, 'REPEATED' from jobtree.repeat_claim(p_claim_ids[1], p_workers[1]) r;
    return;
  end if;

  for v_want in
    select w.type, sum(w.count)::integer as room, array_agg(w.worker order by w.n) as workers,
      array_agg(w.count order by w.n) as counts, array_agg(coalesce(w.claim_id, v_claim_id) order by w.n) as claim_ids,
      array_agg(w.before order by w.n) as before
    from unnest(p_workers, p_types, p_limits, p_claim_ids, p_before) with ordinality w(worker, type, count, claim_id, before, n)
    group by w.type
    order by min(w.n)
  loop
    v_picked := '{}';
    v_picked_bytes := 0;
    if v_want.type = any (p_lane_types) then
      for v_lane in
        select l.priority, l.from_position
        from unnest(p_lane_types, p_lane_priorities, p_lane_from) l(type, priority, from_position)
        where l.type = v_want.type
        order by l.priority desc
      loop
        select array_agg(e.ctid), coalesce(sum(e.payload_bytes), 0) into v_more, v_bytes
        from (
          select q.ctid, q.payload_bytes from jobtree.queue_entry q
          where q.type = v_want.type and q.priority = v_lane.priority and q.position >= v_lane.from_position
            and q.run_at is null
          order by q.position
          limit v_want.room - cardinality(v_picked)
          for update skip locked
        ) e;
        v_picked := v_picked || v_more;
        v_picked_bytes := v_picked_bytes + v_bytes;
        exit when cardinality(v_picked) = v_want.room or v_picked_bytes > v_left;
      end loop;
    else
      select array_agg(e.ctid), coalesce(sum(e.payload_bytes), 0) into v_more, v_picked_bytes
      from (
        select q.ctid, q.payload_bytes from jobtree.queue_entry q
        where q.type = v_want.type and q.run_at is null
        order by q.priority desc, q.position
        limit v_want.room
        for update skip locked
      ) e;
      v_picked := v_picked || v_more;
    end if;

    if v_picked_bytes > v_left then
      v_kind := 'CUT';
      select coalesce(array_agg(s.tid order by s.n), '{}') into v_picked
      from (
        select p.tid, p.n, sum(q.payload_bytes) over (order by p.n) as bytes
        from unnest(v_picked) with ordinality p(tid, n)
        join jobtree.queue_entry q on q.ctid = p.tid
      ) s
      where s.bytes <= v_left or (s.n = 1 and cardinality(v_tids) = 0);
    end if;
    v_left := v_left - v_picked_bytes;
    v_tids := v_tids || v_picked;
    for v_i in 1 .. cardinality(v_want.workers) loop
      v_taken := cardinality(v_workers);
      v_count := least(v_want.counts[v_i], cardinality(v_tids) - v_taken);
      v_workers := v_workers || array_fill(v_want.workers[v_i], array[v_count]);
      v_claim_ids := v_claim_ids || array_fill(v_want.claim_ids[v_i], array[v_count]);
      v_offsets := v_offsets || array_fill(coalesce(v_want.before[v_i] - v_taken, 0), array[v_count]);
    end loop;
    exit when v_kind = 'CUT';
  end loop;

  if cardinality(v_tids) > 0 then
    return query select h.*, v_kind from jobtree.hold_entries(v_tids, v_workers, v_claim_ids, v_offsets) h;
  end if;
end
$$;
