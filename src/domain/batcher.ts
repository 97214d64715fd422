/**
 * Merges calls into batches. A call goes out at once while fewer than `width` batches are under way; calls that arrive
 * meanwhile wait and go out together as soon as a place is free. So a quiet server adds no delay, and a busy one sends
 * few large statements: one item a call costs Postgres about thirty times what an item in a batch of 500 does.
 *
 * What waits is bounded, by calls and by bytes, for all batchers that share a `Backlog`: a call beyond it is refused. A call
 * whose client has gone is dropped when its turn comes.
 *
 * A batch that Postgres refuses is taken apart, so that what is wrong with one caller's entries never reaches another. One
 * whose answer was lost may have been carried out, so it is not sent again.
 */
import { isRolledBack } from '../db/sqlstate.ts';
import { ClientGoneError, UnavailableError } from '../errors.ts';

/** What waits in merged calls, to be shared by batchers. */
export class Backlog {
  readonly #maxCalls: number;
  readonly #maxBytes: number;
  #calls = 0;
  #bytes = 0;

  constructor(options: { maxCalls: number; maxBytes: number }) {
    this.#maxCalls = options.maxCalls;
    this.#maxBytes = options.maxBytes;
  }

  /** One call alone may have any size. */
  enter(bytes: number): void {
    if (this.#calls >= this.#maxCalls || (this.#calls > 0 && this.#bytes + bytes > this.#maxBytes))
      throw new UnavailableError('More calls wait for Postgres than the server keeps.');
    this.#calls++;
    this.#bytes += bytes;
  }

  leave(bytes: number): void {
    this.#calls--;
    this.#bytes -= bytes;
  }
}

export class Batcher<Entry, Answer> {
  readonly #run: (entries: Entry[]) => Promise<Answer[]>;
  readonly #width: number;
  readonly #maxWeight: number;
  readonly #weigh: (entry: Entry) => number;
  readonly #onIdle: (() => void) | undefined;
  readonly #backlog: Backlog | undefined;
  readonly #bytesOf: (entry: Entry) => number;
  readonly #smallFirst: boolean;
  #waiting: Call<Entry, Answer>[] = [];
  #underWay = 0;

  /** `run` answers its entries in their order. A batch weighs at most `maxWeight`, unless a single call weighs more. */
  constructor(options: {
    run: (entries: Entry[]) => Promise<Answer[]>;
    width: number;
    maxWeight: number;
    weigh?: (entry: Entry) => number;
    onIdle?: () => void;
    /** Without it, whatever comes may wait. */
    backlog?: Backlog;
    bytesOf?: (entry: Entry) => number;
    /** A call with fewer entries goes before those with more, so nobody waits for the many of a stranger. */
    smallFirst?: boolean;
  }) {
    this.#run = options.run;
    this.#width = options.width;
    this.#maxWeight = options.maxWeight;
    this.#weigh = options.weigh ?? (() => 1);
    this.#onIdle = options.onIdle;
    this.#backlog = options.backlog;
    this.#bytesOf = options.bytesOf ?? (() => 0);
    this.#smallFirst = options.smallFirst ?? false;
  }

  /** With `isGone`, a call that waits is dropped once nobody wants its answer. */
  submit(entries: Entry[], isGone?: () => boolean): Promise<Answer[]> {
    return new Promise((resolve, reject) => {
      const bytes = entries.reduce((sum, entry) => sum + this.#bytesOf(entry), 0);
      try {
        this.#backlog?.enter(bytes);
      } catch (error) {
        if (this.#underWay === 0) this.#onIdle?.();
        throw error;
      }
      this.#wait({ entries, bytes, isGone, resolve, reject });
      this.#next();
    });
  }

  #wait(call: Call<Entry, Answer>): void {
    const isBefore = (other: Call<Entry, Answer>) => other.entries.length <= call.entries.length;
    const place = this.#smallFirst ? this.#waiting.findLastIndex(isBefore) + 1 : this.#waiting.length;
    this.#waiting.splice(place, 0, call);
  }

  #next(): void {
    while (this.#underWay < this.#width) {
      const calls = this.#take();
      if (calls.length === 0) return;
      this.#underWay++;
      void this.#send(calls).finally(() => {
        this.#underWay--;
        this.#next();
        if (this.#underWay === 0) this.#onIdle?.();
      });
    }
  }

  #take(): Call<Entry, Answer>[] {
    const calls: Call<Entry, Answer>[] = [];
    let weight = 0;
    let count = 0;
    for (const call of this.#waiting) {
      const isGone = call.isGone?.() === true;
      if (!isGone) {
        for (const entry of call.entries) weight += this.#weigh(entry);
        if (calls.length > 0 && weight > this.#maxWeight) break;
        calls.push(call);
      }
      count++;
      this.#backlog?.leave(call.bytes);
      if (isGone) call.reject(new ClientGoneError());
    }
    this.#waiting.splice(0, count);
    return calls;
  }

  async #send(calls: Call<Entry, Answer>[]): Promise<void> {
    try {
      const answers = await this.#run(calls.flatMap((call) => call.entries));
      let from = 0;
      for (const { entries, resolve } of calls) {
        resolve(answers.slice(from, from + entries.length));
        from += entries.length;
      }
    } catch (error) {
      if (calls.length === 1 || !isRolledBack(error)) for (const { reject } of calls) reject(error);
      else for (const call of calls) await this.#send([call]);
    }
  }
}

interface Call<Entry, Answer> {
  readonly entries: Entry[];
  readonly bytes: number;
  readonly isGone: (() => boolean) | undefined;
  readonly resolve: (answers: Answer[]) => void;
  readonly reject: (error: unknown) => void;
}
