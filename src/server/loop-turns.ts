/**
 * Who has the event loop: operations that arrive together begin by turns of their tenants and callers, for as long each. Without this,
 * whoever has sixty connections would have sixty times as much of it as whoever has one.
 *
 * Whoever has had less than a fair part of it lately begins at once, and so does everybody on a quiet server. The others wait, and between
 * their turns it is looked at what has come.
 */
import { FairQueue, groupOf, type Owner, pathOf } from '../db/fair-queue.ts';

/** So many begin at once while nobody waits. */
const atOnce = 4;
/** How long each has a turn, and how long it takes until it is looked at what has come. */
const turnMs = 1;
const lookEveryMs = 2;
/** How long it is known who has had how much. */
const windowMs = 100;

interface Waiting {
  readonly owner: Owner;
  readonly begin: () => void;
}

export class LoopTurns {
  readonly #waiting = new FairQueue<Waiting>({ turn: turnMs, costOf: () => 0 });
  /** In this round of the event loop. */
  #begun = 0;
  #isDraining = false;
  /** Whose operation began last, and when. */
  #last: { readonly owner: Owner; readonly at: number } | undefined;
  #roundAt = 0;
  /** What each has had since, in milliseconds: tenants, and callers without one. */
  readonly #had = new Map<string, number>();
  #hadInAll = 0;
  #hadSince = 0;

  /** Undefined if it may begin at once; otherwise resolves when it may. */
  turn(owner: Owner): Promise<void> | undefined {
    if (this.#begun < atOnce && (this.#waiting.size === 0 || this.#hasHadLittle(owner))) {
      if (this.#begun++ === 0) setImmediate(this.#newRound);
      this.#begin(owner);
      afterPromises(this.#measure);
      return undefined;
    }
    return new Promise((begin) => {
      this.#waiting.push(pathOf(owner), { owner, begin });
      this.#drain();
    });
  }

  readonly #newRound = () => {
    this.#begun = 0;
  };

  #drain(): void {
    if (this.#isDraining) return;
    this.#isDraining = true;
    setImmediate(this.#round);
  }

  /** What has come was read just before. */
  readonly #round = () => {
    this.#roundAt = performance.now();
    this.#next();
  };

  /** One at a time: what it does goes on after this function, up to the next one. */
  readonly #next = () => {
    this.#measure();
    if (performance.now() - this.#roundAt > lookEveryMs) {
      setImmediate(this.#round);
      return;
    }
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

  /** What began last has come so far that it waits for something, or another one has begun. */
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

/** When all that promises had to go on with is done, without a look at what has come. */
function afterPromises(call: () => void): void {
  queueMicrotask(() => process.nextTick(call));
}
