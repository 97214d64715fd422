/** Claims items for workers, by type; claims that arrive together go to the database as one. */
import { InvalidInputError } from '../errors.ts';
import { type Assignment, type HeldRow, logClaims, toAssignments } from './assignment.ts';
import { checkBatch, checkClaimId, checkInteger, checkText } from './checks.ts';
import type { Engine } from './engine.ts';
import { maxBatch, maxNameLength } from './limits.ts';

export interface Want {
  readonly worker: string;
  readonly type: string;
  readonly limit: number;
  /** The claim that it belongs to, if that may be repeated, and what the wants before it there ask for. */
  readonly claim?: { readonly id: string; readonly before: number } | undefined;
}

/** With a `claimId`, a claim that was carried out before gives what it got then, and nothing new. */
export async function claimItems(
  engine: Engine,
  worker: string,
  wants: readonly { readonly type: string; readonly limit: number }[],
  claimId?: string | null,
): Promise<Assignment[]> {
  checkText(worker, 'worker', maxNameLength);
  checkBatch(wants.length, 'wants');
  const id = claimId == null ? undefined : checkClaimId(claimId);
  let total = 0;
  const entries = wants.map(({ type, limit }, i): Want => {
    const before = total;
    checkText(type, `wants[${i}].type`, maxNameLength);
    total += checkInteger(limit, `wants[${i}].limit`, 1, maxBatch);
    return { worker, type, limit, claim: id === undefined ? undefined : { id, before } };
  });
  if (total > maxBatch) {
    throw new InvalidInputError(`wants asks for ${total} items; the limit is ${maxBatch} a call.`, 'wants');
  }
  const claim = () => engine.merged.claims.submit(entries);
  const claimed = await (id === undefined ? claim() : inTurn(engine.claimsUnderWay, id, claim));
  const assignments = claimed.flat();
  logClaims(engine, assignments);
  return assignments;
}

/** A repeat that comes while the claim is still under way waits for it, and so finds what it got. */
async function inTurn<T>(
  underWay: Map<string, Promise<unknown>>,
  id: string,
  claim: () => Promise<T>,
): Promise<T> {
  for (let first = underWay.get(id); first !== undefined; first = underWay.get(id)) {
    await first.catch(() => {});
  }
  const running = claim();
  underWay.set(id, running);
  try {
    return await running;
  } finally {
    underWay.delete(id);
  }
}

interface ClaimedRow extends HeldRow {
  /** CUT: there was more, which was too much for one answer. REPEATED: what the claim got before. */
  readonly kind: 'NEW' | 'CUT' | 'REPEATED';
}

/** The call itself: the wants of one or several workers. */
export async function claimForWants(engine: Engine, wants: readonly Want[]): Promise<Assignment[][]> {
  const types = wants.map((want) => want.type);
  const startedAt = performance.now();
  const lanes = engine.lowWater.lanes(types, startedAt);
  const repeatable = wants.some(({ claim }) => claim !== undefined);
  const rows = await engine.database.call<ClaimedRow>(
    'claim_items',
    wants.map((want) => want.worker),
    types,
    wants.map((want) => want.limit),
    lanes.map((lane) => lane.type),
    lanes.map((lane) => lane.priority),
    lanes.map((lane) => lane.from),
    repeatable ? wants.map(({ claim }) => claim?.id) : [],
    repeatable ? wants.map(({ claim }) => claim?.before) : [],
  );
  for (const rootId of new Set(rows.map((row) => row.root_id))) engine.effects.touched(rootId);
  const kind = rows[0]?.kind;
  // It went alone, so all of it is for one worker, whatever that wants now.
  if (kind === 'REPEATED') return wants.map(({ worker }, i) => (i === 0 ? toAssignments(rows, worker) : []));

  const taken = rows.flatMap(({ type, items }) =>
    items.position.map((position, i) => ({ type, priority: items.priority[i] as number, position })),
  );
  engine.lowWater.learn({ types, lanes, taken, startedAt, endedAt: performance.now() });
  const isCut = kind === 'CUT';
  tellClaimed(engine, wants, rows, startedAt, isCut);
  const answers = handOut(wants, rows);
  if (isCut) {
    const unmet = new Map<string, number>();
    for (const [i, { type, limit }] of wants.entries()) {
      const left = limit - (answers[i]?.length ?? 0);
      if (left > 0) unmet.set(type, (unmet.get(type) ?? 0) + left);
    }
    for (const type of unmet.keys()) engine.lowWater.returned(type);
    engine.effects.ready(unmet);
  }
  return answers;
}

/** As claim_items gave them out: of one type, who asked first has what goes first. */
function handOut(wants: readonly Want[], rows: readonly HeldRow[]): Assignment[][] {
  const only = wants.length === 1 ? wants[0] : undefined;
  if (only !== undefined) return [toAssignments(rows, only.worker)];
  const byType = groupByType(toAssignments(rows, ''));
  return wants.map(({ worker, type, limit }) =>
    (byType.get(type) ?? []).splice(0, limit).map((assignment) => ({ ...assignment, worker })),
  );
}

/** Tells, for each type, how much was taken, and whether there was no more. */
function tellClaimed(
  engine: Engine,
  wants: readonly Want[],
  rows: readonly HeldRow[],
  startedAt: number,
  isCut: boolean,
): void {
  const asked = new Map<string, number>();
  for (const { type, limit } of wants) asked.set(type, (asked.get(type) ?? 0) + limit);
  const taken = new Map<string, number>();
  for (const { type, items } of rows) taken.set(type, (taken.get(type) ?? 0) + items.position.length);
  for (const [type, count] of asked) {
    const got = taken.get(type) ?? 0;
    engine.effects.claimed(type, got, got < count && !isCut, startedAt);
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
