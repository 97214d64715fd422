-- Gives items back unfinished, for somebody else to claim at once. Costs no attempt: a deploy is no failure.
--
-- returns    per assignment RELEASED, or STALE where there is no such hold (any more), with the type of what came back
-- locks      the assignments, in the order of their ids
create or replace function jobtree.release_assignments(p_ids uuid[])
returns table (assignment_id uuid, status text, type text)
language plpgsql volatile
set enable_seqscan = off
set plan_cache_mode = force_generic_plan
as $$
declare
  v_open uuid[];
begin
  select array_agg(l.id) filter (where l.finished_at is null) into v_open
  from (
    select a.id, a.finished_at from jobtree.assignment a where a.id = any (p_ids) order by a.id for update
  ) l;

  return query
  with released as (
    delete from jobtree.assignment a where a.id = any (v_open)
    returning a.id, a.item_id, a.attempt
  ), queued as (
    insert into jobtree.queue_entry (item_id, root_id, job_id, type, priority, position, attempt, payload_bytes)
    select i.id, i.root_id, i.job_id, j.type, i.priority, i.position, r.attempt, i.payload_bytes
    from released r
    join jobtree.job_item i on i.id = r.item_id
    join jobtree.job j on j.id = i.job_id
    returning queue_entry.item_id, queue_entry.type
  )
  select g.id, case when r.id is null then 'STALE' else 'RELEASED' end, q.type
  from unnest(p_ids) with ordinality g(id, n)
  left join released r on r.id = g.id
  left join queued q on q.item_id = r.item_id
  order by g.n;
end
$$;
