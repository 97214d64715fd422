-- Accepts the results of those reports whose lease and item are open: the fast path of reporting. Most calls report under a single lease,
-- for which a few small statements cost less than one large one.
--
-- p_lease_ids, p_numbers, p_results
--            the assignments, none of them twice, and a JSON array of their results
-- p_feeding  true for the results of jobs that feed children, false for all others
-- returns    the trees that changed; the types that got ready items because results freed their serialize keys, and how many; which reports
--            counted, from 1, or null if all did; with p_feeding the finished items, in the order of the reports; and figures as
--            report_results returns them
-- locks      leases in the order of their ids, skipping those that others have locked (a heartbeat, a sweep, a transaction in SQL), whose
--            reports don't count
create or replace function jobtree.accept_results(p_lease_ids uuid[], p_numbers integer[], p_results json, p_feeding boolean)
returns table (root_ids uuid[], ready jsonb, accepted integer[], job_ids uuid[], positions bigint[], figures json[])
language plpgsql volatile
-- plans: no seqscan, bitmapscan, mergejoin, material; generic
as $$
declare
  v_now constant timestamptz(3) := clock_timestamp();
  v_lease record;
  v_bits bit(128);
  v_accepted integer[];
  v_positions bigint[];
  v_bytes bigint;
  v_ready jsonb;
  v_done record;
begin
  if p_lease_ids[1] = all (p_lease_ids) then
    select l.id, l.job_id, l.position, l.open, l.keyed, l.claimed_at, j.root_id, j.type into v_lease from jobtree.lease l
    cross join lateral (
      select j.root_id, j.type from jobtree.job j
      where j.id = l.job_id and j.feeds_children = p_feeding and j.cancelled_at is null
      offset 0
    ) j
    where l.id = p_lease_ids[1]
    for update of l skip locked;
    if found and cardinality(p_numbers) = 1 then
      if (case when p_numbers[1] > 0 then get_bit(v_lease.open, p_numbers[1] - 1) = 1 end) then
        v_bits := jobtree.bit_at(p_numbers[1]);
        v_accepted := '{1}';
        v_positions := array[v_lease.position + p_numbers[1] - 1];
        insert into jobtree.outcome (job_id, position, lease_id, finished_at, result)
        values (v_lease.job_id, v_positions[1], v_lease.id, v_now, p_results -> 0)
        returning octet_length(result::text) into v_bytes;
      end if;
    elsif found then
      with given as (
        select u.n, u.number, u.result
        from rows from (unnest(p_numbers), json_array_elements(p_results)) with ordinality u(number, result, n)
        where case when u.number > 0 then get_bit(v_lease.open, u.number - 1) = 1 end
      ), finished as (
        insert into jobtree.outcome (job_id, position, lease_id, finished_at, result)
        select v_lease.job_id, v_lease.position + g.number - 1, v_lease.id, v_now, g.result from given g
      )
      select bit_or(jobtree.bit_at(g.number)), array_agg(g.n::integer), array_agg(v_lease.position + g.number - 1),
        sum(octet_length(g.result::text))
      into v_bits, v_accepted, v_positions, v_bytes
      from given g;
    end if;
    if v_accepted is null then
      return query select null::uuid[], null::jsonb, '{}'::integer[], null::uuid[], null::bigint[], null::json[];
      return;
    end if;
    update jobtree.lease l
    set open = l.open # v_bits, check_at = case when l.open <> v_bits then l.check_at end
    where l.id = v_lease.id;
    insert into jobtree.progress_delta (root_id, job_id, succeeded, bytes)
    values (v_lease.root_id, v_lease.job_id, cardinality(v_accepted), v_bytes);
    if v_lease.keyed then
      v_ready := jobtree.free_keys(array_fill(v_lease.job_id, array[cardinality(v_positions)]), v_positions);
    end if;
    return query select array[v_lease.root_id], v_ready, case when cardinality(v_accepted) < cardinality(p_numbers) then v_accepted end,
      case when p_feeding then array_fill(v_lease.job_id, array[cardinality(v_accepted)]) end, v_positions,
      array[jobtree.figure_of(v_lease.type, v_now - v_lease.claimed_at, cardinality(v_accepted), 0, 0)];
    return;
  end if;

  with locked as materialized (
    select l.id, l.job_id, l.position, l.open, l.keyed, l.claimed_at, j.root_id, j.type from jobtree.lease l
    cross join lateral (
      select j.root_id, j.type from jobtree.job j
      where j.id = l.job_id and j.feeds_children = p_feeding and j.cancelled_at is null
      offset 0
    ) j
    where l.id = any (p_lease_ids)
    order by l.id
    for update of l skip locked
  ), given as materialized (
    select u.n, u.number, u.result, k.id as lease_id, k.job_id, k.position + u.number - 1 as position, k.keyed
    from rows from (unnest(p_lease_ids), unnest(p_numbers), json_array_elements(p_results)) with ordinality u(lease_id, number, result, n)
    join locked k on k.id = u.lease_id
    where case when u.number > 0 then get_bit(k.open, u.number - 1) = 1 end
  ), finished as (
    insert into jobtree.outcome (job_id, position, lease_id, finished_at, result)
    select g.job_id, g.position, g.lease_id, v_now, g.result from given g
  ), ended as materialized (
    select g.lease_id, bit_or(jobtree.bit_at(g.number)) as bits, count(*) as count, sum(octet_length(g.result::text)) as bytes
    from given g group by g.lease_id
  ), closed as (
    update jobtree.lease l
    set open = l.open # e.bits, check_at = case when l.open <> e.bits then l.check_at end
    from ended e
    -- An array of one, which no hash join takes: on a small table it would read all leases, and the plan stays when there are many.
    where l.id = any (array[e.lease_id])
  ), counted as (
    insert into jobtree.progress_delta (root_id, job_id, succeeded, bytes)
    select k.root_id, k.job_id, sum(e.count), sum(e.bytes) from ended e join locked k on k.id = e.lease_id group by k.root_id, k.job_id
    returning progress_delta.root_id
  )
  select (select array_agg(distinct c.root_id) from counted c) as root_ids,
    case when count(*) < cardinality(p_numbers) then coalesce(array_agg(g.n::integer), '{}') end as accepted,
    case when p_feeding then array_agg(g.job_id order by g.n) end as job_ids,
    case when p_feeding then array_agg(g.position order by g.n) end as positions,
    array_agg(g.job_id) filter (where g.keyed) as keyed_job_ids, array_agg(g.position) filter (where g.keyed) as keyed_positions,
    (
      select array_agg(t.figure)
      from (
        select jobtree.figure_of(k.type, v_now - k.claimed_at, sum(e.count)::bigint, 0, 0) as figure
        from ended e join locked k on k.id = e.lease_id
        group by k.type, k.claimed_at
      ) t
    ) as figures
  into v_done
  from given g;
  if v_done.keyed_job_ids is not null then
    v_ready := jobtree.free_keys(v_done.keyed_job_ids, v_done.keyed_positions);
  end if;
  return query select v_done.root_ids, v_ready, v_done.accepted, v_done.job_ids, v_done.positions, v_done.figures;
end
$$;
