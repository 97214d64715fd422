/**
 * How much each tenant stores, and whether it may store more. Folds note what is added, deletions what is removed; about once a
 * second every server adds that up (`fold_stored`), and it caches what it reads for as long. So adding items costs nothing extra
 * and never contends for a tenant's row, but what is added within some three seconds may exceed the limit.
 */
import { LRUCache } from 'lru-cache';
import type { Owner } from '../../concurrency/fair-queue.ts';
import type { Queries } from '../../db/database.ts';
import { StorageLimitError } from '../../errors.ts';
import type { CallerLimits } from './rights.ts';

/** Items, and the bytes of payloads and results as JSON text, and of uploads. */
export interface Stored {
  readonly items: number;
  readonly bytes: number;
}

/** How much a tenant may store; null for no limit. */
export type StoredLimits = { readonly [Name in keyof Stored]: number | null };

/** Who stores something. */
export interface Storer extends Owner {
  readonly limits?: CallerLimits | undefined;
}

/** How long a value is fresh. Up to twice that age it is used while it is read again in the background; an older one is waited for. */
const freshMs = 1_000;
const mostRemembered = 10_000;

export const notStored: StoredLimits = Object.freeze({ items: null, bytes: null });

type Known = Stored & { readonly at: number };

export class StoredUse {
  readonly #database: Queries;
  readonly #ofTenant: StoredLimits;
  readonly #known = new LRUCache<string, Known>({ max: mostRemembered });
  /** The tenants that the next read is to return; an empty name for the sum of all. */
  #wanted = new Set<string>();
  #next: Promise<void> | undefined;
  #reading: Promise<void> = Promise.resolve();

  constructor(database: Queries, ofTenant: StoredLimits) {
    this.#database = database;
    this.#ofTenant = ofTenant;
  }

  /** The limit for everything that a tenant's callers store together. */
  get ofTenant(): StoredLimits {
    return this.#ofTenant;
  }

  isLimited(storer: Storer): boolean {
    const { items, bytes } = this.#limitsOf(storer);
    return items !== null || bytes !== null;
  }

  /** @throws StorageLimitError if this much more exceeds a limit. Returns a promise only if the present use has to be read. */
  check(storer: Storer, more: Stored): Promise<void> | undefined {
    const limits = this.#limitsOf(storer);
    if (limits.items === null && limits.bytes === null) return undefined;
    const name = storer.tenant ?? '';
    const known = this.#known.get(name);
    const age = known === undefined ? Number.POSITIVE_INFINITY : performance.now() - known.at;
    if (known === undefined || age > 2 * freshMs)
      return this.#read(name).then(() => refuse(limits, this.#known.get(name) ?? nothing, more));
    // If that fails, the next check reads it again.
    if (age > freshMs) this.#read(name).catch(() => {});
    refuse(limits, known, more);
    return undefined;
  }

  /** The lower one of the tenant's limit and the key's. Without a tenant, the limit of a key applies to everything that is stored. */
  #limitsOf({ tenant, limits }: Storer): StoredLimits {
    const ofTenant = tenant ? this.#ofTenant : notStored;
    return {
      items: lower(ofTenant.items, limits?.storedItems ?? null),
      bytes: lower(ofTenant.bytes, limits?.storedBytes ?? null),
    };
  }

  /** Runs one query at a time, for all names that are waited for. */
  #read(name: string): Promise<void> {
    this.#wanted.add(name);
    this.#next ??= this.#reading
      .catch(() => {})
      .then(() => {
        const names = [...this.#wanted];
        this.#wanted = new Set();
        this.#next = undefined;
        this.#reading = this.#readNow(names);
        return this.#reading;
      });
    return this.#next;
  }

  async #readNow(names: readonly string[]): Promise<void> {
    const found = await readStored(this.#database, names);
    const at = performance.now();
    for (const name of names) this.#known.set(name, { ...(found.get(name) ?? nothing), at });
  }
}

const nothing: Stored = { items: 0, bytes: 0 };

const lower = (one: number | null, other: number | null) =>
  one === null ? other : other === null ? one : Math.min(one, other);

function refuse(limits: StoredLimits, stored: Stored, more: Stored): void {
  for (const name of ['items', 'bytes'] as const) {
    const maximum = limits[name];
    if (maximum !== null && stored[name] + more[name] > maximum)
      throw new StorageLimitError(name, { stored: stored[name], more: more[name], maximum });
  }
}

/** By tenant; an empty name stands for the sum of all. */
async function readStored(
  { pool }: Pick<Queries, 'pool'>,
  names: readonly string[],
): Promise<Map<string, Stored>> {
  const { rows } = await pool.query<Stored & { tenant: string }>({
    name: 'read_stored',
    text: `select s.tenant, s.items, s.bytes from jobtree.stored s where s.tenant = any ($1) and s.tenant <> ''
           union all
           select '', coalesce(sum(s.items), 0)::bigint, coalesce(sum(s.bytes), 0)::bigint from jobtree.stored s where '' = any ($1)`,
    values: [names],
  });
  return new Map(rows.map(({ tenant, items, bytes }) => [tenant, atLeastNothing({ items, bytes })]));
}

export interface TenantStored extends Stored {
  /** Null for everything without a tenant. */
  readonly tenant: string | null;
}

/** Those that store most first; if a tenant is given, only that one. */
export async function listStored(
  { pool }: Pick<Queries, 'pool'>,
  { tenant, take }: { tenant: string | null; take: number },
): Promise<TenantStored[]> {
  const { rows } = await pool.query<Stored & { tenant: string }>({
    name: 'list_stored',
    text: `select s.tenant, s.items, s.bytes from jobtree.stored s
           where ($1::text is null or s.tenant = $1) and (s.items > 0 or s.bytes > 0)
           order by s.bytes desc, s.tenant limit $2`,
    values: [tenant, take],
  });
  return rows.map(({ tenant, ...stored }) => ({ tenant: tenant || null, ...atLeastNothing(stored) }));
}

/** The use of a tenant, or of all together. */
export async function readStoredBy(database: Pick<Queries, 'pool'>, tenant: string | null): Promise<Stored> {
  const name = tenant ?? '';
  return (await readStored(database, [name])).get(name) ?? nothing;
}

/**
 * Adds up what was noted, from a mark on: Postgres keeps the dead rows before it while anybody holds an old snapshot. Records that commit later
 * than `lateCommitMs` after they were numbered are found when all are read.
 */
export class StoredFold {
  readonly #database: Pick<Queries, 'call'>;
  #from = 0;
  /** Takes the place of `from` once it is old enough. */
  #nextFrom = 0;
  #last = 0;
  #markedAt = performance.now();
  #everythingAt = 0;

  constructor(database: Pick<Queries, 'call'>) {
    this.#database = database;
  }

  /** Returns whether there is more. */
  async run(): Promise<boolean> {
    const now = performance.now();
    const all = now >= this.#everythingAt;
    const [row] = await this.#database.call<{ records: number; last_record: number | null }>(
      'fold_stored',
      foldedAtOnce,
      all ? 0 : this.#from,
    );
    const more = row?.records === foldedAtOnce;
    if (all && !more) this.#everythingAt = now + everythingEveryMs;
    this.#last = Math.max(this.#last, row?.last_record ?? 0);
    if (now - this.#markedAt >= lateCommitMs) {
      this.#from = this.#nextFrom;
      this.#nextFrom = this.#last;
      this.#markedAt = now;
    }
    return more;
  }
}
const foldedAtOnce = 10_000;
const lateCommitMs = 10_000;
const everythingEveryMs = 60_000;

/** A removal may be noted before the addition it belongs to, which makes the sum negative. */
const atLeastNothing = ({ items, bytes }: Stored): Stored => ({
  items: Math.max(0, items),
  bytes: Math.max(0, bytes),
});
