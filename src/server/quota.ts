/**
 * So much of something for each caller, for those of a tenant together, and for all. Callers that nobody knows count by their address
 * (`owners.ts`).
 */
import type { Owner } from '../db/fair-queue.ts';

/** Whose part is used up. */
export type UsedUp = 'caller' | 'tenant' | 'server';

/** A tenth is kept for what is small: a few large requests must not shut out heartbeats. */
const small = 64 * 1024;
const partOfLarge = 0.9;

interface Held {
  all: number;
  /** By shares that are small. */
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

  /** What a caller holds of it in one place, nothing at first. */
  share(owner: Owner): Share {
    return new Share(this, owner);
  }

  /**
   * Whether a share that holds so much can have so much more. Whoever has nothing can have anything once: what is allowed must
   * be possible.
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

  /** A share of the caller holds so much now, instead of what it held. */
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

/** What is large may hold more than it asked for, so that nothing of the whole is left: the tenth is there all the same. */
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

  /** Takes so much more; if that can't be had it takes nothing, and says why. */
  take(more = 1): UsedUp | undefined {
    const usedUp = this.#quota.lacks(this.#owner, more, this.#held);
    if (usedUp === undefined) this.set(this.#held + more);
    return usedUp;
  }

  /** There is so much, whether it can be had or not. */
  set(held: number): void {
    if (this.#isOver || held === this.#held) return;
    this.#quota.change(this.#owner, this.#held, held);
    this.#held = held;
  }

  get held(): number {
    return this.#held;
  }

  /** For good: whoever goes on, though nobody waits for it, takes nothing any more. */
  release(): void {
    this.set(0);
    this.#isOver = true;
  }
}

/** What a caller may have of each. */
export interface Quotas {
  /** WebSockets and event streams. */
  readonly connections: Quota;
  /** Of requests and answers under way. */
  readonly bytes: Quota;
}
