/**
 * How many keys and tokens that turn out to be none an address may show in a second, since each takes a look-up or a computation. Those that
 * turn out to be good cost it nothing, however many come at once, such as those of all programs behind one address when a server starts.
 */
import { LRUCache } from 'lru-cache';
import { UnauthenticatedError, UnavailableError } from '../errors.ts';
import { Semaphore } from '../events/semaphore.ts';
import { TokenBucket } from './token-bucket.ts';

const perSecond = 10;
/** Whoever has shown many that are none at once is heard again after this time: others may come from the same address. */
const longestRestMs = 1_000;
/** That are being looked at, of one address. */
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

  /** So many of an address are looked at in one moment; its others wait, and nobody else's. */
  constructor({ atOnce = mostPending } = {}) {
    this.#atOnce = atOnce;
  }

  /**
   * Gives what a try came to, or throws why it is none.
   *
   * @throws UnavailableError the address has shown too many that are none
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
        // Those before it may have been none.
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

const tooMany = () => new UnavailableError('This address shows too many keys or tokens that are none.');
