/**
 * What every operation needs: the database, the limits, and effects, which tell others what it did. An operation never waits for
 * them: they are hints, and a lost one costs only time.
 */

import type { Owner } from '../../concurrency/fair-queue.ts';
import type { FairSemaphore, Request } from '../../concurrency/fair-semaphore.ts';
import type { Database, Queries } from '../../db/database.ts';
import type { CallerLimits } from '../access/rights.ts';
import type { Stored, StoredUse, Storer } from '../access/stored.ts';
import type { CallbackEngine } from '../callbacks/endpoints.ts';
import type { Figures } from '../figures/figures.ts';
import type { SlowAfter } from '../figures/slow-items.ts';
import type { Workers } from '../figures/workers.ts';
import type { TypeSchemas } from '../types/type-schemas.ts';
import type { Limits } from '../values/limits.ts';
import type { Batchers, ClaimRequest, Given } from './batchers.ts';
import type { FailureLog } from './failure-log.ts';
import type { LowWater } from './low-water.ts';

/** A claim that waits for work, or may do so soon. */
export interface WaitingClaim {
  readonly types: ReadonlySet<string>;
  /** There may be this many items of the type for it. Returns for how many of them it looks at once. */
  offer(type: string, items: number): number;
}

/** Requests, and what each of them got. */
export interface Answered {
  readonly requests: readonly ClaimRequest[];
  readonly given: readonly Given[];
}

export interface ParkOptions {
  readonly waitMs: number;
  /**
   * From now on the operation only waits. Calls back when its caller has left or lost its right, and returns a function to call when it goes on;
   * undefined if the caller has too many that wait.
   */
  readonly park: (onGone: () => void) => (() => void) | undefined;
}

/** Where claims wait for work: see `parked-claims.ts`. */
export interface ClaimPark {
  /** How many claims wait. */
  readonly count: number;
  /** `look` sends the claim for the first time. */
  claim(
    engine: Engine,
    requests: ClaimRequest[],
    options: ParkOptions,
    look: () => Promise<readonly Given[]>,
  ): Promise<Answered>;
  /** Ends the waiting of a claim that these requests repeat: its worker waits for the new answer. */
  endRepeated(requests: readonly ClaimRequest[]): void;
  /** Answers all that wait, and waits for those that are being sent. */
  close(): Promise<void>;
}

export interface Effects {
  /** The tree has deltas to fold; with `fromStart`, possibly also some that committed late. */
  touched(rootId: string, fromStart?: boolean): void;
  /** A job of the tree may have started. */
  started(rootId: string): void;
  /** Up to this many items of each type may have become claimable. */
  ready(counts: ReadonlyMap<string, number>): void;
  /** A claim that began at `startedAt` (monotonic clock) took this many items of the type, and with `dry` left none. */
  claimed(type: string, taken: number, dry: boolean, startedAt: number): void;
  /** A claim found that the queue of the type has no more room; look again after this many milliseconds. */
  limited(type: string, againInMs: number): void;
  /** Until the returned function is called, the claim is offered what may become claimable of its types. */
  awaited(claim: WaitingClaim): () => void;
  /** A cancellation, a deletion or an operation has more to do than its call did. */
  unfinished(): void;
  /** A job with a file was created. */
  importable(): void;
}

/** The retention of trees that don't set their own; null for never. */
export interface RetentionPolicy {
  readonly retentionSeconds: number | null;
  /** How long a tree must be idle before it is shown as idle. */
  readonly idleSeconds: number;
  readonly idleExpirySeconds: number | null;
}

/** The engine of a request also has its owner. */
export interface Engine<Source extends Queries = Queries> extends Owner, CallbackEngine {
  readonly database: Source;
  readonly limits: Limits;
  readonly effects: Effects;
  /** Whether payloads and results may appear in the log. */
  readonly logPayloads: boolean;
  /** Whether a claim that was answered survives a crash of Postgres. */
  readonly durableClaims: boolean;
  /** Of trees that don't set their own. */
  readonly retention: RetentionPolicy;
  readonly lowWater: LowWater;
  readonly schemas: TypeSchemas;
  /** The figures that this server collects for each type. */
  readonly figures: Figures;
  readonly failureLog: FailureLog;
  /** After how long an item that a worker has is slow. */
  readonly slowAfter: SlowAfter;
  /** What tenants store, and how much they may store. */
  readonly stored: StoredUse;
  readonly workers: Workers;
  readonly batchers: Batchers;
  /** For a request: whether its client has gone, so that nobody waits for the answer. */
  readonly isGone?: (() => boolean) | undefined;
  /** For a request: the limits of its caller. */
  readonly callerLimits?: CallerLimits | undefined;
  /** Claims that wait for work. */
  readonly parkedClaims: ClaimPark;
  /** Limits how many large trees are created at once. */
  readonly largeTrees: FairSemaphore;
  /** Claims under way that have an id, and so may be repeated. */
  readonly claimsUnderWay: Map<string, Promise<unknown>>;
}

/** The engine for one request: calls that still wait for their turn are dropped once the client has gone. */
export function forRequest(
  engine: Engine<Database>,
  { tenant, account, isGone, limits }: Request & Storer,
): Engine {
  const request = { tenant, account, isGone };
  return { ...engine, ...request, callerLimits: limits, database: engine.database.forRequest(request) };
}

/** @throws StorageLimitError if the caller of the request may not store this much more. */
export function checkRoom({ stored, tenant, callerLimits }: Engine, more: Stored): Promise<void> | undefined {
  return stored.check({ tenant, limits: callerLimits }, more);
}

/** How often each type occurs. */
export function countTypes(types: Iterable<string>): Map<string, number> {
  const counts = new Map<string, number>();
  for (const type of types) counts.set(type, (counts.get(type) ?? 0) + 1);
  return counts;
}
