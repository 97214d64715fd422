/** Claims items for workers, by type; claims that arrive together go to the database as one. */
import { InvalidInputError } from '../errors.ts';
import { type Assignment, type HeldRow, logClaims, toAssignment } from './assignment.ts';
import { checkBatch, checkInteger, checkText } from './checks.ts';
import type { Engine } from './engine.ts';
import { maxBatch, maxNameLength } from './limits.ts';

export interface Want {
  readonly worker: string;
  readonly type: string;
  readonly limit: number;
}

export async function claimItems(
  engine: Engine,
  worker: string,
  wants: readonly { readonly type: string; readonly limit: number }[],
): Promise<Assignment[]> {
  checkText(worker, 'worker', maxNameLength);
  checkBatch(wants.length, 'wants');
  let total = 0;
  for (const [i, want] of wants.entries()) {
    checkText(want.type, `wants[${i}].type`, maxNameLength);
    total += checkInteger(want.limit, `wants[${i}].limit`, 1, maxBatch);
  }
  if (total > maxBatch) {
    throw new InvalidInputError(`wants asks for ${total} items; the limit is ${maxBatch} a call.`, 'wants');
  }
  const claimed = await engine.merged.claims.submit(
    wants.map((want) => ({ worker, type: want.type, limit: want.limit })),
  );
  const assignments = claimed.flat();
  logClaims(engine, assignments);
  return assignments;
}

/** The call itself: the wants of one or several workers. */
export async function claimForWants(engine: Engine, wants: readonly Want[]): Promise<Assignment[][]> {
  const types = wants.map((want) => want.type);
  const startedAt = performance.now();
  const lanes = engine.lowWater.lanes(types, startedAt);
  const rows = await engine.database.call<HeldRow>(
    'claim_items',
    wants.map((want) => want.worker),
    types,
    wants.map((want) => want.limit),
    lanes.map((lane) => lane.type),
    lanes.map((lane) => lane.priority),
    lanes.map((lane) => lane.from),
  );
  engine.lowWater.learn({ types, lanes, taken: rows, startedAt, endedAt: performance.now() });
  for (const rootId of new Set(rows.map((row) => row.root_id))) engine.effects.touched(rootId);

  if (wants.length === 1) return [rows.map(toAssignment)];
  const byWant = new Map<string, HeldRow[]>();
  for (const row of rows) {
    const key = JSON.stringify([row.worker, row.type]);
    const list = byWant.get(key);
    if (list === undefined) byWant.set(key, [row]);
    else list.push(row);
  }
  return wants.map((want) => {
    const list = byWant.get(JSON.stringify([want.worker, want.type])) ?? [];
    return list.splice(0, want.limit).map(toAssignment);
  });
}
