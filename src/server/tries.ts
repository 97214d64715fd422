/** How many keys and tokens that turn out to be none an address may show in a second, since each takes a look-up or a computation. */
import { LRUCache } from 'lru-cache';
import { UnavailableError } from '../errors.ts';
import { TokenBucket } from './token-bucket.ts';

const perSecond = 10;
const mostAddresses = 10_000;

export class Tries {
  readonly #buckets = new LRUCache<string, TokenBucket>({ max: mostAddresses });

  /**
   * Gives what a try came to. One that succeeds does not count.
   *
   * @throws UnavailableError the address has shown too many that are none
   */
  async run<T>(address: string, check: () => Promise<T>): Promise<T> {
    let bucket = this.#buckets.get(address);
    if (bucket === undefined) {
      bucket = new TokenBucket(perSecond);
      this.#buckets.set(address, bucket);
    }
    if (bucket.restMs() > 0)
      throw new UnavailableError('This address shows too many keys or tokens that are none.');
    bucket.take();
    const found = await check();
    bucket.take(-1);
    return found;
  }
}
