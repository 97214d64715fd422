-- Picks what a claim gets: of each type by descending priority, then in the order in which the items became ready, up to what was asked for, what
-- the queue of the type has room for, and about 32 MB of payloads in all, but at least one entry. The first half of claim_items; lease_entry and
-- lease_entries turn the picks into leases.
--
-- p_types, p_limits   the requests, as claim_items has them
-- p_range_types … p_places   where to look, as claim_items has it
-- p_queues   what lock_queues says of each limited type, as a JSON object by type; null if there are none
-- returns    the picks, an element for each request and entry, with no gap between those of an entry; the kind of the claim's rows: NEW, CUT or
--            LOCKED; the types of which there are items with serialize keys among them; and the types whose room they use up
-- locks      the entries, skipping locked ones; waits for one if all that remain are locked
create or replace function jobtree.pick_entries(
  p_types text[], p_limits integer[], p_range_types text[], p_highs integer[], p_lows integer[], p_places bigint[], p_queues jsonb,
  out picks jobtree.claim_pick[], out kind text, out keyed text[], out used_up text[]
)
language plpgsql volatile
-- plans: no seqscan, bitmapscan; generic
as $$
declare
  -- How long it waits for an entry that another claim has locked, so that a claim doesn't miss what that one leaves of the entry.
  v_until constant timestamptz := clock_timestamp() + interval '50 milliseconds';
  v_entries cursor (c_type text, c_first integer, c_last integer, c_taken tid[]) for
    select q.* from unnest(p_highs[c_first:c_last], p_lows[c_first:c_last], p_places[c_first:c_last]) r(high, low, place)
    cross join lateral (
      select q.ctid as tid, q.count, q.bytes, q.keyed from jobtree.queue_entry q
      where q.type = c_type and q.run_at is null
        and (-q.priority::integer, q.place) >= (-r.high, r.place) and -q.priority::integer <= -r.low
        and q.ctid <> all (c_taken)
      order by -q.priority::integer, q.place
      for update skip locked
    ) q;
  v_taken tid[] := '{}';
  v_type text;
  v_first integer := 1;
  v_last integer;
  v_entry record;
  v_bytes bigint := 0;
  v_pick jobtree.claim_pick;
  -- The requests of a type that did not get all yet, in turn; how much the first of them still wants, null if none does; and the type's room.
  v_asking integer[];
  v_left integer;
  v_room integer;
begin
  kind := 'NEW';
  while v_first <= cardinality(p_range_types) and kind <> 'CUT' loop
    v_type := p_range_types[v_first];
    v_last := v_first;
    while p_range_types[v_last + 1] = v_type loop
      v_last := v_last + 1;
    end loop;
    v_asking := array_positions(p_types, v_type);
    v_room := case when p_queues ? v_type then coalesce((p_queues -> v_type ->> 'room')::integer, 0) end;
    v_left := case when v_room = 0 then null else p_limits[v_asking[1]] end;

    while v_left > 0 loop
      open v_entries(v_type, v_first, v_last, v_taken);
      while v_left > 0 loop
        fetch v_entries into v_entry;
        exit when not found;
        if v_bytes > 0 and v_bytes + v_entry.bytes > 32000000 then
          kind := 'CUT';
          exit;
        end if;
        v_bytes := v_bytes + v_entry.bytes;
        if v_entry.keyed and v_type is distinct from keyed[cardinality(keyed)] then
          keyed := keyed || v_type;
        end if;
        v_pick.tid := v_entry.tid;
        v_pick.first := 0;
        while v_pick.first < v_entry.count and v_left > 0 loop
          v_pick.request := v_asking[1];
          v_pick.given := p_limits[v_pick.request] - v_left;
          v_pick.count := least(v_left, v_entry.count - v_pick.first, v_room);
          picks := picks || v_pick;
          v_pick.first := v_pick.first + v_pick.count;
          v_left := v_left - v_pick.count;
          v_room := v_room - v_pick.count;
          if v_room = 0 then
            used_up := used_up || v_type;
            v_left := null;
          elsif v_left = 0 then
            v_asking := v_asking[2:];
            v_left := p_limits[v_asking[1]];
          end if;
        end loop;
      end loop;
      close v_entries;
      exit when v_left is null or kind = 'CUT';

      v_taken := array(select p.tid from unnest(picks) p);
      select q.tid into v_entry
      from unnest(p_highs[v_first:v_last], p_lows[v_first:v_last], p_places[v_first:v_last]) r(high, low, place)
      cross join lateral (
        select q.ctid as tid from jobtree.queue_entry q
        where q.type = v_type and q.run_at is null
          and (-q.priority::integer, q.place) >= (-r.high, r.place) and -q.priority::integer <= -r.low
          and q.ctid <> all (v_taken)
        limit 1
      ) q
      limit 1;
      exit when not found;
      if not jobtree.wait_for_entry(v_entry.tid, v_until) then
        kind := 'LOCKED';
        exit;
      end if;
    end loop;
    v_first := v_last + 1;
  end loop;
end
$$;
