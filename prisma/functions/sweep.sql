-- What time brings about, in bounded batches: holds whose heartbeat stopped become failures, due entries become ready.
-- Call it again at once while a batch was full.
--
-- p_deadline_from  a low-water mark: no unfinished hold has an older deadline. It skips the dead and the finished ones;
--                  null reads all.
-- returns          how many holds were lost and entries promoted, the types that got ready entries (each as often as it got
--                  some, roughly), the roots that have something to fold, and the mark for the next call: one minute behind the clock, which is more than a
--                  claim takes to commit
-- locks            assignments and entries, skipping those that somebody works on
create or replace function jobtree.sweep(p_deadline_from timestamptz default null, p_limit integer default 1000)
returns table (lost integer, promoted integer, ready_types text[], root_ids uuid[], deadline_from timestamptz)
language plpgsql volatile
set enable_seqscan = off
as $$
declare
  v_now constant timestamptz := clock_timestamp();
  v_ids uuid[];
  v_promoted integer;
  v_ready text[] := '{}';
  v_retried text[];
  v_roots uuid[];
begin
  select array_agg(l.id order by l.id) into v_ids
  from (
    select a.id from jobtree.assignment a
    where a.deadline_at >= coalesce(p_deadline_from, '-infinity') and a.deadline_at <= v_now and a.finished_at is null
    order by a.deadline_at
    limit p_limit
    for update skip locked
  ) l;
  if v_ids is not null then
    select array_agg(f.type) filter (where f.retry_at <= clock_timestamp()) into v_retried
    from jobtree.fail_assignments(
      v_ids,
      array_fill('{"code": "HEARTBEAT_LOST", "message": "The worker''s heartbeat was lost."}'::jsonb, array[cardinality(v_ids)]),
      'lost'
    ) f;
  end if;

  with due as materialized (
    select q.ctid as tid, q.run_at, q.position from jobtree.queue_entry q
    where q.run_at <= v_now
    order by q.run_at
    limit p_limit
    for update skip locked
  ), numbered as materialized (
    -- A new position: among equals the one that became due first goes first.
    select d.tid, nextval('jobtree.job_item_position_seq') as position
    from (select * from due order by run_at, position) d
  ), promoted as (
    update jobtree.queue_entry q set run_at = null, position = n.position
    from numbered n where q.ctid = n.tid
    returning q.type
  )
  select count(*), array_agg(p.type) into v_promoted, v_ready from promoted p;

  -- Deltas that nobody has folded come from a server that died, or from SQL: no worker was told of their items.
  select array_agg(distinct d.root_id), v_ready || array_agg(j.type) filter (where n is not null)
  into v_roots, v_ready
  from (select d.root_id, d.job_id, d.items from jobtree.progress_delta d limit p_limit) d
  join jobtree.job j on j.id = d.job_id
  left join lateral generate_series(1, least(d.items, 100)) n on true;

  return query select
    coalesce(cardinality(v_ids), 0), v_promoted, v_ready || v_retried, v_roots,
    case when cardinality(v_ids) = p_limit then p_deadline_from else v_now - interval '1 minute' end;
end
$$;
