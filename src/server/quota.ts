/** So much of something for each client address, and for all of them together. */

/** Whose part is used up. */
export type UsedUp = 'address' | 'server';

/** A tenth is kept for what is small: a few large requests must not shut out heartbeats. */
const small = 64 * 1024;
const partOfLarge = 0.9;

export class Quota {
  readonly #mostPerAddress: number;
  readonly #most: number;
  readonly #held = new Map<string, number>();
  #total = 0;

  constructor(options: { mostPerAddress: number; most?: number }) {
    this.#mostPerAddress = options.mostPerAddress;
    this.#most = options.most ?? Number.POSITIVE_INFINITY;
  }

  /** What an address holds of it, nothing at first. */
  share(address: string): Share {
    return new Share(this, address);
  }

  /** Whether so much more can be had. Whoever has nothing can have anything once: what is allowed must be possible. */
  lacks(address: string, more: number): UsedUp | undefined {
    const part = more > small ? partOfLarge : 1;
    const held = this.#held.get(address) ?? 0;
    if (held > 0 && held + more > this.#mostPerAddress * part) return 'address';
    if (this.#total > 0 && this.#total + more > this.#most * part) return 'server';
    return undefined;
  }

  change(address: string, more: number): void {
    this.#total += more;
    const held = (this.#held.get(address) ?? 0) + more;
    if (held === 0) this.#held.delete(address);
    else this.#held.set(address, held);
  }
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
    const usedUp = this.#quota.lacks(this.#address, more);
    if (usedUp === undefined) this.set(this.#held + more);
    return usedUp;
  }

  /** There is so much, whether it can be had or not. */
  set(held: number): void {
    if (this.#isOver || held === this.#held) return;
    this.#quota.change(this.#address, held - this.#held);
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
