-- Adds the next items of a file import and records its progress in one transaction, so that no crash loses a line or adds one twice. Lines
-- that can't be read, or that make no valid payload of the job's type, become items that have failed for good.
--
-- p_lease_id what leaseImports returned; if it has changed, another server has taken over
-- p_payloads as add_payloads takes them; null for no items, which only keeps the lease
-- p_bad      which of the items are bad lines, from 1, in ascending order
-- p_codes, p_problems   what is wrong with each of those
-- p_position, p_line, p_columns, p_bytes_read   the progress after these items
-- p_done     whether this is the end of the file, which seals the job
-- p_lease_ms for how long the caller has the import from now on, in milliseconds; null gives it back
-- returns    NOTED, LOST if another server has the import or its tree is gone, or SEALED if the job accepts no more items, which ends the
--            import; and the tree's root and the job's type
-- locks      the import's row, then the job's as lock_open_job does, and those of bury_items
-- errors     22P05 for a text that Postgres can't store
create or replace function jobtree.note_import(
  p_job_id uuid, p_lease_id uuid, p_payloads text, p_bad integer[], p_codes text[], p_problems text[], p_position bigint, p_line bigint, p_columns jsonb,
  p_bytes_read bigint, p_done boolean, p_lease_ms integer
)
returns table (status text, root_id uuid, type text)
language plpgsql volatile
-- plans: no seqscan; generic
as $$
#variable_conflict use_column
declare
  v_now constant timestamptz(3) := clock_timestamp();
  v_payloads constant text[] := string_to_array(p_payloads, E'\x1e');
  v_count constant integer := coalesce(cardinality(v_payloads), 0);
  v_position bigint;
  v_is_further boolean;
  v_job jobtree.job;
  v_run record;
  v_positions bigint[];
  v_bad jobtree.dead_item[];
begin
  select f.position into v_position from jobtree.file_import f
  where f.job_id = p_job_id and f.lease_id = p_lease_id
  for update;
  if not found then
    return query select 'LOST', null::uuid, null::text;
    return;
  end if;
  v_job := jobtree.lock_open_job(p_job_id, p_done, true);
  if v_job.sealed_at is not null then
    update jobtree.file_import f
    set finished_at = v_now, lease_id = null, leased_until = null, error_code = 'JOB_SEALED',
      error_message = 'The job was sealed or cancelled before all of the file was read.'
    where f.job_id = p_job_id;
    return query select 'SEALED', v_job.root_id, v_job.type;
    return;
  end if;

  if v_count > 0 and p_bad = '{}' then
    perform jobtree.insert_payloads(v_job, v_payloads);
  else
    -- Alternating runs of good and of bad lines.
    for v_run in
      select min(n) as first, max(n) as last, is_bad
      from (
        select n, is_bad, n - row_number() over (partition by is_bad order by n) as run
        from (select n, n = any (p_bad) as is_bad from generate_series(1, v_count) n) m
      ) r
      group by run, is_bad
      order by min(n)
    loop
      if v_run.is_bad then
        -- Items that no worker sees, each with a failure and a dead letter. They can be replayed with a corrected payload.
        v_positions := jobtree.positions_from(
          array(select nextval('jobtree.block_seq') * 1024 from generate_series(v_run.first, v_run.last, 1024)), v_run.last - v_run.first + 1
        );
        with bad as materialized (
          select i.position, i.payload::json, u.code, u.problem
          from unnest(v_positions, v_payloads[v_run.first : v_run.last]) with ordinality i(position, payload, n)
          join unnest(p_bad, p_codes, p_problems) u(n, code, problem) on u.n = i.n + v_run.first - 1
        ), added as (
          insert into jobtree.job_item (job_id, position, created_at, payload_bytes, run_at, payload)
          select p_job_id, b.position, v_now, octet_length(b.payload::text), v_job.run_at, b.payload from bad b
        ), failed as (
          insert into jobtree.failure (job_id, position, attempt, at, lost, code, message)
          select p_job_id, b.position, 1, v_now, false, b.code, b.problem from bad b
        ), counted as (
          insert into jobtree.progress_delta (root_id, job_id, items, bytes)
          select v_job.root_id, p_job_id, count(*), sum(octet_length(b.payload::text)) from bad b
        )
        select array_agg(row(p_job_id, b.position, null, b.code, b.problem)::jobtree.dead_item) into v_bad from bad b;
        perform jobtree.bury_items(v_bad, false);
      else
        perform jobtree.insert_payloads(v_job, v_payloads[v_run.first : v_run.last]);
      end if;
    end loop;
  end if;

  v_is_further := p_position > v_position or p_done;
  update jobtree.file_import f
  set items = f.items + v_count, bad_lines = f.bad_lines + cardinality(p_bad), position = p_position, line = p_line, columns = p_columns,
    bytes_read = greatest(f.bytes_read, p_bytes_read),
    attempts = case when p_position > v_position or p_lease_ms is null then 0 else f.attempts end,
    store_away_at = case when not v_is_further then f.store_away_at end,
    error_code = case when not v_is_further then f.error_code end,
    error_message = case when not v_is_further then f.error_message end,
    lease_id = case when not p_done and p_lease_ms is not null then p_lease_id end,
    -- An import that is given back queues behind those that are waiting.
    leased_until = case when not p_done then v_now + coalesce(p_lease_ms, 0) * interval '1 millisecond' end,
    finished_at = case when p_done then v_now end
  where f.job_id = p_job_id;
  if p_done then
    perform jobtree.seal_job(p_job_id);
  end if;
  return query select 'NOTED', v_job.root_id, v_job.type;
end
$$;
