-- Ends attempts that succeeded: stores their results, and passes on the serialize keys of their items. Most calls report under a single lease,
-- for which a few small statements cost a quarter less than one large one, and half as much for a single item.
--
-- p_leases   the leases that this transaction has locked
-- p_lease_ids, p_numbers, p_values, p_kinds   as report_results takes them. Only results of open items count
-- returns    the trees that changed; the types that got ready items because serialize keys were freed, and how many; how many results
--            counted; and figures as report_results returns them
-- locks      those of promote_next
create or replace function jobtree.succeed_attempts(
  p_leases jobtree.reported_lease[], p_lease_ids uuid[], p_numbers integer[], p_values json, p_kinds text[]
)
returns jobtree.ended_attempts
language plpgsql volatile
-- plans: no seqscan, bitmapscan, mergejoin, material; generic
as $$
declare
  v_now constant timestamptz(3) := clock_timestamp();
  v_lease jobtree.reported_lease := p_leases[1];
  v_count integer;
  v_bits bit(128);
  v_bytes bigint;
  v_positions bigint[];
  v_ended record;
  v_done jobtree.ended_attempts;
begin
  if v_lease.id = all (p_lease_ids) and not v_lease.cancelled then
    if cardinality(p_numbers) = 1 then
      insert into jobtree.outcome (job_id, position, lease_id, finished_at, result)
      select v_lease.job_id, v_lease.position + p_numbers[1] - 1, v_lease.id, v_now, p_values -> 0
      where case when p_numbers[1] > 0 then get_bit(v_lease.open, p_numbers[1] - 1) = 1 end
      returning 1, jobtree.bit_at(p_numbers[1]), octet_length(result::text), array[position] into v_count, v_bits, v_bytes, v_positions;
    else
      with finished as (
        insert into jobtree.outcome (job_id, position, lease_id, finished_at, result)
        select v_lease.job_id, v_lease.position + u.number - 1, v_lease.id, v_now, u.value
        from rows from (unnest(p_numbers), json_array_elements(p_values), unnest(p_kinds)) u(number, value, kind)
        where case when u.kind <> 'result' then false when u.number > 0 then get_bit(v_lease.open, u.number - 1) = 1 end
        returning outcome.position, octet_length(outcome.result::text) as bytes
      )
      select nullif(count(*), 0), bit_or(jobtree.bit_at((f.position - v_lease.position)::integer + 1)), sum(f.bytes),
        case when v_lease.keyed then array_agg(f.position) end
      into v_count, v_bits, v_bytes, v_positions
      from finished f;
    end if;
    if v_count is null then
      return null;
    end if;
    update jobtree.lease l
    set open = l.open # v_bits, check_at = case when l.open <> v_bits then l.check_at end
    where l.id = v_lease.id;
    insert into jobtree.progress_delta (root_id, job_id, succeeded, bytes)
    values (v_lease.root_id, v_lease.job_id, v_count, v_bytes);
    v_done.root_ids := array[v_lease.root_id];
    v_done.count := v_count;
    v_done.figures := array[json_build_array(v_lease.type, round(extract(epoch from v_now - v_lease.claimed_at) * 1000), v_count, 0, 0)];
    if v_lease.keyed then
      v_done.ready := jobtree.free_keys(array_fill(v_lease.job_id, array[v_count]), v_positions);
    end if;
    return v_done;
  end if;

  with given as materialized (
    select u.number, u.value, k.id as lease_id, k.job_id, k.position + u.number - 1 as position, k.keyed
    from rows from (unnest(p_lease_ids), unnest(p_numbers), json_array_elements(p_values), unnest(p_kinds)) u(lease_id, number, value, kind)
    join unnest(p_leases) k on k.id = u.lease_id
    -- One expression: of more, the planner would expect next to no row, and then compare each report with each lease.
    where case when k.cancelled or u.kind <> 'result' then false when u.number > 0 then get_bit(k.open, u.number - 1) = 1 end
  ), finished as (
    insert into jobtree.outcome (job_id, position, lease_id, finished_at, result)
    select g.job_id, g.position, g.lease_id, v_now, g.value from given g
  ), ended as materialized (
    select g.lease_id, bit_or(jobtree.bit_at(g.number)) as bits, count(*) as count, sum(octet_length(g.value::text)) as bytes
    from given g group by g.lease_id
  ), closed as (
    update jobtree.lease l
    set open = l.open # e.bits, check_at = case when l.open <> e.bits then l.check_at end
    from ended e
    -- An array of one, which no hash join takes: on a small table it would read all leases, and the plan stays when there are many.
    where l.id = any (array[e.lease_id])
  ), counted as (
    insert into jobtree.progress_delta (root_id, job_id, succeeded, bytes)
    select k.root_id, k.job_id, sum(e.count), sum(e.bytes) from ended e join unnest(p_leases) k on k.id = e.lease_id group by k.root_id, k.job_id
    returning progress_delta.root_id
  )
  select (select array_agg(distinct c.root_id) from counted c) as root_ids, count(*) as count,
    array_agg(g.job_id) filter (where g.keyed) as job_ids, array_agg(g.position) filter (where g.keyed) as positions,
    (
      select array_agg(t.figure)
      from (
        select json_build_array(k.type, round(extract(epoch from v_now - k.claimed_at) * 1000), sum(e.count), 0, 0) as figure
        from ended e join unnest(p_leases) k on k.id = e.lease_id
        group by k.type, k.claimed_at
      ) t
    ) as figures
  into v_ended
  from given g;
  v_done.root_ids := v_ended.root_ids;
  v_done.count := v_ended.count;
  v_done.figures := v_ended.figures;
  if v_ended.job_ids is not null then
    v_done.ready := jobtree.free_keys(v_ended.job_ids, v_ended.positions);
  end if;
  return v_done;
end
$$;
