/** Finished jobs, written directly into jobtree's tables as the work would have left them. */
import type pg from 'pg';
import { inFlight } from './in-flight.ts';

export const itemsPerJob = 100;
const jobsPerCall = 1_000;

/**
 * $1 is the number of the first job, $2 that of the last. An id is a UUID of version 7 that ends with the number of its job; that
 * of a lease has one more byte, which numbers its items. Each job has a block of positions of its own.
 */
const fill = `
  with numbered as materialized (
    select n, clock_timestamp() as at, nextval('jobtree.block_seq') * 1024 as position,
      lpad(to_hex((extract(epoch from clock_timestamp()) * 1000)::bigint), 12, '0') || '70008000' as prefix
    from generate_series($1::bigint, $2::bigint) n
  ), one as materialized (
    select n.at, n.position, (n.prefix || lpad(to_hex(n.n), 12, '0'))::uuid as id,
      (n.prefix || lpad(to_hex(n.n * 256), 12, '0'))::uuid as lease_id
    from numbered n
  ), jobs as (
    insert into jobtree.job (
      id, root_id, depth, type, priority, max_failures_per_item, backoff_ms, backoff_jitter, heartbeat_interval_ms,
      final_stage, feeds_children, created_at, sealed_at
    )
    select id, id, 0, 'history', 0, 3, '{30000}', 0.1, 60000, true, false, at, at from one
  ), progress as (
    insert into jobtree.job_progress (
      job_id, version, is_root, item_count, succeeded, started_at, completed_at, changed_at
    )
    select id, 1, true, ${itemsPerJob}, ${itemsPerJob}, at, at, at from one
  ), trees as (
    insert into jobtree.tree (root_id, completed_at) select id, at from one
  ), leases as (
    insert into jobtree.lease (
      id, job_id, position, claimed_at, heartbeat_at, attempt, count, priority, open, worker
    )
    select lease_id, id, position, at, at, 1, ${itemsPerJob}, 0, 0::bit(128), 'history' from one
  ), items as (
    insert into jobtree.job_item (job_id, position, created_at, payload_bytes, payload)
    select o.id, o.position + i, o.at, length(p.payload), p.payload::json
    from one o
    cross join generate_series(0, ${itemsPerJob - 1}) i
    cross join lateral (
      select json_build_object(
        'number', i, 'name', 'Item ' || i, 'text', repeat('Lorem ipsum dolor sit amet, consectetur. ', 4)
      )::text as payload
    ) p
  )
  insert into jobtree.outcome (job_id, position, lease_id, finished_at, result)
  select o.id, o.position + i, o.lease_id, o.at, json_build_object('ok', true, 'number', i)
  from one o
  cross join generate_series(0, ${itemsPerJob - 1}) i`;

/** Fills the tables as if this many jobs had been done; with `from`, as many were before. */
export async function fillHistory(pool: pg.Pool, jobs: number, from = 0): Promise<void> {
  await inFlight(Math.ceil((jobs - from) / jobsPerCall), 2, (i) =>
    pool.query(fill, [from + i * jobsPerCall + 1, Math.min(jobs, from + (i + 1) * jobsPerCall)]),
  );
  await pool.query('vacuum analyze');
}
