/**
 * What every operation needs: the database, the limits, and somebody to tell what it did. An operation never waits for
 * those it tells; they are hints, and a lost one costs time, nothing else.
 */
import type { Logger } from 'pino';
import type { Database, Queries } from '../db/database.ts';
import type { Owner } from '../db/fair-queue.ts';
import type { Turns } from '../db/turns.ts';
import type { CallbackAddresses } from './callback-addresses.ts';
import type { FailureLog } from './failure-log.ts';
import type { Figures } from './figures.ts';
import type { Limits } from './limits.ts';
import type { LowWater } from './low-water.ts';
import type { Merged } from './merged.ts';
import type { CallerLimits } from './rights.ts';
import type { SecretBox } from './secret-box.ts';
import type { SlowAfter } from './slow-items.ts';
import type { Stored, StoredUse, Storer } from './stored.ts';
import type { TypeSchemas } from './type-schemas.ts';
import type { Workers } from './workers.ts';

export interface Effects {
  /** The tree has deltas to fold, with `fromStart` maybe some that committed late. */
  touched(rootId: string, fromStart?: boolean): void;
  /** So many items of each type may have become claimable. */
  ready(counts: ReadonlyMap<string, number>): void;
  /** A claim that began at `startedAt` (monotonic) took so many items of the type, and with `dry` left none behind. */
  claimed(type: string, taken: number, dry: boolean, startedAt: number): void;
  /** A claim found that the queue of the type has no more room; look again in so many milliseconds. */
  limited(type: string, againInMs: number): void;
  /** A cancellation, a deletion or an operation has more to do than its call did. */
  unfinished(): void;
  /** A job with a file was created. */
  importable(): void;
}

/** What holds for trees that say nothing else; null for never. */
export interface RetentionPolicy {
  readonly retentionSeconds: number | null;
  /** For how long a tree is to be idle until that is shown. */
  readonly idleSeconds: number;
  readonly idleExpirySeconds: number | null;
}

/** Of a request also whose it is. */
export interface Engine<Source extends Queries = Queries> extends Owner {
  readonly database: Source;
  readonly limits: Limits;
  readonly effects: Effects;
  readonly logger: Logger;
  /** Whether payloads and results may stand in the log. */
  readonly logPayloads: boolean;
  /** Whether a claim that was answered survives a crash of Postgres. */
  readonly durableClaims: boolean;
  readonly callbackAddresses: CallbackAddresses;
  /** For the secrets of endpoints. */
  readonly secrets: SecretBox;
  /** Of trees that say nothing else. */
  readonly retention: RetentionPolicy;
  readonly lowWater: LowWater;
  readonly schemas: TypeSchemas;
  /** What this server sees of each type. */
  readonly figures: Figures;
  readonly failureLog: FailureLog;
  /** When an item that a worker has is slow. */
  readonly slowAfter: SlowAfter;
  /** What tenants store, and may. */
  readonly stored: StoredUse;
  readonly workers: Workers;
  readonly merged: Merged;
  /** Of a request: whether its client has gone, so that nobody waits for the answer. */
  readonly isGone?: () => boolean;
  /** Of a request: what its caller may have. */
  readonly callerLimits?: CallerLimits | undefined;
  /** Large trees that are created. */
  readonly largeTrees: Turns;
  /** Claims that may be repeated, by their ids, while they are under way. */
  readonly claimsUnderWay: Map<string, Promise<unknown>>;
}

/** The same for a request: what waits for its turn is not sent any more once the client has gone. */
export function forRequest(
  engine: Engine<Database>,
  isGone: () => boolean,
  { tenant, account, limits }: Storer,
): Engine {
  const request = { tenant, account, isGone };
  return { ...engine, ...request, callerLimits: limits, database: engine.database.forRequest(request) };
}

/** @throws StorageLimitError if the caller of a request may not store so much more. */
export function checkRoom({ stored, tenant, callerLimits }: Engine, more: Stored): Promise<void> | undefined {
  return stored.check({ tenant, limits: callerLimits }, more);
}

/** How often each type is named. */
export function countTypes(types: Iterable<string>): Map<string, number> {
  const counts = new Map<string, number>();
  for (const type of types) counts.set(type, (counts.get(type) ?? 0) + 1);
  return counts;
}
