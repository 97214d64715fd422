-- Takes failures, of those reports whose lease and item are open: what accept_results is for results.
--
-- p_lease_ids, p_numbers, p_failures
--            the assignments, each named once, and a JSON array of what went wrong: {code, message, permanent}
-- returns    the trees that changed, the types that have ready items again and how many, which reports counted, from 1 on, and
--            when the item of each of these is due again: null if it is not; and figures as report_results has them
-- locks      leases in the order of their ids, skipping those that somebody else has. Their reports do not count
create or replace function jobtree.accept_failures(p_lease_ids uuid[], p_numbers integer[], p_failures json)
returns table (root_ids uuid[], ready jsonb, accepted integer[], retries timestamptz[], figures json[])
language plpgsql volatile
set enable_seqscan = off
set enable_bitmapscan = off
set enable_mergejoin = off
set enable_material = off
set plan_cache_mode = force_generic_plan
as $$
declare
  v_open record;
begin
  with locked as materialized (
    select l.id, l.open from jobtree.lease l
    cross join lateral (select from jobtree.job j where j.id = l.job_id and j.cancelled_at is null offset 0) j
    where l.id = any (p_lease_ids)
    order by l.id
    for update of l skip locked
  )
  select array_agg(u.n::integer) as ns, array_agg(u.lease_id) as lease_ids, array_agg(u.number) as numbers, array_agg(u.failure) as failures
  into v_open
  from rows from (unnest(p_lease_ids), unnest(p_numbers), json_array_elements(p_failures)) with ordinality u(lease_id, number, failure, n)
  join locked k on k.id = u.lease_id
  where case when u.number > 0 then get_bit(k.open, u.number - 1) = 1 end;
  if v_open.ns is null then
    return query select null::uuid[], null::jsonb, '{}'::integer[], null::timestamptz[], null::json[];
    return;
  end if;
  return query
    select f.root_ids, f.ready, v_open.ns, f.retries, f.figures
    from jobtree.fail_attempts(v_open.lease_ids, v_open.numbers, v_open.failures, false) f;
end
$$;
