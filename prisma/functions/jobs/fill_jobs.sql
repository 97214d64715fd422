-- Gives new jobs their counters, and the plain items that they start with: the items and their queue entries.
--
-- p_job_ids, p_numbers   the jobs, all of each tree, and their places in the call
-- p_payloads, p_owners, p_counted   as insert_jobs takes them; the payloads of other jobs are left out
create or replace function jobtree.fill_jobs(p_job_ids uuid[], p_numbers integer[], p_payloads text[], p_owners integer[], p_counted boolean)
returns void
language plpgsql volatile
-- plans: no seqscan, nestloop; generic
as $$
declare
  v_now constant timestamptz(3) := clock_timestamp();
  -- The items of a job are contiguous within a block, and jobs share blocks.
  v_blocks constant bigint[] := array(select nextval('jobtree.block_seq') * 1024 from generate_series(1, cardinality(p_payloads), 1024));
begin
  with job as materialized (
    select u.number, j.id, j.root_id, j.type, j.priority, j.run_at, j.sealed_at is not null as is_sealed,
      -- While the job waits for others nothing is due, until release_items examines it again.
      case when j.waits then 'infinity' when j.run_at > v_now then j.run_at end as due_at, count(*) over (partition by j.root_id) as jobs
    from unnest(p_job_ids, p_numbers) u(id, number)
    cross join lateral (select j.* from jobtree.job j where j.id = u.id offset 0) j
  ), item as (
    insert into jobtree.job_item (job_id, position, created_at, payload_bytes, run_at, payload)
    select j.id, v_blocks[(p.n - 1) / 1024 + 1] + (p.n - 1) % 1024, v_now, octet_length(p.payload), j.run_at, p.payload::json
    from unnest(p_payloads, p_owners) with ordinality p(payload, owner, n)
    join job j on j.number = p.owner
    returning job_id, position, payload_bytes
  ), placed as (
    select i.*, i.position - min(i.position) over block as n, jobtree.entry_size(max(i.payload_bytes) over block) as size
    from item i
    window block as (partition by i.job_id, i.position / 1024)
  ), queued as (
    insert into jobtree.queue_entry (job_id, position, place, bytes, run_at, attempt, count, priority, type)
    select j.id, e.position, e.position, e.bytes, j.due_at, 1, e.count, j.priority, j.type
    from (
      select p.job_id, min(p.position) as position, sum(p.payload_bytes) as bytes, count(*) as count
      from placed p
      group by p.job_id, p.position / 1024, p.n / p.size
    ) e
    join job j on j.id = e.job_id
  ), filled as materialized (
    select j.*, coalesce(s.items, 0) as items, coalesce(s.bytes, 0) as bytes
    from job j
    left join (select i.job_id, count(*) as items, sum(i.payload_bytes) as bytes from item i group by i.job_id) s on s.job_id = j.id
  ), counted as (
    insert into jobtree.job_progress (job_id, version, is_root, sealed, open_jobs, item_count, bytes)
    select f.id, 0, f.id = f.root_id, f.is_sealed, case when f.id = f.root_id then f.jobs else 0 end,
      case when p_counted then f.items else 0 end, case when p_counted then f.bytes else 0 end
    from filled f
  ), left_to_folds as (
    insert into jobtree.progress_delta (root_id, job_id, items, bytes)
    select f.root_id, f.id, f.items, f.bytes from filled f where not p_counted and (f.items > 0 or f.is_sealed)
  )
  insert into jobtree.stored_delta (tenant, items, bytes)
  select t.tenant, sum(t.items), sum(t.bytes)
  from (
    select jobtree.tenant_of(f.type) as tenant, sum(f.items) as items, sum(f.bytes) as bytes from filled f where p_counted group by f.type
  ) t
  group by t.tenant;
end
$$;
