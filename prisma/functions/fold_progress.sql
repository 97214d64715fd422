-- Turns the deltas of one tree into counters, completes what is complete, and tells who listens.
--
-- A job is complete when it is sealed and succeeded + failed + cancelled = itemCount. Completion seals the children
-- that the job feeds, which may complete them in turn; the tree is complete when openJobs on the root's row is 0.
--
-- p_from     the delta to read from: a low-water mark that skips the dead rows of deltas folded before. A delta below
--            it that committed late is found by a fold from 0. Before a job is declared complete its deltas are read
--            from 0, after it was seen to be sealed: it can get no more items, so the sum is exact then.
-- returns    no row if another fold has the tree (try again), else the last delta read (0 for none), and whether a child could
--            not be sealed yet because somebody is adding to it (try again)
-- locks      the root's job_progress row, and then the rows of children to be sealed, both skipped where taken
-- notifies   channel jobtree_progress: {root, openJobs, jobs: [{jobId, itemCount, succeeded, failed, cancelled,
--            sealed, startedAt, completedAt}]}, times in milliseconds; up to 25 jobs a message, below 8,000 bytes
-- durability the commit does not wait for the disk, so that Postgres's notification lock is held only for an instant;
--            after a crash the deltas are there again, and are counted again
create or replace function jobtree.fold_progress(p_root_id uuid, p_from bigint default 0)
returns table (last_delta bigint, retry boolean)
language plpgsql volatile
set enable_seqscan = off
set plan_cache_mode = force_generic_plan
as $$
declare
  v_now constant timestamptz := clock_timestamp();
  v_from bigint := p_from;
  v_last bigint := 0;
  v_read_last bigint;
  v_read uuid[];
  v_touched uuid[] := '{}';
  v_changed uuid[] := '{}';
  v_completed uuid[];
  -- Known to be sealed before the deltas were last read from 0: their sums are exact.
  v_sure uuid[] := '{}';
  v_sealed uuid[];
  v_suspect boolean;
  v_open integer;
  v_blocked uuid[] := '{}';
begin
  perform set_config('synchronous_commit', 'off', true);
  perform 1 from jobtree.job_progress p where p.job_id = p_root_id for no key update skip locked;
  if not found then
    -- No row if another fold has the tree; one that asks for nothing more if the tree is gone.
    return query select 0::bigint, false
    where not exists (select from jobtree.job_progress p where p.job_id = p_root_id);
    return;
  end if;

  loop
    with consumed as (
      delete from jobtree.progress_delta d where d.root_id = p_root_id and d.id >= v_from
      returning d.*
    ), summed as (
      select c.job_id, sum(c.items) as items, sum(c.succeeded) as succeeded, sum(c.failed) as failed,
        sum(c.cancelled) as cancelled, bool_or(c.started or c.succeeded + c.failed > 0) as started, max(c.id) as last
      from consumed c
      group by c.job_id
    ), counted as (
      update jobtree.job_progress p
      set item_count = p.item_count + s.items, succeeded = p.succeeded + s.succeeded, failed = p.failed + s.failed,
        cancelled = p.cancelled + s.cancelled,
        started_at = coalesce(p.started_at, case when s.started then v_now end)
      from summed s
      where p.job_id = s.job_id
      returning p.job_id, p.succeeded + p.failed + p.cancelled > p.item_count as ahead
    )
    select (select max(s.last) from summed s), (select array_agg(s.job_id) from summed s), (select bool_or(c.ahead) from counted c)
    into v_read_last, v_read, v_suspect;

    v_last := greatest(v_last, v_read_last);
    v_touched := v_touched || v_read;
    v_changed := v_changed || v_read;

    select array_agg(p.job_id) into v_completed
    from jobtree.job_progress p
    join jobtree.job j on j.id = p.job_id
    where p.job_id = any (v_touched) and p.completed_at is null and j.sealed_at is not null
      and p.succeeded + p.failed + p.cancelled = p.item_count;

    if (v_from > 0 and v_suspect) or not coalesce(v_completed, '{}') <@ v_sure then
      v_from := 0;
      v_sure := v_sure || v_completed;
      continue;
    end if;
    update jobtree.job_progress p set completed_at = v_now where p.job_id = any (v_completed);
    update jobtree.job_progress p set open_jobs = p.open_jobs - cardinality(v_completed)
    where p.job_id = p_root_id and v_completed is not null;

    with waiting as (
      select c.id from jobtree.job c
      join jobtree.job_progress p on p.job_id = c.parent_id
      where c.parent_id = any (v_touched) and p.completed_at is not null and c.feed is not null and c.sealed_at is null
    ), free as (
      select c.id from jobtree.job c where c.id in (select w.id from waiting w)
      order by c.id
      for no key update skip locked
    ), sealed as (
      update jobtree.job c set sealed_at = v_now from free f where c.id = f.id returning c.id
    )
    select
      (select array_agg(s.id) from sealed s),
      v_blocked || (select array_agg(w.id) from waiting w where w.id not in (select f.id from free f))
    into v_sealed, v_blocked;

    exit when v_completed is null and v_sealed is null;
    v_changed := v_changed || v_completed || v_sealed;
    v_touched := v_sealed;
    v_sure := v_sure || v_sealed;
  end loop;

  -- Somebody is adding to these children: have the next fold look at their parents again.
  insert into jobtree.progress_delta (root_id, job_id)
  select distinct p_root_id, c.parent_id from jobtree.job c where c.id = any (v_blocked);

  if cardinality(v_changed) > 0 then
    select p.open_jobs into v_open from jobtree.job_progress p where p.job_id = p_root_id;
    perform pg_notify('jobtree_progress', jsonb_build_object('root', p_root_id, 'openJobs', v_open, 'jobs', m.jobs)::text)
    from (
      select jsonb_agg(jsonb_build_object(
        'jobId', p.job_id, 'itemCount', p.item_count, 'succeeded', p.succeeded,
        'failed', p.failed, 'cancelled', p.cancelled, 'sealed', j.sealed_at is not null,
        'startedAt', floor(extract(epoch from p.started_at) * 1000),
        'completedAt', floor(extract(epoch from p.completed_at) * 1000)
      )) as jobs
      from (
        select c.*, (row_number() over (order by c.job_id) - 1) / 25 as page from jobtree.job_progress c
        where c.job_id = any (v_changed) or c.job_id = p_root_id
      ) p
      join jobtree.job j on j.id = p.job_id
      group by p.page
    ) m;
  end if;
  return query select v_last, cardinality(v_blocked) > 0;
end
$$;
