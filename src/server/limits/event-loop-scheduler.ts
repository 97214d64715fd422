/**
 * Shares the event loop: operations that arrive together start in turns of equal time for their tenants and callers. Without this, a caller with
 * sixty connections would get sixty times as much as a caller with one.
 *
 * Owners that have used less than a fair share lately start at once, and so does everybody on a quiet server. The others wait; between their
 * turns the event loop gets to handle its input. Of one owner, operations that keep leases alive start before others.
 */
import { FairQueue, groupOf, type Owner, pathOf } from '../../concurrency/fair-queue.ts';
import type { Request } from '../../concurrency/fair-semaphore.ts';

/** How many may start at once in one round of the event loop. */
const atOnce = 4;
/** The length of a turn, and how long turns may at least go on before the event loop handles its input. */
const turnMs = 1;
const lookEveryMs = 2;
/** How long connections are let in before turns go on, unless one round of the event loop alone takes longer. */
const letInMs = 20;
/** In how many rounds of the event loop after a new connection more are let in: its first request arrives a round later. */
const roundsOfNew = 2;
/** How long the use of the event loop is remembered. */
const windowMs = 100;

interface Waiting {
  readonly owner: Request;
  readonly keepsLeases: boolean;
  readonly begin: () => void;
}

export class EventLoopScheduler {
  readonly #waiting = new FairQueue<Waiting>({
    turn: turnMs,
    costOf: () => 0,
    isBefore: (one, other) => one.keepsLeases && !other.keepsLeases,
    isOver: ({ owner, keepsLeases }) => !keepsLeases && owner.isGone?.() === true,
  });
  /** Started at once in this round of the event loop. */
  #begun = 0;
  /**
   * In how many more rounds of the event loop connections are let in before an operation starts. The event loop accepts one in each round: with
   * operations in between, the system would keep the others until their callers have left.
   */
  #lettingIn = 0;
  #isDraining = false;
  /** The owner of the operation that started last, and when it did. */
  #last: { readonly owner: Owner; readonly at: number } | undefined;
  /**
   * Turns go on for as long as the input before them took: if the input of an overload got all the time, nothing of it would ever be carried out.
   */
  #roundEndsAt = 0;
  #leftAt = 0;
  /** What each tenant, or caller without one, has used since `#hadSince`, in milliseconds. */
  readonly #had = new Map<string, number>();
  #hadInAll = 0;
  #hadSince = 0;

  /** Undefined if the operation may start at once; otherwise a promise that resolves when it may. */
  turn(owner: Request, keepsLeases: () => boolean): Promise<void> | undefined {
    const isFree = this.#waiting.size === 0 && this.#lettingIn === 0;
    if (this.#begun < atOnce && (isFree || this.#hasHadLittle(owner))) {
      if (this.#begun++ === 0) setImmediate(this.#newRound);
      this.#begin(owner);
      afterPromises(this.#measure);
      return undefined;
    }
    return new Promise((begin) => {
      this.#waiting.push(pathOf(owner), { owner, keepsLeases: keepsLeases(), begin });
      this.#drain();
    });
  }

  /** A connection was accepted, and more may wait for that. */
  connected(): void {
    this.#lettingIn = roundsOfNew;
    this.#drain();
  }

  readonly #newRound = () => {
    this.#begun = 0;
  };

  #drain(): void {
    if (this.#isDraining) return;
    this.#isDraining = true;
    this.#leave();
  }

  /** Runs right after the event loop has read its input. */
  readonly #round = () => {
    const now = performance.now();
    if (this.#lettingIn > 0 && now - this.#leftAt < letInMs) {
      this.#lettingIn--;
      setImmediate(this.#round);
      return;
    }
    this.#roundEndsAt = now + Math.max(lookEveryMs, now - this.#leftAt);
    this.#next();
  };

  /** Lets the event loop handle its input. */
  #leave(): void {
    this.#leftAt = performance.now();
    setImmediate(this.#round);
  }

  /** Starts one operation, then the next once the first has gone as far as it can. */
  readonly #next = () => {
    this.#measure();
    if (performance.now() > this.#roundEndsAt) return this.#leave();
    const next = this.#waiting.take();
    if (next === undefined) {
      this.#isDraining = false;
      return;
    }
    this.#begin(next.owner);
    next.begin();
    afterPromises(this.#next);
  };

  #begin(owner: Owner): void {
    this.#measure();
    this.#last = { owner, at: performance.now() };
  }

  /** Charges the operation that started last: it now waits for something, or another one starts. */
  readonly #measure = () => {
    if (this.#last === undefined) return;
    const { owner, at } = this.#last;
    this.#last = undefined;
    const now = performance.now();
    const ms = now - at;
    this.#waiting.charge(pathOf(owner), ms);
    if (now - this.#hadSince > windowMs) {
      this.#had.clear();
      this.#hadInAll = 0;
      this.#hadSince = now;
    }
    const key = groupOf(owner);
    this.#had.set(key, (this.#had.get(key) ?? 0) + ms);
    this.#hadInAll += ms;
  };

  #hasHadLittle(owner: Owner): boolean {
    const had = this.#had.get(groupOf(owner)) ?? 0;
    return had * Math.max(2, this.#had.size) < this.#hadInAll;
  }
}

/** Calls back once all pending promise reactions have run, before the event loop handles more input. */
function afterPromises(call: () => void): void {
  queueMicrotask(() => process.nextTick(call));
}
