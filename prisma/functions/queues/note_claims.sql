-- Records what was claimed of limited types, so that the next claim counts it.
--
-- p_lease_ids, p_types   new leases of this transaction, and their types, whose rows of queue it has locked
-- returns    how many leases these were
create or replace function jobtree.note_claims(p_lease_ids uuid[], p_types text[])
returns integer
language plpgsql volatile
-- plans: no seqscan, bitmapscan, hashjoin, mergejoin; generic
as $$
begin
  insert into jobtree.held_delta (type, items)
  select l.limited_type, sum(l.count) from jobtree.lease l
  where l.id = any (p_lease_ids) and l.limited_type is not null
  group by l.limited_type;

  -- A slice counts until an interval after its end, so a claim counts for the full interval, and at most a hundredth longer. The
  -- leases are older than this statement, but their times are rounded.
  insert into jobtree.rate_slice (type, ends_at, claims)
  select s.type, s.ends_at, s.claims
  from (
    select u.type, date_bin(q.width, clock_timestamp() + interval '1 millisecond', 'epoch') + q.width as ends_at, sum(l.count) as claims
    from unnest(p_types, p_lease_ids) u(type, lease_id)
    cross join lateral (
      select q.rate_interval_ms * interval '10 microseconds' as width from jobtree.queue q
      where q.type = u.type and q.rate_limit is not null
      offset 0
    ) q
    cross join lateral (select l.count from jobtree.lease l where l.id = u.lease_id offset 0) l
    group by 1, 2
  ) s
  on conflict (type, ends_at) do update set claims = rate_slice.claims + excluded.claims;
  return cardinality(p_lease_ids);
end
$$;
