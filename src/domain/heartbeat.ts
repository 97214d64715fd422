import { checkBatch } from './checks.ts';
import type { Engine } from './engine.ts';

export type HoldStatus = 'HELD' | 'FINISHED' | 'LOST' | 'CANCELLED';

/** Keeps holds alive, and says which are none any more. */
export async function heartbeat(engine: Engine, assignmentIds: readonly string[]): Promise<HoldStatus[]> {
  checkBatch(assignmentIds.length, 'assignmentIds');
  return engine.merged.heartbeats.submit([...assignmentIds]);
}

/** The call itself, for the holds of one or several workers. */
export async function beat(engine: Engine, assignmentIds: readonly string[]): Promise<HoldStatus[]> {
  const rows = await engine.database.call<{ status: HoldStatus }>('heartbeat', assignmentIds);
  return rows.map((row) => row.status);
}
