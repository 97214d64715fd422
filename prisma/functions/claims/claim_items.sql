-- Gives ready items to workers: of each type by descending priority, then in the order in which they became ready. The payloads of an
-- answer have about 32 MB at most, since it must fit into memory, but there is at least one entry. A claim that gets less than it asked for
-- has looked at every priority.
--
-- p_workers, p_types, p_limits   who asks for how many items of which type, an element for each request; of several requests for one type
--            the first gets the first items
-- p_claim_ids   the claim id of each request: a UUID of version 7 with a time within a day of now; null for none. A claim that was carried
--            out before returns those of its items that are not finished, and nothing new
-- p_range_types, p_range_highs, p_range_lows, p_range_places
--            where to look: for each type, in order, from a priority and a place in it down to another priority. Callers remember, for each
--            type and priority, the place before which they saw nothing claimable, and look there now and then for entries that committed
--            late or came back. Without ranges each type is read from its start, past every dead row
-- p_starts   how many of its items each request starts as soon as it has them, from the first; the others wait until a heartbeat says that they
--            have been started. Of items that were lost before none counts as started. Null for all
-- p_durable  whether an answered claim survives a crash of Postgres. If not, the commit does not wait for the disk: items whose claim a
--            crash forgets are ready again, and reports on them are STALE. Claims of limited types are always durable
-- returns    as lease_entries, and a kind: NEW; CUT if the size limit excluded further items, which other claims may then have skipped;
--            LOCKED if the remaining entries were locked for longer than a claim waits; REPEATED for the leases of a repeated claim. Rows
--            without a lease follow: of kind LIMITED for each type whose queue has no more room (lock_queues), with now in claimed_at and
--            when to ask again in deadline_at; TAKEN for each type that another claim is deciding about: ask again; and KEYED for each type
--            that gave items with serialize keys, since the end of one may make the next ready
-- locks      rows of queue, of limited types only, and then queue entries; both skipped where another claim has locked them
-- errors     JT002 a limit below 1, arrays of different lengths, a claim id whose time is too far away, or a repeated claim of another worker; JT006 a repeated claim
--            must be sent alone
create or replace function jobtree.claim_items(
  p_workers text[], p_types text[], p_limits integer[], p_claim_ids uuid[] default '{}',
  p_range_types text[] default '{}', p_range_highs integer[] default '{}', p_range_lows integer[] default '{}',
  p_range_places bigint[] default '{}',
  p_starts integer[] default '{}',
  p_durable boolean default true
)
returns setof jobtree.claimed_lease
language plpgsql volatile
-- plans: no seqscan, bitmapscan; generic
as $$
declare
  -- How long it waits for an entry that another claim has locked, so that a claim doesn't miss what that one leaves of the entry.
  v_until constant timestamptz := clock_timestamp() + interval '50 milliseconds';
  v_entries cursor (c_type text, c_high integer, c_low integer, c_place bigint, c_taken tid[]) for
    select q.ctid as tid, q.count, q.bytes, q.keyed from jobtree.queue_entry q
    where q.type = c_type and q.run_at is null
      and (-q.priority::integer, q.place) >= (-c_high, c_place) and -q.priority::integer <= -c_low
      and q.ctid <> all (c_taken)
    order by -q.priority::integer, q.place
    for update skip locked;
  v_types text[] := p_range_types;
  v_highs integer[] := p_range_highs;
  v_lows integer[] := p_range_lows;
  v_places bigint[] := p_range_places;
  v_first integer := 1;
  v_last integer;
  v_type text;
  v_entry record;
  v_bytes bigint := 0;
  v_kind text := 'NEW';
  v_locked tid;
  -- The requests of a type, in turn, and how much the one whose turn it is still wants.
  v_asking integer[];
  v_turn integer;
  v_left integer;
  v_from integer;
  v_count integer;
  v_tids tid[] := '{}';
  v_froms integer[] := '{}';
  v_counts integer[] := '{}';
  v_requests integer[] := '{}';
  -- Of limited types: how many items may be claimed, null if another claim is deciding; and when to look again.
  v_limited text[];
  v_rooms integer[];
  v_again integer[];
  v_counting text[];
  v_room integer;
  v_is_keyed boolean;
  v_keyed text[];
  v_message jobtree.claimed_lease;
begin
  if (1 <= all (p_limits)) is not true then
    raise exception 'limits must be whole numbers of at least 1.' using errcode = 'JT002', column = 'limits';
  elsif (
    cardinality(p_workers) = cardinality(p_types) and cardinality(p_limits) = cardinality(p_types)
    and cardinality(p_claim_ids) in (0, cardinality(p_types)) and cardinality(p_starts) in (0, cardinality(p_types))
  ) is not true then
    raise exception 'workers, types, limits, claim ids and starts must have one element for each request.' using errcode = 'JT002', column = 'types';
  end if;
  if exists (
    select from jobtree.queue q where q.type = any (p_types) and (q.paused or q.concurrency is not null or q.rate_limit is not null)
  ) then
    v_limited := '{}';
  elsif not p_durable then
    perform set_config('synchronous_commit', 'off', true);
  end if;
  if cardinality(p_claim_ids) > 0 and jobtree.is_repeated(p_claim_ids) then
    return query select * from jobtree.repeat_claim(p_claim_ids[1], p_workers[1]);
    return;
  end if;
  if v_limited is not null then
    select array_agg(l.type), array_agg(l.room), array_agg(l.again_in_ms), array_agg(l.type) filter (where l.counts)
    into v_limited, v_rooms, v_again, v_counting
    from jobtree.lock_queues(p_types) l;
  end if;

  if cardinality(v_types) = 0 then
    select array_agg(t.type order by t.n), array_agg(32767), array_agg(-32768), array_agg(0) into v_types, v_highs, v_lows, v_places
    from (select w.type, min(w.n) as n from unnest(p_types) with ordinality w(type, n) group by w.type) t;
  end if;
  if cardinality(v_types) > 8 then
    -- One query for all types costs less than a cursor for each.
    select coalesce(array_agg(r.type order by r.n), '{}'), array_agg(r.high order by r.n), array_agg(r.low order by r.n),
      array_agg(r.place order by r.n)
    into v_types, v_highs, v_lows, v_places
    from unnest(v_types, v_highs, v_lows, v_places) with ordinality r(type, high, low, place, n)
    where exists (
      select from jobtree.queue_entry q
      where q.type = r.type and q.run_at is null
        and (-q.priority::integer, q.place) >= (-r.high, r.place) and -q.priority::integer <= -r.low
      -- Forces a probe for each range instead of a join: the queue may be larger than the statistics say.
      offset 0
    );
  end if;

  while v_first <= cardinality(v_types) and v_kind <> 'CUT' loop
    v_type := v_types[v_first];
    v_last := v_first;
    while v_types[v_last + 1] = v_type loop
      v_last := v_last + 1;
    end loop;
    v_asking := array_positions(p_types, v_type);
    v_turn := 1;
    v_is_keyed := false;
    v_room := case when v_type = any (v_limited) then coalesce(v_rooms[array_position(v_limited, v_type)], 0) end;
    v_left := case when v_room = 0 then null else p_limits[v_asking[1]] end;

    loop
      for v_range in v_first .. v_last loop
        exit when v_left is null or v_kind = 'CUT';
        open v_entries(v_type, v_highs[v_range], v_lows[v_range], v_places[v_range], v_tids);
        loop
          exit when v_left is null;
          fetch v_entries into v_entry;
          exit when not found;
          if v_bytes > 0 and v_bytes + v_entry.bytes > 32000000 then
            v_kind := 'CUT';
            exit;
          end if;
          v_bytes := v_bytes + v_entry.bytes;
          v_is_keyed := v_is_keyed or v_entry.keyed;
          v_from := 0;
          while v_from < v_entry.count and v_left is not null loop
            v_count := least(v_left, v_entry.count - v_from, v_room);
            v_tids := v_tids || v_entry.tid;
            v_froms := v_froms || v_from;
            v_counts := v_counts || v_count;
            v_requests := v_requests || v_asking[v_turn];
            v_from := v_from + v_count;
            v_left := v_left - v_count;
            if v_left = 0 then
              v_turn := v_turn + 1;
              v_left := p_limits[v_asking[v_turn]];
            end if;
            v_room := v_room - v_count;
            if v_room = 0 then
              v_left := null;
              v_rooms[array_position(v_limited, v_type)] := 0;
            end if;
          end loop;
        end loop;
        close v_entries;
      end loop;
      exit when v_left is null or v_kind = 'CUT';

      select e.tid into v_locked
      from unnest(v_highs[v_first:v_last], v_lows[v_first:v_last], v_places[v_first:v_last]) r(high, low, place)
      cross join lateral (
        select q.ctid as tid from jobtree.queue_entry q
        where q.type = v_type and q.run_at is null
          and (-q.priority::integer, q.place) >= (-r.high, r.place) and -q.priority::integer <= -r.low
          and q.ctid <> all (v_tids)
        limit 1
      ) e
      limit 1;
      exit when not found;
      if not jobtree.wait_for_entry(v_locked, v_until) then
        v_kind := 'LOCKED';
        exit;
      end if;
    end loop;
    if v_is_keyed then
      v_keyed := v_keyed || v_type;
    end if;
    v_first := v_last + 1;
  end loop;

  if cardinality(v_tids) > 0 and v_limited is not null then
    return query
      with given as materialized (
        select h.* from jobtree.lease_entries(v_tids, v_froms, v_counts, v_requests, p_workers, p_claim_ids, p_starts, v_kind, v_counting) h
      ), noted as materialized (
        select jobtree.note_claims(array_agg(g.lease_id), array_agg(g.type)) from given g where g.type = any (v_limited)
      )
      select g.* from given g, noted;
  elsif cardinality(v_tids) = 1 then
    return query
      select * from jobtree.lease_entry(
        v_tids[1], 0, v_counts[1], v_requests[1], p_workers[v_requests[1]], p_claim_ids[v_requests[1]], p_starts[v_requests[1]], v_kind
      );
  elsif cardinality(v_tids) > 0 then
    return query
      select * from jobtree.lease_entries(v_tids, v_froms, v_counts, v_requests, p_workers, p_claim_ids, p_starts, v_kind);
  elsif v_kind = 'LOCKED' then
    v_message.kind := v_kind;
    return next v_message;
  end if;
  for v_limit in 1 .. coalesce(cardinality(v_limited), 0) loop
    continue when v_rooms[v_limit] > 0;
    v_message.kind := case when v_rooms[v_limit] is null then 'TAKEN' else 'LIMITED' end;
    v_message.type := v_limited[v_limit];
    v_message.claimed_at := clock_timestamp();
    v_message.deadline_at := v_message.claimed_at + v_again[v_limit] * interval '1 millisecond';
    return next v_message;
  end loop;
  v_message := null;
  foreach v_type in array coalesce(v_keyed, '{}') loop
    v_message.kind := 'KEYED';
    v_message.type := v_type;
    return next v_message;
  end loop;
end
$$;
