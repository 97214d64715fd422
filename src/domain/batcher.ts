/**
 * Merges calls into batches. A call goes out at once while fewer than `width` batches are under way; calls that arrive
 * meanwhile wait and go out together as soon as a place is free. So a quiet server adds no delay, and a busy one sends
 * few large statements: one item a call costs Postgres about thirty times what an item in a batch of 500 does.
 *
 * A batch that Postgres refuses is taken apart, so that what is wrong with one caller's entries never reaches another. One
 * whose answer was lost may have been carried out, so it is not sent again.
 */
import { isRolledBack } from '../db/sqlstate.ts';

export class Batcher<Entry, Answer> {
  readonly #run: (entries: Entry[]) => Promise<Answer[]>;
  readonly #width: number;
  readonly #maxWeight: number;
  readonly #weigh: (entry: Entry) => number;
  readonly #onIdle: (() => void) | undefined;
  #waiting: Call<Entry, Answer>[] = [];
  #underWay = 0;

  /** `run` answers its entries in their order. A batch weighs at most `maxWeight`, unless a single call weighs more. */
  constructor(options: {
    run: (entries: Entry[]) => Promise<Answer[]>;
    width: number;
    maxWeight: number;
    weigh?: (entry: Entry) => number;
    onIdle?: () => void;
  }) {
    this.#run = options.run;
    this.#width = options.width;
    this.#maxWeight = options.maxWeight;
    this.#weigh = options.weigh ?? (() => 1);
    this.#onIdle = options.onIdle;
  }

  submit(entries: Entry[]): Promise<Answer[]> {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ entries, resolve, reject });
      this.#next();
    });
  }

  #next(): void {
    while (this.#underWay < this.#width && this.#waiting.length > 0) {
      this.#underWay++;
      void this.#send(this.#take()).finally(() => {
        this.#underWay--;
        this.#next();
        if (this.#underWay === 0) this.#onIdle?.();
      });
    }
  }

  #take(): Call<Entry, Answer>[] {
    let weight = 0;
    let count = 0;
    for (const { entries } of this.#waiting) {
      for (const entry of entries) weight += this.#weigh(entry);
      if (count > 0 && weight > this.#maxWeight) break;
      count++;
    }
    return this.#waiting.splice(0, count);
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
  readonly resolve: (answers: Answer[]) => void;
  readonly reject: (error: unknown) => void;
}
