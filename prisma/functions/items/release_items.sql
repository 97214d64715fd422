-- Makes the items of a job that no longer waits for other jobs available, up to p_limit entries: they become ready, behind everything that
-- is ready already, or scheduled if their run_at is ahead. Repeat until done.
--
-- p_from     the position to continue from
-- returns    the job's type; how many entries; how many items are ready; the position to continue from, 0 for another pass; and whether
--            nothing is left to release
-- locks      queue entries, those of release_keyed, and at the end the job's row and that of exclude_adders, skipping locked ones
create or replace function jobtree.release_items(p_job_id uuid, p_from bigint default 0, p_limit integer default 2000)
returns table (type text, entries integer, ready bigint, next_from bigint, done boolean)
language plpgsql volatile
-- plans: no seqscan, bitmapscan; generic
as $$
#variable_conflict use_column
declare
  v_now constant timestamptz(3) := clock_timestamp();
  v_job record;
  v_released record;
  v_keyed record;
  v_is_alone boolean;
begin
  select j.type, j.releasing and j.cancelled_at is null as is_due into v_job from jobtree.job j where j.id = p_job_id;
  with picked as materialized (
    select q.ctid as tid, q.position from jobtree.queue_entry q
    where q.job_id = p_job_id and q.position >= p_from and v_job.is_due
      -- Written so that the planner can't use the index of scheduled entries, which has those of all jobs.
      and coalesce(q.run_at = 'infinity', false) and not q.keyed
    order by q.position
    limit p_limit
    for update skip locked
  ), placed as materialized (
    -- The items of an entry all had the same future run_at when they were added, or none.
    select p.tid, nextval('jobtree.block_seq') * 1024 as place,
      (select i.run_at from jobtree.job_item i where i.job_id = p_job_id and i.position = p.position) as run_at
    from (select * from picked order by position) p
  ), released as (
    update jobtree.queue_entry q set place = p.place, run_at = case when p.run_at > v_now then p.run_at end, ready_at = v_now
    from placed p where q.ctid = p.tid
    returning q.position, q.count, q.run_at
  )
  select count(*)::integer as entries, coalesce(sum(r.count) filter (where r.run_at is null), 0) as ready, max(r.position) as last
  into v_released
  from released r;

  type := v_job.type;
  entries := v_released.entries;
  ready := v_released.ready;
  next_from := case when entries = p_limit then v_released.last + 1 else 0 end;
  if entries < p_limit and v_job.is_due then
    select * into v_keyed from jobtree.release_keyed(p_job_id, p_limit);
    entries := entries + v_keyed.entered;
    ready := ready + v_keyed.ready;
  end if;
  -- If a transaction is adding to the job, another call is needed.
  perform 1 from jobtree.job j where j.id = p_job_id for no key update skip locked;
  v_is_alone := found and cardinality(jobtree.exclude_adders(array[p_job_id])) = 1;
  done := v_job.type is null or v_is_alone and entries < p_limit and not (v_job.is_due and exists (
    select from jobtree.queue_entry q where q.job_id = p_job_id and coalesce(q.run_at = 'infinity', false)
  ));
  if done then
    update jobtree.job j set releasing = false where j.id = p_job_id;
  end if;
  return next;
end
$$;
