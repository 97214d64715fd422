/**
 * Limits how many invalid keys and tokens an address may show per second, since each takes a look-up or a computation. Valid ones are free,
 * however many come at once, as from all programs behind one address when a server starts.
 */
import { LRUCache } from 'lru-cache';
import { Semaphore } from '../../concurrency/semaphore.ts';
import { UnauthenticatedError, UnavailableError } from '../../errors.ts';
import { TokenBucket } from './token-bucket.ts';

const perSecond = 10;
/** However many invalid ones it has shown at once, an address may try again after this time: others may share it. */
const longestRestMs = 1_000;
/** Checks of one address, waiting and running. */
const mostPending = 1_000;
const mostAddresses = 10_000;

interface OfAddress {
  readonly bucket: TokenBucket;
  readonly turns: Semaphore;
  pending: number;
}

export class Tries {
  readonly #atOnce: number;
  readonly #addresses = new LRUCache<string, OfAddress>({ max: mostAddresses });

  /** `atOnce` checks of one address run at a time; its other checks wait, and hold up nobody else's. */
  constructor({ atOnce = mostPending } = {}) {
    this.#atOnce = atOnce;
  }

  /**
   * Returns what the check resolves to, or throws what it throws.
   *
   * @throws UnavailableError the address has shown too many invalid keys or tokens
   */
  async run<T>(address: string, check: () => Promise<T>): Promise<T> {
    let one = this.#addresses.get(address);
    if (one === undefined) {
      one = { bucket: new TokenBucket(perSecond), turns: new Semaphore(this.#atOnce), pending: 0 };
      this.#addresses.set(address, one);
    }
    const { bucket, turns } = one;
    if (bucket.restMs() > 0 || one.pending >= mostPending) throw tooMany();
    one.pending++;
    try {
      return await turns.run(() => {
        // Checks that were ahead of this one may have failed.
        if (bucket.restMs() > 0) throw tooMany();
        return check();
      });
    } catch (error) {
      if (error instanceof UnauthenticatedError && bucket.restMs() < longestRestMs) bucket.take();
      throw error;
    } finally {
      one.pending--;
    }
  }
}

const tooMany = () => new UnavailableError('This address has shown too many invalid keys or tokens.');
