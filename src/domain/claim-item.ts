import { type Assignment, type HeldRow, logClaims, toAssignments } from './assignment.ts';
import { checkText } from './checks.ts';
import type { Engine } from './engine.ts';
import { maxNameLength } from './limits.ts';

/** Claims one named item, whatever waits before it; an ItemNotClaimableError says why it can't. */
export async function claimItem(engine: Engine, itemId: string, worker: string): Promise<Assignment> {
  checkText(worker, 'worker', maxNameLength);
  const [row] = await engine.database.call<HeldRow>('claim_item', itemId, worker);
  if (row === undefined) throw new Error('claim_item returned no row');
  engine.effects.touched(row.root_id);
  const assignments = toAssignments([row], worker);
  logClaims(engine, assignments);
  return assignments[0] as Assignment;
}
