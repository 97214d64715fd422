import { ItemNotClaimableError } from '../../errors.ts';
import type { Engine } from '../engine/engine.ts';
import { checkName } from '../values/checks.ts';
import type { ItemKey } from '../values/ids.ts';
import { maxNameLength } from '../values/limits.ts';
import { type Assignment, countClaim, type LeaseRow, logClaims, toAssignments } from './assignment.ts';
import { keepReadable } from './keep-readable.ts';

/** Claims one given item, regardless of what waits before it. @throws ItemNotClaimableError with the reason if it can't be claimed */
export async function claimItem(
  engine: Engine,
  { jobId, position }: ItemKey,
  worker: string,
): Promise<Assignment> {
  checkName(worker, 'worker', maxNameLength);
  const [row] = await engine.database.call<LeaseRow>(
    'claim_item',
    jobId,
    position,
    worker,
    engine.durableClaims,
  );
  if (row === undefined) throw new Error('claim_item returned no row');
  engine.effects.started(row.root_id);
  countClaim(engine.figures, row, 1);
  const [assignment] = await keepReadable(engine, toAssignments(row));
  if (assignment === undefined)
    throw new ItemNotClaimableError(
      'The payload is nested too deeply: the item has failed.',
      'itemId',
      'FAILED',
    );
  logClaims(engine, [assignment]);
  return assignment;
}
