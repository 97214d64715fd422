-- Cancels pending items of one cancelled job, up to p_limit of them, from a position on: waiting ones leave the queue,
-- holds end (their workers learn it from the next heartbeat). Repeat until a whole pass finds nothing pending: an item
-- may change hands while this looks at it.
--
-- returns    how many were cancelled, how many were pending but out of reach, and the position to go on from: null
--            at the job's end
-- locks      assignments, then queue entries, each in the order of their ids (two servers may cancel one job), then items
create or replace function jobtree.cancel_items(p_job_id uuid, p_from bigint default 0, p_limit integer default 1000)
returns table (cancelled integer, missed integer, next_from bigint)
language plpgsql volatile
set enable_seqscan = off
as $$
declare
  v_now constant timestamptz := clock_timestamp();
  v_items uuid[];
  v_last bigint;
  v_held uuid[];
  v_waiting uuid[];
  v_pending integer;
  v_cancelled uuid[];
begin
  if not exists (select from jobtree.job j where j.id = p_job_id and j.cancelled_at is not null) then
    return query select 0, 0, null::bigint;
    return;
  end if;

  select array_agg(i.id), max(i.position) into v_items, v_last
  from (
    select i.id, i.position from jobtree.job_item i
    where i.job_id = p_job_id and i.position >= p_from
    order by i.position
    limit p_limit
  ) i;

  -- What is locked here, and no more: who claims between two of these statements has the next pass.
  select array_agg(l.id) into v_held
  from (
    select a.id from jobtree.assignment a
    where a.held_item_id = any (v_items) and a.finished_at is null
    order by a.id
    for update
  ) l;
  select array_agg(l.item_id) into v_waiting
  from (select q.item_id from jobtree.queue_entry q where q.item_id = any (v_items) order by q.item_id for update) l;
  with pending as materialized (
    select i.id from jobtree.job_item i
    left join jobtree.assignment a on a.held_item_id = i.id
    where i.id = any (v_items) and i.failed_at is null and i.cancelled_at is null and a.finished_at is null
  ), dropped as (
    delete from jobtree.queue_entry q where q.item_id = any (v_waiting) returning q.item_id
  ), ended as (
    update jobtree.assignment a set finished_at = v_now, outcome = 'cancelled'
    where a.id = any (v_held) and a.finished_at is null
    returning a.item_id
  )
  select
    (select count(*) from pending),
    (select array_agg(c.item_id) from (select d.item_id from dropped d union select e.item_id from ended e) c)
  into v_pending, v_cancelled;

  update jobtree.job_item i set cancelled_at = v_now where i.id = any (v_cancelled);
  insert into jobtree.progress_delta (root_id, job_id, cancelled)
  select j.root_id, j.id, cardinality(v_cancelled) from jobtree.job j where j.id = p_job_id and v_cancelled is not null;

  return query select
    coalesce(cardinality(v_cancelled), 0),
    v_pending - coalesce(cardinality(v_cancelled), 0),
    case when cardinality(v_items) = p_limit then v_last + 1 end;
end
$$;
