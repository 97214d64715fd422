-- Fails items for good: writes their outcomes and dead letters, and counts them. An item with a serialize key passes it to the next one in
-- its line, or keeps it until the dead letter is replayed or discarded, as its job says.
--
-- p_items    the items, none twice, which are no longer in an entry or an open lease
-- p_keyed    whether any of them may have a key
-- returns    the types that got ready items, and how many
-- locks      those of promote_next
create or replace function jobtree.bury_items(p_items jobtree.dead_item[], p_keyed boolean)
returns jsonb
language plpgsql volatile
-- plans: no seqscan, hashjoin, mergejoin, bitmapscan, material; generic
as $$
declare
  v_passing record;
begin
  with dead as materialized (
    select u.job_id, u.position, u.lease_id, clock_timestamp()::timestamptz(3) as at, u.code, jobtree.message_pattern(u.message) as pattern,
      j.root_id, j.type
    from unnest(p_items) u
    cross join lateral (select j.root_id, j.type from jobtree.job j where j.id = u.job_id offset 0) j
  ), failed as (
    insert into jobtree.outcome (job_id, position, lease_id, finished_at, failed)
    select d.job_id, d.position, d.lease_id, d.at, true from dead d
  ), kept as (
    insert into jobtree.dead_letter (job_id, position, type, died_at, code, pattern, fingerprint)
    select d.job_id, d.position, d.type, d.at, d.code, d.pattern, jobtree.fingerprint(d.type, d.code, d.pattern) from dead d
  )
  insert into jobtree.progress_delta (root_id, job_id, failed, started)
  select d.root_id, d.job_id, count(*), bool_or(d.lease_id is not null) from dead d group by d.root_id, d.job_id;
  if p_keyed is not true then
    return null;
  end if;

  with ended as materialized (
    select u.job_id, u.position, j.blocks_on_failure
    from unnest(p_items) u
    cross join lateral (select j.blocks_on_failure from jobtree.job j where j.id = u.job_id offset 0) j
  ), held as (
    insert into jobtree.ended_head (job_id, position, key, held)
    select e.job_id, e.position, i.serialize_key, true
    from ended e
    join jobtree.job_item i on i.job_id = e.job_id and i.position = e.position
    -- An item that expired behind the head doesn't have the key, so it can't keep it.
    cross join lateral (
      select from jobtree.serialize_key k
      where k.key = i.serialize_key collate "C" and k.job_id = e.job_id and k.position = e.position
      offset 0
    ) k
    where e.blocks_on_failure
  )
  select array_agg(e.job_id) as job_ids, array_agg(e.position) as positions into v_passing from ended e where not e.blocks_on_failure;
  return jobtree.free_keys(v_passing.job_ids, v_passing.positions);
end
$$;
