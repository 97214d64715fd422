/** Runs so many things at a time. Those that wait take turns: by tenant, by caller, and by request of a caller. */
import { ClientGoneError, UnavailableError } from '../errors.ts';
import { FairQueue, type Owner, pathOf } from './fair-queue.ts';

/** What an action belongs to. All actions of one request pass the same object. */
export interface Request extends Owner {
  /** Whether nobody waits for the request any more. */
  readonly isGone?: (() => boolean) | undefined;
}

export class Turns {
  readonly #waitMs: number;
  #free: number;
  readonly #waiting = new FairQueue<() => void>();

  /** Actions that have waited for longer than `waitMs` are refused. */
  constructor(atOnce: number, { waitMs = Number.POSITIVE_INFINITY } = {}) {
    this.#free = atOnce;
    this.#waitMs = waitMs;
  }

  /**
   * @throws ClientGoneError if nobody waits for the request any more when its turn comes
   * @throws UnavailableError if its turn comes after `waitMs`
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
