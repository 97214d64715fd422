import type { Engine } from '../engine/engine.ts';
import type { HeartbeatStatus } from '../engine/merged.ts';
import { checkBatch } from '../values/checks.ts';
import { splitAssignmentId } from '../values/ids.ts';

export type { HeartbeatStatus };

/** Keeps assignments alive, and tells which of them are no longer held. */
export async function heartbeat(
  engine: Engine,
  assignmentIds: readonly string[],
): Promise<HeartbeatStatus[]> {
  checkBatch(assignmentIds.length, 'assignmentIds');
  return engine.merged.heartbeats.submit([...assignmentIds], engine);
}

/** The database call, for the assignments of one or several workers: it sends one row per lease, and gets only those no longer held. */
export async function keepLeases(
  engine: Engine,
  assignmentIds: readonly string[],
): Promise<HeartbeatStatus[]> {
  const assignments = assignmentIds.map(splitAssignmentId);
  const named = new Map<string, string[]>();
  for (const { leaseId, number } of assignments) {
    if (number === 0) continue;
    let bits = named.get(leaseId);
    if (bits === undefined) {
      bits = new Array<string>(128).fill('0');
      named.set(leaseId, bits);
    }
    bits[number - 1] = '1';
  }
  const rows = await engine.database.callForLeases<{
    lease_id: string;
    number: number;
    status: HeartbeatStatus;
  }>(
    'keep_leases',
    [...named.keys()],
    [...named.values()].map((bits) => bits.join('')),
  );
  const ended = new Map(rows.map((row) => [`${row.lease_id}/${row.number}`, row.status]));
  return assignments.map(({ leaseId, number }) =>
    number === 0 ? 'LOST' : (ended.get(`${leaseId}/${number}`) ?? 'HELD'),
  );
}
