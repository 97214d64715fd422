/** Reads assignments: each is the n-th item of a lease, and its id is the lease's with n as its last byte. */
import type { Queries } from '../../db/database.ts';
import { assignmentIdOf, itemIdOf, splitAssignmentId } from '../values/ids.ts';
import { JsonText } from '../values/json-text.ts';
import { namesOf } from '../values/tenants.ts';
import type { Assignment } from './assignment.ts';

interface AssignmentRow {
  readonly lease_id: string;
  readonly n: number;
  readonly job_id: string;
  readonly position: number;
  readonly type: string;
  readonly payload: string;
  readonly attempt: number;
  readonly last_numbers: readonly number[] | null;
  readonly worker: string;
  readonly claimed_at: Date;
  readonly heartbeat_at: Date;
  readonly deadline_at: Date;
  readonly heartbeat_interval_ms: number;
  readonly held_ms: number | null;
  readonly keyed: boolean;
  readonly lost: boolean;
}

/**
 * Reads a tenant's assignments by their ids, in one query, in any order, including those of ended leases, as long as these are kept
 * (prune_leases).
 */
export async function readAssignments(
  database: Queries,
  tenant: string | null,
  ids: readonly string[],
): Promise<Assignment[]> {
  const { from, until } = namesOf(tenant);
  const { rows } = await database.pool.query<AssignmentRow>({
    name: 'read_assignments',
    // A heartbeat that named only some items of the lease gave each its own deadline.
    text: `select l.id as lease_id, u.n, i.job_id, i.position, j.type, i.payload::text as payload, l.attempt,
             case when l.attempt > j.max_failures_per_item then
               jobtree.last_attempts(l.job_id, l.position + u.n - 1, 1, l.attempt, j.max_failures_per_item)
             end as last_numbers, l.keyed, l.lost, l.worker, l.claimed_at,
             coalesce(l.deadlines[u.n] - d.patience, l.heartbeat_at) as heartbeat_at,
             coalesce(l.deadlines[u.n], l.heartbeat_at + d.patience) as deadline_at,
             j.heartbeat_interval_ms, case
               when get_bit(l.open, u.n - 1) = 1 and j.cancelled_at is null
                 then greatest(extract(epoch from clock_timestamp() - l.claimed_at) * 1000, 0)::bigint
             end as held_ms
           from unnest($1::uuid[], $2::int[]) as u(lease_id, n)
           join jobtree.lease l on l.id = u.lease_id and u.n between 1 and l.count
           join jobtree.job j on j.id = l.job_id and ($3::text is null or j.type > $3 and j.type < $4)
           join jobtree.job_item i on i.job_id = l.job_id and i.position = l.position + u.n - 1
           cross join lateral (select 3 * j.heartbeat_interval_ms * interval '1 ms' as patience) d`,
    values: [
      ids.map((id) => splitAssignmentId(id).leaseId),
      ids.map((id) => splitAssignmentId(id).number),
      from,
      until,
    ],
  });
  return rows.map((row) => ({
    id: assignmentIdOf(row.lease_id, row.n),
    itemId: itemIdOf({ jobId: row.job_id, position: row.position }),
    jobId: row.job_id,
    type: row.type,
    payload: new JsonText(row.payload),
    attempt: row.attempt,
    lastAttempt: row.last_numbers !== null,
    suspect: row.last_numbers?.includes(-1) ?? false,
    lostBefore: row.lost,
    hasSerializeKey: row.keyed,
    worker: row.worker,
    claimedAt: row.claimed_at,
    heartbeatAt: row.heartbeat_at,
    deadlineAt: row.deadline_at,
    heartbeatIntervalMs: row.heartbeat_interval_ms,
    heldMs: row.held_ms,
  }));
}
