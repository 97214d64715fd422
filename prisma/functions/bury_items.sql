-- Lets items fail for good: writes their outcomes and their dead letters, and counts them.
--
-- p_job_ids, p_positions   the items, each once, which are in no entry and in no open lease any more
-- p_lease_ids  what each was held under; null for what no worker has started
-- p_codes, p_messages      the last failure of each
-- locks      none
create or replace function jobtree.bury_items(
  p_job_ids uuid[], p_positions bigint[], p_lease_ids uuid[], p_codes text[], p_messages text[]
)
returns void
language sql volatile
set enable_seqscan = off
set enable_hashjoin = off
set enable_mergejoin = off
set enable_bitmapscan = off
set plan_cache_mode = force_generic_plan
as $$
  with dead as materialized (
    select u.job_id, u.position, u.lease_id, clock_timestamp()::timestamptz(3) as at, u.code, jobtree.message_pattern(u.message) as pattern,
      j.root_id, j.type
    from unnest(p_job_ids, p_positions, p_lease_ids, p_codes, p_messages) u(job_id, position, lease_id, code, message)
    cross join lateral (select j.root_id, j.type from jobtree.job j where j.id = u.job_id offset 0) j
  ), failed as (
    insert into jobtree.outcome (job_id, position, lease_id, finished_at, failed)
    select d.job_id, d.position, d.lease_id, d.at, true from dead d
  ), kept as (
    insert into jobtree.dead_letter (job_id, position, type, died_at, code, pattern, fingerprint)
    select d.job_id, d.position, d.type, d.at, d.code, d.pattern, jobtree.fingerprint(d.type, d.code, d.pattern) from dead d
  )
  insert into jobtree.progress_delta (root_id, job_id, failed)
  select d.root_id, d.job_id, count(*) from dead d group by d.root_id, d.job_id
$$;
