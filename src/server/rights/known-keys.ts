/**
 * Caches the API keys that this server has seen, so that a request needs no look-up. All of them are checked every second in one call: a
 * revocation takes effect everywhere within about two seconds, as long as Postgres answers.
 *
 * Keys are found by their SHA-256, so the timing of a look-up reveals nothing about a key. Only few unknown keys are remembered, and each
 * address may try only so many per second.
 */
import { hash } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import type { Logger } from 'pino';
import type { Queries } from '../../db/database.ts';
import { checkKeys, isKeyText } from '../../domain/access/api-keys.ts';
import { type CallerLimits, createCaller, noLimits, type Role } from '../../domain/access/rights.ts';
import { UnauthenticatedError, UnavailableError } from '../../errors.ts';
import { Tries } from '../limits/tries.ts';
import { Loop } from '../loops/loop.ts';
import { Admission } from './admission.ts';

interface Row {
  readonly hash: Buffer;
  readonly id: string;
  readonly name: string;
  readonly roles: readonly Role[];
  readonly types: readonly string[];
  readonly root_ids: readonly string[];
  readonly left_ms: number | null;
  readonly tenant: string | null;
  readonly limits: Partial<CallerLimits>;
}

interface Known {
  readonly id: string;
  readonly admission: Admission;
}

/** A key that is being looked up. */
interface Waiting {
  readonly promise: Promise<Known | undefined>;
  readonly resolve: (known: Known | undefined) => void;
  readonly reject: (error: unknown) => void;
}

const recheckMs = 1_000;
/** Keys beyond this are looked up again when they are used. */
const mostKnown = 10_000;
const mostUnknown = 10_000;
/** Does not delay keys that are created on another server: nobody has shown them before. */
const unknownMs = 10_000;
/** Keys that are looked up in one call, and keys that may wait for the next. */
const mostAtOnce = 500;
const mostWaiting = 5_000;
const usedEveryMs = 60_000;

export class KnownKeys {
  readonly #database: Pick<Queries, 'callForLeases'>;
  readonly #loop: Loop;
  readonly #known = new LRUCache<string, Known>({ max: mostKnown });
  /** Keys with open sessions, which stay here even if the cache above has evicted them. */
  readonly #inUse = new Map<string, Known>();
  readonly #unknown = new LRUCache<string, true>({ max: mostUnknown, ttl: unknownMs });
  readonly #tries = new Tries();
  #waiting = new Map<string, Waiting>();
  #isLookingUp = false;
  readonly #used = new Set<string>();
  readonly #notedAt = new LRUCache<string, number>({ max: mostKnown });

  constructor({ database, logger }: { database: Pick<Queries, 'callForLeases'>; logger: Logger }) {
    this.#database = database;
    this.#loop = new Loop({
      look: async () => {
        await this.#recheck();
        return recheckMs;
      },
      logger,
      failure: 'API keys could not be checked; known keys stay valid until they are',
      retryMs: recheckMs,
    });
  }

  start(): void {
    this.#loop.start();
  }

  async stop(): Promise<void> {
    await this.#loop.stop();
  }

  /** The right of a key: at once if the key is known. Throws, or rejects with, the refusal. */
  find(key: string, address: string): Admission | Promise<Admission> {
    const digest = hash('sha256', key, 'base64');
    const known = this.#known.get(digest);
    if (known !== undefined) return this.#use(known);
    if (!isKeyText(key) || this.#unknown.has(digest)) throw noSuchKey();
    return this.#lookUp(digest, address).then((found) => {
      if (found === undefined) throw noSuchKey();
      return this.#use(found);
    });
  }

  #use({ id, admission }: Known): Admission {
    if (admission.isOver) throw noSuchKey();
    const now = performance.now();
    if (now - (this.#notedAt.get(id) ?? Number.NEGATIVE_INFINITY) > usedEveryMs) {
      this.#notedAt.set(id, now);
      this.#used.add(id);
    }
    return admission;
  }

  async #lookUp(digest: string, address: string): Promise<Known | undefined> {
    const others = this.#waiting.get(digest);
    if (others !== undefined) return others.promise;
    if (this.#waiting.size >= mostWaiting) throw new UnavailableError('Too many keys are being looked up.');
    return this.#tries.run(address, async () => {
      const waiting = createWaiting();
      this.#waiting.set(digest, waiting);
      void this.#lookUpWaiting();
      const found = await waiting.promise;
      if (found === undefined) throw noSuchKey();
      return found;
    });
  }

  /** One call at a time looks up all the keys that arrived meanwhile. */
  async #lookUpWaiting(): Promise<void> {
    if (this.#isLookingUp) return;
    this.#isLookingUp = true;
    while (this.#waiting.size > 0) {
      const all = [...this.#waiting];
      const batch = new Map(all.slice(0, mostAtOnce));
      this.#waiting = new Map(all.slice(mostAtOnce));
      try {
        const rows = await this.#check([...batch.keys()], []);
        for (const [digest, { resolve }] of batch) {
          const row = rows.get(digest);
          if (row === undefined) this.#unknown.set(digest, true);
          const known = row && this.#remember(digest, row);
          resolve(known);
        }
      } catch (error) {
        for (const { reject } of batch.values()) reject(error);
      }
    }
    this.#isLookingUp = false;
  }

  #remember(digest: string, row: Row): Known {
    const before = this.#known.get(digest) ?? this.#inUse.get(digest);
    if (before !== undefined) {
      this.#known.set(digest, before);
      return before;
    }
    const scope = {
      tenant: row.tenant,
      types: row.types.length === 0 ? null : row.types,
      rootIds: row.root_ids.length === 0 ? null : row.root_ids,
    };
    const admission = new Admission({
      caller: createCaller(`key ${row.name} (${row.id})`, row.roles, {
        ...scope,
        account: `key ${row.id}`,
        limits: { ...noLimits, ...row.limits },
      }),
      until: untilOf(row),
      whenOver: 'The API key has expired.',
      onUse: (_, isUsed) => {
        if (isUsed) this.#inUse.set(digest, known);
        else this.#inUse.delete(digest);
      },
    });
    const known: Known = { id: row.id, admission };
    this.#known.set(digest, known);
    return known;
  }

  async #recheck(): Promise<void> {
    const digests = new Set([...this.#known.keys(), ...this.#inUse.keys()]);
    const used = [...this.#used];
    if (digests.size === 0 && used.length === 0) return;
    const rows = await this.#check([...digests], used);
    for (const id of used) this.#used.delete(id);
    for (const digest of digests) {
      const known = this.#known.peek(digest) ?? this.#inUse.get(digest);
      const row = rows.get(digest);
      // A rotation shortens the time of the previous key.
      if (row !== undefined && known !== undefined) known.admission.until = untilOf(row);
      if (row !== undefined || known === undefined) continue;
      this.#known.delete(digest);
      known.admission.end('The API key was revoked or has expired.');
    }
  }

  async #check(digests: readonly string[], used: readonly string[]): Promise<Map<string, Row>> {
    const rows = await this.#database.callForLeases<Row>(
      checkKeys,
      digests.map((digest) => Buffer.from(digest, 'base64')),
      used,
    );
    return new Map(rows.map((row) => [row.hash.toString('base64'), row]));
  }
}

/** Does not tell apart keys that never existed, were revoked, or have expired. */
const noSuchKey = () =>
  new UnauthenticatedError('There is no such API key, or it was revoked or has expired.');

/** The time left comes from the clock of Postgres. */
const untilOf = ({ left_ms }: Row) => performance.now() + (left_ms ?? Number.POSITIVE_INFINITY);

function createWaiting(): Waiting {
  let waiting: Partial<Waiting> = {};
  const promise = new Promise<Known | undefined>((resolve, reject) => {
    waiting = { resolve, reject };
  });
  return { ...waiting, promise } as Waiting;
}
