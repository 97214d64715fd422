-- What time brings about, in bounded batches: holds whose heartbeat stopped become failures, due entries become ready.
-- Call it again at once while a batch was full.
--
-- p_deadline_from  a low-water mark: no unfinished hold has an older deadline. It skips the dead and the finished ones;
--                  null reads all.
-- p_delta_seen     the last delta that the sweep before saw; null for a first one
-- returns          how many holds were lost and entries promoted; the types that got ready entries (each as often
--                  as it got some, roughly); the roots whose deltas
--                  nobody folded since the sweep before (by a first sweep, all that have any); the jobs that are cancelled
--                  and have pending items, or did when they were last folded; and the marks for the next call. That of the
--                  deadlines is one minute behind the clock, which is more than a claim takes to commit
-- locks            assignments, entries and cancelled jobs, skipping those that somebody works on
create or replace function jobtree.sweep(
  p_deadline_from timestamptz default null, p_delta_seen bigint default null, p_limit integer default 1000
)
returns table (
  lost integer, promoted integer, ready_types text[], root_ids uuid[], cancelling uuid[], deadline_from timestamptz,
  delta_seen bigint
)
language plpgsql volatile
set enable_seqscan = off
as $$
declare
  v_now constant timestamptz := clock_timestamp();
  v_ids uuid[];
  v_promoted integer;
  v_ready text[] := '{}';
  v_retried text[];
  v_fed text[];
  v_roots uuid[];
  v_delta_seen bigint;
  v_cancelling uuid[];
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

  -- Without a mark: entries that come due may have been added by a transaction that took long.
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

  -- Deltas that stay come from a server that died, from SQL, or from a transaction that took long: no worker was told of
  -- their items.
  select array_agg(distinct d.root_id) filter (where d.id <= coalesce(p_delta_seen, d.id)),
    array_agg(j.type) filter (where n is not null), max(d.id)
  into v_roots, v_fed, v_delta_seen
  from (select d.id, d.root_id, d.job_id, d.items from jobtree.progress_delta d order by d.id limit p_limit) d
  join jobtree.job j on j.id = d.job_id
  left join lateral generate_series(1, least(d.items, 100)) n on true;

  with over as materialized (
    select j.id from jobtree.job j
    join jobtree.job_progress p on p.job_id = j.id
    where j.cancelling and p.completed_at is not null
    limit p_limit
    for no key update of j skip locked
  )
  update jobtree.job j set cancelling = false from over o where j.id = o.id;
  select array_agg(c.id) into v_cancelling from (select j.id from jobtree.job j where j.cancelling limit p_limit) c;

  return query select
    coalesce(cardinality(v_ids), 0), v_promoted, v_ready || v_retried || v_fed, v_roots, v_cancelling,
    case when cardinality(v_ids) = p_limit then p_deadline_from else v_now - interval '1 minute' end,
    coalesce(v_delta_seen, p_delta_seen);
end
$$;
