import type { Heartbeat, HeartbeatStatus } from '../engine/batchers.ts';
import type { Engine } from '../engine/engine.ts';
import { checkBatch } from '../values/checks.ts';
import { splitAssignmentId } from '../values/ids.ts';

export type { HeartbeatStatus };

const none: ReadonlySet<string> = new Set();

/** Keeps assignments alive, and tells which of them are no longer held. Those that are not waiting count as started. */
export async function heartbeat(
  engine: Engine,
  assignmentIds: readonly string[],
  waiting = none,
): Promise<HeartbeatStatus[]> {
  checkBatch(assignmentIds.length, 'assignmentIds');
  const heartbeats = assignmentIds.map((id) => ({ assignmentId: id, isWaiting: waiting.has(id) }));
  return engine.batchers.heartbeats.submit(heartbeats, engine);
}

/** The database call, for the assignments of one or several workers: it sends one row per lease, and gets only those no longer held. */
export async function keepLeases(
  engine: Engine,
  heartbeats: readonly Heartbeat[],
): Promise<HeartbeatStatus[]> {
  const assignments = heartbeats.map(({ assignmentId }) => splitAssignmentId(assignmentId));
  const leases = new Map<string, { named: string[]; started: string[] }>();
  for (const [i, { leaseId, number }] of assignments.entries()) {
    if (number === 0) continue;
    let lease = leases.get(leaseId);
    if (lease === undefined) {
      lease = { named: noBits(), started: noBits() };
      leases.set(leaseId, lease);
    }
    lease.named[number - 1] = '1';
    if (!heartbeats[i]?.isWaiting) lease.started[number - 1] = '1';
  }
  const masks = [...leases.values()];
  const rows = await engine.database.callForLeases<{
    lease_id: string;
    number: number;
    status: HeartbeatStatus;
  }>(
    'keep_leases',
    [...leases.keys()],
    masks.map(({ named }) => named.join('')),
    masks.map(({ started }) => started.join('')),
  );
  const ended = new Map(rows.map((row) => [`${row.lease_id}/${row.number}`, row.status]));
  return assignments.map(({ leaseId, number }) =>
    number === 0 ? 'LOST' : (ended.get(`${leaseId}/${number}`) ?? 'HELD'),
  );
}

const noBits = () => new Array<string>(128).fill('0');
