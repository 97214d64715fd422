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
  -- What lock_queues says of each limited type, by type.
  v_queues jsonb;
  v_repeated jobtree.claimed_lease[];
  v_picked record;
  v_request integer;
  v_lease jobtree.claimed_lease;
  v_leased integer := 0;
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
    v_queues := '{}';
  elsif not p_durable then
    perform set_config('synchronous_commit', 'off', true);
  end if;
  if cardinality(p_claim_ids) > 0 then
    v_repeated := jobtree.repeat_claim(p_claim_ids, p_workers);
    if v_repeated is not null then
      return query select * from unnest(v_repeated);
      return;
    end if;
  end if;
  if v_queues is not null then
    select jsonb_object_agg(l.type, l) into v_queues from jobtree.lock_queues(p_types) l;
  end if;

  if cardinality(p_range_types) = 0 then
    select array_agg(t.type order by t.n), array_agg(32767), array_agg(-32768), array_agg(0)
    into p_range_types, p_range_highs, p_range_lows, p_range_places
    from (select w.type, min(w.n) as n from unnest(p_types) with ordinality w(type, n) group by w.type) t;
  end if;
  if cardinality(p_range_types) > 8 then
    -- One query for all types costs less than a cursor for each.
    select array_agg(r.type order by r.n), array_agg(r.high order by r.n), array_agg(r.low order by r.n), array_agg(r.place order by r.n)
    into p_range_types, p_range_highs, p_range_lows, p_range_places
    from unnest(p_range_types, p_range_highs, p_range_lows, p_range_places) with ordinality r(type, high, low, place, n)
    where exists (
      select from jobtree.queue_entry q
      where q.type = r.type and q.run_at is null
        and (-q.priority::integer, q.place) >= (-r.high, r.place) and -q.priority::integer <= -r.low
      -- Forces a probe for each range instead of a join: the queue may be larger than the statistics say.
      offset 0
    );
  end if;
  v_picked := jobtree.pick_entries(p_types, p_limits, p_range_types, p_range_highs, p_range_lows, p_range_places, v_queues);

  if cardinality(v_picked.picks) = 1 then
    v_request := v_picked.picks[1].request;
    v_lease := jobtree.lease_entry(
      v_picked.picks[1], p_workers[v_request], p_claim_ids[v_request], p_starts[v_request], v_picked.kind,
      coalesce((v_queues -> p_types[v_request] ->> 'counts')::boolean, false)
    );
    if v_lease.lease_id is not null then
      v_leased := 1;
      return next v_lease;
      if v_queues ? v_lease.type then
        perform jobtree.note_claims(array[v_lease.lease_id], array[v_lease.type]);
      end if;
    end if;
  elsif v_queues is null and v_picked.picks is not null then
    return query select * from jobtree.lease_entries(v_picked.picks, p_workers, p_claim_ids, p_starts, v_picked.kind);
    get diagnostics v_leased = row_count;
  elsif v_picked.picks is not null then
    return query
      with given as materialized (
        select l.* from jobtree.lease_entries(
          v_picked.picks, p_workers, p_claim_ids, p_starts, v_picked.kind,
          array(select q.type from jsonb_each(v_queues) q(type, limits) where (q.limits -> 'counts')::boolean)
        ) l
      ), noted as materialized (
        select jobtree.note_claims(array_agg(g.lease_id), array_agg(g.type)) from given g where v_queues ? g.type
      )
      select g.* from given g, noted;
    get diagnostics v_leased = row_count;
  end if;
  if v_leased < cardinality(v_picked.picks) then
    perform jobtree.cancel_entries(v_picked.picks);
  end if;
  if v_queues is not null or v_picked.keyed is not null or v_picked.picks is null and v_picked.kind = 'LOCKED' then
    return query
      select l.* from (
        select case when q.limits -> 'room' = 'null' then 'TAKEN' else 'LIMITED' end as kind, q.type, clock_timestamp() as claimed_at,
          clock_timestamp() + (q.limits ->> 'again_in_ms')::integer * interval '1 millisecond' as deadline_at
        from jsonb_each(v_queues) q(type, limits)
        where q.limits -> 'room' in ('null', '0') or q.type = any (v_picked.used_up)
        union all select 'KEYED', k, null, null from unnest(v_picked.keyed) k
        union all select 'LOCKED', null, null, null where v_picked.picks is null and v_picked.kind = 'LOCKED'
      ) m
      cross join lateral jsonb_populate_record(null::jobtree.claimed_lease, to_jsonb(m)) l;
  end if;
end
$$;
