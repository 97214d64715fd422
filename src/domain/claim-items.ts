/** Claims items for workers, by type; claims that arrive together go to the database as one. */
import { InvalidInputError } from '../errors.ts';
import { type Assignment, type HeldRow, logClaims, toAssignments } from './assignment.ts';
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
  const taken = rows.flatMap(({ type, items }) =>
    items.position.map((position, i) => ({ type, priority: items.priority[i] as number, position })),
  );
  engine.lowWater.learn({ types, lanes, taken, startedAt, endedAt: performance.now() });
  for (const rootId of new Set(rows.map((row) => row.root_id))) engine.effects.touched(rootId);
  tellClaimed(engine, wants, rows, startedAt);

  const only = wants.length === 1 ? wants[0] : undefined;
  if (only !== undefined) return [toAssignments(rows, only.worker)];
  const byType = groupByType(toAssignments(rows, ''));
  // As claim_items gave them out: of one type, who asked first has what goes first.
  return wants.map(({ worker, type, limit }) =>
    (byType.get(type) ?? []).splice(0, limit).map((assignment) => ({ ...assignment, worker })),
  );
}

/** Tells, for each type, how much was taken, and whether less than was asked for. */
function tellClaimed(
  engine: Engine,
  wants: readonly Want[],
  rows: readonly HeldRow[],
  startedAt: number,
): void {
  const asked = new Map<string, number>();
  for (const { type, limit } of wants) asked.set(type, (asked.get(type) ?? 0) + limit);
  const taken = new Map<string, number>();
  for (const { type, items } of rows) taken.set(type, (taken.get(type) ?? 0) + items.position.length);
  for (const [type, count] of asked) {
    const got = taken.get(type) ?? 0;
    engine.effects.claimed(type, got, got < count, startedAt);
  }
}

function groupByType(assignments: readonly Assignment[]): Map<string, Assignment[]> {
  const byType = new Map<string, Assignment[]>();
  for (const assignment of assignments) {
    const list = byType.get(assignment.type);
    if (list === undefined) byType.set(assignment.type, [assignment]);
    else list.push(assignment);
  }
  return byType;
}
