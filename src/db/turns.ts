/** So many at a time. Those who wait are taken by turns from each tenant, each of its callers, and each request of a caller. */
import { ClientGoneError, UnavailableError } from '../errors.ts';
import { FairQueue, type Owner, pathOf } from './fair-queue.ts';

/** Whose it is. All that belongs to one request comes with the same object. */
export interface Request extends Owner {
  /** Whether nobody waits for it any more. */
  readonly isGone?: (() => boolean) | undefined;
}

export class Turns {
  readonly #waitMs: number;
  #free: number;
  readonly #waiting = new FairQueue<() => void>();

  /** After `waitMs`, whoever has waited for longer is refused. */
  constructor(atOnce: number, { waitMs = Number.POSITIVE_INFINITY } = {}) {
    this.#free = atOnce;
    this.#waitMs = waitMs;
  }

  /**
   * @throws ClientGoneError if nobody waits for it any more when its turn comes
   * @throws UnavailableError if that comes too late
   */
  async run<T>(request: Request, act: () => Promise<T>): Promise<T> {
    const giveUpAt = performance.now() + this.#waitMs;
    if (this.#free > 0) this.#free--;
    else await this.#wait(request);
    try {
      if (request.isGone?.()) throw new ClientGoneError();
      if (performance.now() > giveUpAt) throw new UnavailableError('The server has too much to do.');
      return await act();
    } finally {
      this.#next();
    }
  }

  #wait(request: Request): Promise<void> {
    return new Promise((begin) => this.#waiting.push([...pathOf(request), request], begin));
  }

  #next(): void {
    const begin = this.#waiting.take();
    if (begin === undefined) this.#free++;
    else begin();
  }
}
