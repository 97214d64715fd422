/** So much of something for each client address, and for all of them together. */

/** Whose part is used up. */
export type UsedUp = 'address' | 'server';

/** A tenth is kept for what is small: a few large requests must not shut out heartbeats. */
const small = 64 * 1024;
const partOfLarge = 0.9;

interface Held {
  all: number;
  /** By shares that are small. */
  small: number;
}

export class Quota {
  readonly #mostPerAddress: number;
  readonly #most: number;
  readonly #byAddress = new Map<string, Held>();
  readonly #total: Held = { all: 0, small: 0 };

  constructor(options: { mostPerAddress: number; most?: number }) {
    this.#mostPerAddress = options.mostPerAddress;
    this.#most = options.most ?? Number.POSITIVE_INFINITY;
  }

  /** What an address holds of it, nothing at first. */
  share(address: string): Share {
    return new Share(this, address);
  }

  /**
   * Whether a share that holds so much can have so much more. An address that has nothing can have anything once: what is allowed must
   * be possible.
   */
  lacks(address: string, more: number, has = 0): UsedUp | undefined {
    const held = this.#byAddress.get(address);
    const isLarge = has + more > small;
    if (held !== undefined && !fits(held, more, this.#mostPerAddress, isLarge)) return 'address';
    if (this.#total.all > 0 && !fits(this.#total, more, this.#most, isLarge)) return 'server';
    return undefined;
  }

  /** A share of the address holds so much now, instead of what it held. */
  change(address: string, before: number, now: number): void {
    const held = this.#byAddress.get(address) ?? { all: 0, small: 0 };
    const more = { all: now - before, small: smallPart(now) - smallPart(before) };
    for (const one of [held, this.#total]) {
      one.all += more.all;
      one.small += more.small;
    }
    if (held.all === 0) this.#byAddress.delete(address);
    else this.#byAddress.set(address, held);
  }
}

const smallPart = (held: number) => (held > small ? 0 : held);

/** What is large may hold more than it asked for, so that nothing of the whole is left: the tenth is there all the same. */
function fits(held: Held, more: number, most: number, isLarge: boolean): boolean {
  if (isLarge) return held.all + more <= most * partOfLarge;
  return held.all + more <= most || held.small + more <= most * (1 - partOfLarge);
}

export class Share {
  readonly #quota: Quota;
  readonly #address: string;
  #held = 0;
  #isOver = false;

  constructor(quota: Quota, address: string) {
    this.#quota = quota;
    this.#address = address;
  }

  /** Takes so much more; if that can't be had it takes nothing, and says why. */
  take(more = 1): UsedUp | undefined {
    const usedUp = this.#quota.lacks(this.#address, more, this.#held);
    if (usedUp === undefined) this.set(this.#held + more);
    return usedUp;
  }

  /** There is so much, whether it can be had or not. */
  set(held: number): void {
    if (this.#isOver || held === this.#held) return;
    this.#quota.change(this.#address, this.#held, held);
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

/** What a client address may have of each. */
export interface Quotas {
  /** WebSockets and event streams. */
  readonly connections: Quota;
  /** Of requests and answers under way. */
  readonly bytes: Quota;
}
