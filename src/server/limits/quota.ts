/**
 * Divides a limited resource: so much for each caller, for all callers of a tenant together, and for everybody. Strangers count by address
 * (`owners.ts`).
 */
import type { Owner } from '../../concurrency/fair-queue.ts';

/** Whose quota is used up. */
export type UsedUp = 'caller' | 'tenant' | 'server';

/** A tenth is reserved for small shares: a few large requests must not shut out heartbeats. */
const small = 64 * 1024;
const partOfLarge = 0.9;

interface Held {
  all: number;
  /** Held by small shares. */
  small: number;
}

export class Quota {
  readonly #mostPerCaller: (owner: Owner) => number;
  readonly #mostPerTenant: number;
  readonly #most: number;
  readonly #byAccount = new Map<string, Held>();
  readonly #byTenant = new Map<string, Held>();
  readonly #total: Held = { all: 0, small: 0 };

  constructor(options: {
    mostPerCaller: number | ((owner: Owner) => number);
    mostPerTenant?: number;
    most?: number;
  }) {
    const { mostPerCaller, mostPerTenant, most } = options;
    this.#mostPerCaller = typeof mostPerCaller === 'number' ? () => mostPerCaller : mostPerCaller;
    this.#mostPerTenant = mostPerTenant ?? Number.POSITIVE_INFINITY;
    this.#most = most ?? Number.POSITIVE_INFINITY;
  }

  /** A new, empty share of the resource for one use by a caller. */
  share(owner: Owner): Share {
    return new Share(this, owner);
  }

  /**
   * Whose quota has no room for so much more on top of `has`; undefined if there is room. While nothing is held under a quota, it has room for
   * any amount: anything that is allowed must be possible.
   */
  lacks(owner: Owner, more: number, has = 0): UsedUp | undefined {
    const isLarge = has + more > small;
    const ofCaller = this.#byAccount.get(owner.account ?? '');
    if (ofCaller !== undefined && !fits(ofCaller, more, this.#mostPerCaller(owner), isLarge)) return 'caller';
    const ofTenant = owner.tenant ? this.#byTenant.get(owner.tenant) : undefined;
    if (ofTenant !== undefined && !fits(ofTenant, more, this.#mostPerTenant, isLarge)) return 'tenant';
    if (this.#total.all > 0 && !fits(this.#total, more, this.#most, isLarge)) return 'server';
    return undefined;
  }

  /** Changes how much one share of the owner holds. */
  change({ account, tenant }: Owner, before: number, now: number): void {
    const all = now - before;
    const small = smallPart(now) - smallPart(before);
    change(this.#byAccount, account ?? '', all, small);
    if (tenant) change(this.#byTenant, tenant, all, small);
    this.#total.all += all;
    this.#total.small += small;
  }
}

function change(held: Map<string, Held>, key: string, all: number, small: number): void {
  const one = held.get(key);
  if (one === undefined) {
    if (all !== 0) held.set(key, { all, small });
    return;
  }
  one.all += all;
  one.small += small;
  if (one.all === 0) held.delete(key);
}

const smallPart = (held: number) => (held > small ? 0 : held);

/** Large shares may hold more than they asked for and leave nothing of the total: small ones get their tenth all the same. */
function fits(held: Held, more: number, most: number, isLarge: boolean): boolean {
  if (isLarge) return held.all + more <= most * partOfLarge;
  return held.all + more <= most || held.small + more <= most * (1 - partOfLarge);
}

export class Share {
  readonly #quota: Quota;
  readonly #owner: Owner;
  #held = 0;
  #isOver = false;

  constructor(quota: Quota, owner: Owner) {
    this.#quota = quota;
    this.#owner = owner;
  }

  /** Takes so much more. If there is no room it takes nothing, and returns whose quota is used up. */
  take(more = 1): UsedUp | undefined {
    const usedUp = this.#quota.lacks(this.#owner, more, this.#held);
    if (usedUp === undefined) this.set(this.#held + more);
    return usedUp;
  }

  /** Sets what the share holds, whether there is room for it or not. */
  set(held: number): void {
    if (this.#isOver || held === this.#held) return;
    this.#quota.change(this.#owner, this.#held, held);
    this.#held = held;
  }

  get held(): number {
    return this.#held;
  }

  /** Releases for good: work that goes on, though nobody waits for it, can't take any more. */
  release(): void {
    this.set(0);
    this.#isOver = true;
  }
}

/** The quotas of each caller. */
export interface Quotas {
  /** WebSockets and event streams. */
  readonly connections: Quota;
  /** Bytes of requests and answers under way. */
  readonly bytes: Quota;
}
