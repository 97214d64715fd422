/** Claims items for workers, by type; claims that arrive together go to the database as one. */
import { InvalidInputError } from '../../errors.ts';
import type { ClaimRequest, Given } from '../engine/batchers.ts';
import type { Engine, ParkOptions } from '../engine/engine.ts';
import { checkBatch, checkClaimId, checkInteger, checkName } from '../values/checks.ts';
import { maxBatch, maxNameLength, maxWaitMs } from '../values/limits.ts';
import { askAgain } from './ask-again.ts';
import { type Assignment, countClaim, type LeaseRow, logClaims, toAssignments } from './assignment.ts';
import { keepReadable } from './keep-readable.ts';

export type { ClaimRequest };

/**
 * What a worker got, and the types that may have more items for it when one of its items ends: those whose queues are paused or
 * at a limit, or whose items have serialize keys.
 */
export interface Claimed {
  readonly assignments: readonly Assignment[];
  readonly limitedTypes: readonly string[];
}

/** What a worker asks for: how many items of a type, and how many of them it starts at once; all, if it does not say. */
export interface RequestedItems {
  readonly type: string;
  readonly limit: number;
  readonly starts?: number | null | undefined;
}

/** If a claim with this `claimId` was carried out before, returns what it got then, and nothing new. */
export async function claimItems(
  engine: Engine,
  worker: string,
  requests: readonly RequestedItems[],
  claimId?: string | null,
): Promise<readonly Assignment[]> {
  return (await claim(engine, worker, requests, claimId)).assignments;
}

export const noWait: ParkOptions = { waitMs: 0, park: () => undefined };

/** Like `claimItems`, but also returns the limited types, and may wait until there is something. */
export async function claim(
  engine: Engine,
  worker: string,
  requests: readonly RequestedItems[],
  claimId?: string | null,
  parking = noWait,
): Promise<Claimed> {
  const entries = checkRequests(worker, requests, claimId);
  checkInteger(parking.waitMs, 'waitMs', 0, maxWaitMs);
  const answered = await engine.parkedClaims.claim(engine, entries, parking, () =>
    inTurn(engine.claimsUnderWay, entries, async () =>
      askAgain(engine, entries, await engine.batchers.claims.submit(entries, engine, engine.isGone)),
    ),
  );
  return toClaimed(engine, answered.requests, answered.given);
}

export async function toClaimed(
  engine: Engine,
  requests: readonly ClaimRequest[],
  given: readonly Given[],
): Promise<Claimed> {
  const [first, ...rest] = given;
  const all = rest.length === 0 ? first?.assignments : given.flatMap(({ assignments }) => assignments);
  const assignments = await keepReadable(engine, all ?? []);
  logClaims(engine, assignments);
  const limitedTypes = requests.flatMap(({ type }, i) =>
    given[i]?.limit !== undefined || given[i]?.isKeyed ? type : [],
  );
  return { assignments, limitedTypes: [...new Set(limitedTypes)] };
}

export function checkRequests(
  worker: string,
  requests: readonly RequestedItems[],
  claimId: string | null | undefined,
): ClaimRequest[] {
  checkName(worker, 'worker', maxNameLength);
  checkBatch(requests.length, 'requests');
  const id = claimId == null ? undefined : checkClaimId(claimId);
  let total = 0;
  const entries = requests.map(({ type, limit, starts = null }, i): ClaimRequest => {
    checkName(type, `requests[${i}].type`, maxNameLength);
    total += checkInteger(limit, `requests[${i}].limit`, 1, maxBatch);
    if (starts !== null) checkInteger(starts, `requests[${i}].starts`, 0, maxBatch);
    return { worker, type, limit, starts, claimId: id };
  });
  if (total > maxBatch) {
    throw new InvalidInputError(
      `requests asks for ${total} items; the limit is ${maxBatch} a call.`,
      'requests',
    );
  }
  return entries;
}

/** If a claim with the same id is still under way, a repeat waits for it, and so returns what it got. */
export async function inTurn<T>(
  underWay: Map<string, Promise<unknown>>,
  [request]: readonly ClaimRequest[],
  claim: () => Promise<T>,
): Promise<T> {
  const id = request?.claimId;
  if (id === undefined) return claim();
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

export interface ClaimedRow extends LeaseRow {
  /**
   * - CUT: there was more, but too much for one answer.
   * - LOCKED: another transaction has locked the rest; the row may have no lease.
   * - REPEATED: what the claim got before.
   *
   * For a type, in a row without a lease:
   * - LIMITED: its queue has no more room.
   * - TAKEN: another claim is deciding about it at this moment.
   * - KEYED: it gave items with serialize keys.
   */
  readonly kind: 'NEW' | 'CUT' | 'LOCKED' | 'REPEATED' | 'LIMITED' | 'TAKEN' | 'KEYED';
}

/** The database call, for the requests of one or several workers. */
export async function claimForRequests(engine: Engine, requests: readonly ClaimRequest[]): Promise<Given[]> {
  const claim = beginClaim(engine, requests);
  const rows = await engine.database.call<ClaimedRow>('claim_items', ...claim.values, engine.durableClaims);
  const { answers, tell } = claim.take(rows);
  tell();
  return answers;
}

/** The arguments of claim_items for these requests, and a function that handles its rows. */
export function beginClaim(engine: Engine, requests: readonly ClaimRequest[]) {
  const types = requests.map((request) => request.type);
  const startedAt = performance.now();
  const since = engine.lowWater.now();
  const ranges = engine.lowWater.ranges(types);
  const values = [
    requests.map((request) => request.worker),
    types,
    requests.map((request) => request.limit),
    requests.some(({ claimId }) => claimId !== undefined) ? requests.map(({ claimId }) => claimId) : [],
    ranges.map((range) => range.type),
    ranges.map((range) => range.high),
    ranges.map((range) => range.low),
    ranges.map((range) => range.place),
    requests.some(({ starts }) => starts != null) ? requests.map(({ starts = null }) => starts) : [],
  ];

  /** Returns what each request got, the types of which the claim saw nothing left, and a function that tells others of the claim. */
  function take(rows: readonly ClaimedRow[]) {
    const { leases, limits, keyed, kind } = sortRows(rows);
    for (const rootId of new Set(leases.map((row) => row.root_id))) engine.effects.started(rootId);
    for (const { lease_id: id, type } of leases) if (id !== null) engine.schemas.recordLease(id, type);
    const given = leases.map((row) => ({ ...row, assignments: toAssignments(row) }));
    const assignments = types.map((): Assignment[] => []);
    for (const lease of given) assignments[lease.request - 1]?.push(...lease.assignments);
    const answers = requests.map(({ type }, i): Given => {
      const row = limits.get(type);
      const got = assignments[i] as Assignment[];
      return {
        assignments: got,
        limit: row?.kind as Given['limit'],
        isStarved: kind === 'CUT' && got.length === 0,
        isKeyed: keyed.has(type) && got.length > 0,
        againInMs: row === undefined ? 0 : againInMs(row),
      };
    });
    // A repeated claim is never merged, so all of it is for one worker, whatever that asks for now.
    if (kind === 'REPEATED') return { answers, emptied: new Set<string>(), tell: () => {} };

    for (const row of given) countClaim(engine.figures, row, row.assignments.length);
    learn(engine, given, since);
    const isShort = kind === 'CUT' || kind === 'LOCKED';
    const sums = sumUp(requests, answers, limits);
    const tell = () => {
      tellClaimed(engine, sums, { startedAt, isShort, limits });
      if (kind === 'CUT') engine.effects.ready(sums.unmet);
      if (kind === 'LOCKED') for (const type of sums.unmet.keys()) engine.lowWater.locked(type);
    };
    return { answers, emptied: new Set(isShort ? [] : sums.unmet.keys()), tell };
  }

  return { values, take };
}

/** The rows that are leases, and what the others say: of the claim, or of a type. */
function sortRows(rows: readonly ClaimedRow[]) {
  const limits = new Map<string, ClaimedRow>();
  const keyed = new Set<string>();
  let kind: ClaimedRow['kind'] | undefined;
  const leases: ClaimedRow[] = [];
  for (const row of rows) {
    if (row.lease_id !== null) leases.push(row);
    if (row.kind === 'LIMITED' || row.kind === 'TAKEN') limits.set(row.type, row);
    else if (row.kind === 'KEYED') keyed.add(row.type);
    else kind = row.kind;
  }
  return { leases, limits, keyed, kind };
}

const againInMs = ({ claimed_at: now, deadline_at: at }: ClaimedRow) => at.getTime() - now.getTime();

interface GivenLease extends LeaseRow {
  readonly assignments: readonly Assignment[];
}

/** The next claim starts behind what this one took, or at the rest that it left of an entry. */
function learn(engine: Engine, leases: readonly GivenLease[], since: number): void {
  const last = new Map<string, GivenLease>();
  for (const row of leases) {
    const key = `${row.priority}/${row.type}`;
    if (row.place >= (last.get(key)?.place ?? 0)) last.set(key, row);
  }
  for (const { type, priority, place: first, assignments, has_rest } of last.values()) {
    const place = first + assignments.length;
    engine.lowWater.learn({ type, priority, place }, since);
    if (has_rest) engine.lowWater.left({ type, priority, place });
  }
}

interface Sums {
  readonly taken: ReadonlyMap<string, number>;
  /** How many items are missing, by type, if not for want of room in the queue. */
  readonly unmet: ReadonlyMap<string, number>;
}

function sumUp(
  requests: readonly ClaimRequest[],
  answers: readonly Given[],
  limits: ReadonlyMap<string, ClaimedRow>,
): Sums {
  const taken = new Map<string, number>();
  const unmet = new Map<string, number>();
  for (const [i, { type, limit }] of requests.entries()) {
    const got = answers[i]?.assignments.length ?? 0;
    taken.set(type, (taken.get(type) ?? 0) + got);
    if (got < limit && !limits.has(type)) unmet.set(type, (unmet.get(type) ?? 0) + limit - got);
  }
  return { taken, unmet };
}

/** Tells, for each type, how many items were taken, and whether there were no more. */
function tellClaimed(
  engine: Engine,
  { taken, unmet }: Sums,
  claim: { startedAt: number; isShort: boolean; limits: ReadonlyMap<string, ClaimedRow> },
): void {
  for (const [type, got] of taken) {
    const limit = claim.limits.get(type);
    if (limit === undefined)
      engine.effects.claimed(type, got, unmet.has(type) && !claim.isShort, claim.startedAt);
    else if (limit.kind === 'LIMITED') engine.effects.limited(type, againInMs(limit));
  }
}
