/**
 * Runs so many things at a time. Those that wait take turns: by tenant, by caller, and by request of a caller. What runs shares the processors,
 * so turns alone would leave little to whoever sends few: while these send anything, those who send many have a quarter of the places each.
 */
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

/** What those who send many get of the places within `sharedMs` of something that others with few began. */
const partWhileShared = 0.25;

interface Waiting {
  readonly request: Request;
  readonly begin: () => void;
  /** It was refused, since it has waited for too long. */
  isRefused: boolean;
}

export class FairSemaphore {
  readonly #waitMs: number;
  readonly #isSerial: boolean;
  readonly #atOnce: number;
  #free: number;
  readonly #ownAtOnce: number;
  /** How many of each tenant, or caller without one, run, and how many run or wait. */
  readonly #running = new Map<string, number>();
  readonly #sent = new Map<string, number>();
  /** Who has sent few, and begun something last. */
  #few = { group: '', at: Number.NEGATIVE_INFINITY };
  readonly #sharedMs: number;
  readonly #turnMs: number;
  readonly #waiting: FairQueue<Waiting>;

  /**
   * Actions that have waited for longer than `waitMs` are refused. With `isSerial`, a request has one action at a time, so that the actions of a
   * caller need no turns by request. With `inOrder`, those that have waited for long are not overtaken by newer ones: they come again when they
   * are done. One that takes `turnMs` or a multiple of it counts as so many more. Of each tenant, or caller without one, `ownAtOnce` run at a
   * time, even if nobody else waits. For `sharedMs` after somebody with few began something, those with many leave them places.
   */
  constructor(
    atOnce: number,
    {
      waitMs = Number.POSITIVE_INFINITY,
      isSerial = false,
      inOrder = false,
      turnMs = Number.POSITIVE_INFINITY,
      ownAtOnce = Number.POSITIVE_INFINITY,
      sharedMs = 100,
    } = {},
  ) {
    this.#waiting = new FairQueue({
      isBefore: (one, other) => one.request.goesFirst === true && other.request.goesFirst !== true,
      isOver: ({ request, isRefused }) => isRefused || request.isGone?.() === true,
      ...(inOrder && { lateMs: Number.POSITIVE_INFINITY }),
    });
    this.#turnMs = turnMs;
    this.#sharedMs = sharedMs;
    this.#ownAtOnce = ownAtOnce;
    this.#atOnce = atOnce;
    this.#free = atOnce;
    this.#waitMs = waitMs;
    this.#isSerial = isSerial;
  }

  /**
   * @throws ClientGoneError if nobody waits for the request any more when its turn comes
   * @throws UnavailableError if its turn does not come within `waitMs`
   */
  async run<T>(request: Request, act: () => Promise<T>): Promise<T> {
    change(this.#sent, groupOf(request), 1);
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
        change(this.#sent, groupOf(request), -1);
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
    const group = groupOf(request);
    const part = this.#sendsMany(group) && this.#isSharedWithFew(group) ? partWhileShared : 1;
    const most = Math.min(this.#ownAtOnce, Math.max(1, Math.floor(this.#atOnce * part)));
    return (this.#running.get(group) ?? 0) < most;
  }

  #sendsMany(group: string): boolean {
    return (this.#sent.get(group) ?? 0) > this.#atOnce / 2;
  }

  #isSharedWithFew(group: string): boolean {
    return this.#few.group !== group && performance.now() - this.#few.at < this.#sharedMs;
  }

  #take(request: Request): void {
    this.#free--;
    const group = groupOf(request);
    change(this.#running, group, 1);
    if (!this.#sendsMany(group)) this.#few = { group, at: performance.now() };
  }

  #end(request: Request): void {
    this.#free++;
    change(this.#running, groupOf(request), -1);
    change(this.#sent, groupOf(request), -1);
    while (this.#free > 0) {
      const waiting = this.#waiting.take(({ request, isRefused }) => isRefused || this.#hasRoom(request));
      if (waiting === undefined) return;
      if (waiting.isRefused) continue;
      this.#take(waiting.request);
      waiting.begin();
    }
  }
}

function change(counts: Map<string, number>, group: string, by: 1 | -1): void {
  const count = (counts.get(group) ?? 0) + by;
  if (count > 0) counts.set(group, count);
  else counts.delete(group);
}
