/** Runs so many things at a time. Those that wait take turns: by tenant, by caller, and by request of a caller. */
import { ClientGoneError, UnavailableError } from '../errors.ts';
import { FairQueue, groupOf, type Owner, pathOf } from './fair-queue.ts';

/** What an action belongs to. All actions of one request pass the same object. */
export interface Request extends Owner {
  /** Which actions of the caller take one turn together; default: those of this request. */
  readonly group?: unknown;
  /** Whether the action overtakes others of the caller. */
  readonly goesFirst?: boolean;
  /** Whether nobody waits for the request any more. */
  readonly isGone?: (() => boolean) | undefined;
}

interface Waiting {
  readonly request: Request;
  readonly begin: () => void;
  /** It was refused, since it has waited for too long. */
  isRefused: boolean;
}

export class Turns {
  readonly #waitMs: number;
  readonly #isSerial: boolean;
  #free: number;
  readonly #ownAtOnce: number;
  /** How many of each tenant, or caller without one, run. */
  readonly #running = new Map<string, number>();
  readonly #turnMs: number;
  readonly #waiting: FairQueue<Waiting>;

  /**
   * Actions that have waited for longer than `waitMs` are refused. With `isSerial`, a request has one action at a time, so that the actions of a
   * caller need no turns by request. With `inOrder`, those that have waited for long are not overtaken by newer ones: they come again when they
   * are done. One that takes `turnMs` or a multiple of it counts as so many more. Of each tenant, or caller without one, `ownAtOnce` run at a
   * time, even if nobody else waits.
   */
  constructor(
    atOnce: number,
    {
      waitMs = Number.POSITIVE_INFINITY,
      isSerial = false,
      inOrder = false,
      turnMs = Number.POSITIVE_INFINITY,
      ownAtOnce = Number.POSITIVE_INFINITY,
    } = {},
  ) {
    this.#waiting = new FairQueue({
      isBefore: (one, other) => one.request.goesFirst === true && other.request.goesFirst !== true,
      isOver: ({ request, isRefused }) => isRefused || request.isGone?.() === true,
      ...(inOrder && { lateMs: Number.POSITIVE_INFINITY }),
    });
    this.#turnMs = turnMs;
    this.#ownAtOnce = ownAtOnce;
    this.#free = atOnce;
    this.#waitMs = waitMs;
    this.#isSerial = isSerial;
  }

  /**
   * @throws ClientGoneError if nobody waits for the request any more when its turn comes
   * @throws UnavailableError if its turn does not come within `waitMs`
   */
  async run<T>(request: Request, act: () => Promise<T>): Promise<T> {
    if (this.#free > 0 && this.#hasRoom(request)) this.#take(request);
    else await this.#wait(request);
    const startedAt = performance.now();
    try {
      if (request.isGone?.()) throw new ClientGoneError();
      return await act();
    } finally {
      const more = Math.floor((performance.now() - startedAt) / this.#turnMs);
      if (more > 0) this.#waiting.charge(this.#pathOf(request), more);
      this.#end(request);
    }
  }

  #wait(request: Request): Promise<void> {
    return new Promise((resolve, reject) => {
      const refuse = () => {
        waiting.isRefused = true;
        reject(new UnavailableError('The server has too much to do.'));
      };
      const timer = Number.isFinite(this.#waitMs) ? setTimeout(refuse, this.#waitMs) : undefined;
      const begin = () => {
        clearTimeout(timer);
        resolve();
      };
      const waiting: Waiting = { request, begin, isRefused: false };
      this.#waiting.push(this.#pathOf(request), waiting);
    });
  }

  #pathOf(request: Request): readonly unknown[] {
    return this.#isSerial ? pathOf(request) : [...pathOf(request), request.group ?? request];
  }

  #hasRoom(request: Request): boolean {
    return this.#running.size === 0 || (this.#running.get(groupOf(request)) ?? 0) < this.#ownAtOnce;
  }

  #take(request: Request): void {
    this.#free--;
    this.#count(request, 1);
  }

  #count(request: Request, change: 1 | -1): void {
    if (this.#ownAtOnce === Number.POSITIVE_INFINITY) return;
    const group = groupOf(request);
    const count = (this.#running.get(group) ?? 0) + change;
    if (count > 0) this.#running.set(group, count);
    else this.#running.delete(group);
  }

  #end(request: Request): void {
    this.#free++;
    this.#count(request, -1);
    while (this.#free > 0) {
      const waiting = this.#waiting.take(({ request, isRefused }) => isRefused || this.#hasRoom(request));
      if (waiting === undefined) return;
      if (waiting.isRefused) continue;
      this.#take(waiting.request);
      waiting.begin();
    }
  }
}
