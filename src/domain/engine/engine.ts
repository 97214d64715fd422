/**
 * What every operation needs: the database, the limits, and effects, which tell others what it did. An operation never waits for
 * them: they are hints, and a lost one costs only time.
 */
import type { Database, Queries } from '../../db/database.ts';
import type { Owner } from '../../db/fair-queue.ts';
import type { Request, Turns } from '../../db/turns.ts';
import type { CallerLimits } from '../access/rights.ts';
import type { Stored, StoredUse, Storer } from '../access/stored.ts';
import type { CallbackEngine } from '../callbacks/endpoints.ts';
import type { Figures } from '../figures/figures.ts';
import type { SlowAfter } from '../figures/slow-items.ts';
import type { TypeSchemas } from '../types/type-schemas.ts';
import type { Limits } from '../values/limits.ts';
import type { FailureLog } from './failure-log.ts';
import type { LowWater } from './low-water.ts';
import type { Merged } from './merged.ts';
import type { Workers } from './workers.ts';

export interface Effects {
  /** The tree has deltas to fold; with `fromStart`, possibly also some that committed late. */
  touched(rootId: string, fromStart?: boolean): void;
  /** Up to this many items of each type may have become claimable. */
  ready(counts: ReadonlyMap<string, number>): void;
  /** A claim that began at `startedAt` (monotonic clock) took this many items of the type, and with `dry` left none. */
  claimed(type: string, taken: number, dry: boolean, startedAt: number): void;
  /** A claim found that the queue of the type has no more room; look again after this many milliseconds. */
  limited(type: string, againInMs: number): void;
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
  readonly merged: Merged;
  /** For a request: whether its client has gone, so that nobody waits for the answer. */
  readonly isGone?: (() => boolean) | undefined;
  /** For a request: the limits of its caller. */
  readonly callerLimits?: CallerLimits | undefined;
  /** Limits how many large trees are created at once. */
  readonly largeTrees: Turns;
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
