-- The only way on from the head of a key: when items end, the next item in the line of each key becomes its head. Keys that can't go on now
-- are noted for promote_blocked, so that no caller waits for a locked key.
--
-- p_job_ids, p_positions   items that have ended; those that are not the head of a key have no effect
-- p_now      whether the next items proceed at once, or all are left to promote_blocked
-- returns    the types that got ready items, and how many
-- locks      those of promote_next
create or replace function jobtree.free_keys(p_job_ids uuid[], p_positions bigint[], p_now boolean default true)
returns jsonb
language plpgsql volatile
-- plans: no seqscan, hashjoin, mergejoin, bitmapscan, material; generic
as $$
declare
  v_ended record;
  v_left record;
begin
  select array_agg(i.serialize_key) as keys, array_agg(i.job_id) as job_ids, array_agg(i.position) as positions into v_ended
  from unnest(p_job_ids, p_positions) u(job_id, position)
  cross join lateral (
    select i.* from jobtree.job_item i
    where i.job_id = u.job_id and i.position = u.position and i.serialize_key is not null
    offset 0
  ) i;
  if v_ended.keys is null then
    return null;
  end if;
  if p_now then
    select * into v_left from jobtree.promote_next(v_ended.keys, v_ended.job_ids, v_ended.positions);
  else
    select array_agg(u.key) as keys, array_agg(u.job_id) as job_ids, array_agg(u.position) as positions, null::jsonb as ready into v_left
    from unnest(v_ended.keys, v_ended.job_ids, v_ended.positions) u(key, job_id, position)
    join jobtree.serialize_key k on k.key = u.key collate "C" and k.job_id = u.job_id and k.position = u.position;
  end if;
  insert into jobtree.ended_head (key, job_id, position, held)
  select u.key, u.job_id, u.position, false from unnest(v_left.keys, v_left.job_ids, v_left.positions) u(key, job_id, position)
  on conflict (job_id, position) do nothing;
  return v_left.ready;
end
$$;
