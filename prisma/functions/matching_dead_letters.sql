-- The dead letters that an operation is about, in the order of their items.
--
-- p_after_job_id, p_after_position   the item behind which to begin
-- p_window   how many to look at, at most
-- returns    of each that was looked at its item, its tree, and whether it is one of them
create or replace function jobtree.matching_dead_letters(
  p_operation jobtree.operation, p_after_job_id uuid, p_after_position bigint, p_window bigint
)
returns table (job_id uuid, "position" bigint, root_id uuid, matches boolean)
language plpgsql stable
set enable_seqscan = off
set enable_bitmapscan = off
set enable_hashjoin = off
set enable_mergejoin = off
as $$
#variable_conflict use_column
declare
  v_jobs uuid[];
begin
  if p_operation.job_id is not null then
    with recursive subtree as (
      select p_operation.job_id as id
      union all
      select c.id from jobtree.job c join subtree s on c.parent_id = s.id
    )
    select array_agg(s.id) into v_jobs from subtree s;
  elsif p_operation.item_job_ids is not null then
    v_jobs := array(select distinct unnest(p_operation.item_job_ids));
  end if;

  return query
  with looked_at as (
    (
      select d.* from jobtree.dead_letter d
      where v_jobs is null and (d.job_id, d.position) > (p_after_job_id, p_after_position)
      order by d.job_id, d.position
      limit p_window
    )
    union all
    (
      select d.* from unnest(v_jobs) u(id)
      cross join lateral (
        select d.* from jobtree.dead_letter d
        where d.job_id = u.id and (d.job_id, d.position) > (p_after_job_id, p_after_position)
        order by d.job_id, d.position
        limit p_window
      ) d
      order by d.job_id, d.position
      limit p_window
    )
  )
  select l.job_id, l.position, j.root_id,
    -- What fails again meanwhile has had its turn.
    l.died_at <= p_operation.requested_at
      and l.type = any (coalesce(p_operation.types, array[l.type]))
      and l.code = any (coalesce(p_operation.codes, array[l.code]))
      and l.fingerprint = any (coalesce(p_operation.fingerprints, array[l.fingerprint]))
      and l.died_at >= coalesce(p_operation.died_from, '-infinity')
      and l.died_at < coalesce(p_operation.died_until, 'infinity')
      and (p_operation.dedupe_keys is null or exists (
        select from jobtree.job_item i
        where i.job_id = l.job_id and i.position = l.position and i.dedupe_key = any (p_operation.dedupe_keys)
      ))
      and (p_operation.item_job_ids is null or exists (
        select from unnest(p_operation.item_job_ids, p_operation.item_positions) u(job_id, position)
        where u.job_id = l.job_id and u.position = l.position
      ))
  from looked_at l
  join jobtree.job j on j.id = l.job_id
  order by l.job_id, l.position;
end
$$;
