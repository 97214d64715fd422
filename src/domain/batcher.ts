/**
 * Merges calls into batches. A call goes out at once while fewer than `width` batches are under way; calls that arrive
 * meanwhile wait and go out together as soon as a place is free. So a quiet server adds no delay, and a busy one sends
 * few large statements: one item a call costs Postgres about thirty times what an item in a batch of 500 does.
 *
 * Those who wait are taken by turns from each tenant and each of its callers, as much from each. While only one has anything to send it
 * has all ways. Otherwise it has one, and there is one more for those who have nothing under way; and what fills half a batch by itself goes
 * alone, and in parts, since Postgres gives as much time to whatever is under way. So whoever sends a little does not wait for the thousands
 * of another, nor is merged with them.
 *
 * What waits is bounded, by calls and by bytes, for all batchers that share a `Backlog`: a call beyond it is refused. A call
 * whose client has gone is dropped when its turn comes.
 *
 * A batch that Postgres refuses is taken apart, so that what is wrong with one caller's entries never reaches another. One
 * whose answer was lost may have been carried out, so it is not sent again.
 */
import { setImmediate as nextTurn } from 'node:timers/promises';
import { FairQueue, groupOf, type Owner, pathOf } from '../db/fair-queue.ts';
import { isRolledBack } from '../db/sqlstate.ts';
import { ClientGoneError, UnavailableError } from '../errors.ts';

/** One caller, or tenant, may have so much of what may wait. */
const partOfOne = 0.9;

/** What waits in merged calls, to be shared by batchers. */
export class Backlog {
  readonly #maxCalls: number;
  readonly #maxBytes: number;
  readonly #all: Waiting = { calls: 0, bytes: 0 };
  /** By tenant, and by caller. */
  readonly #tenants = new Map<string, Waiting>();
  readonly #accounts = new Map<string, Waiting>();

  constructor(options: { maxCalls: number; maxBytes: number }) {
    this.#maxCalls = options.maxCalls;
    this.#maxBytes = options.maxBytes;
  }

  /** One call alone may have any size. */
  enter({ tenant, account }: Owner, bytes: number): void {
    const parts = [tenant && this.#tenants.get(tenant), account && this.#accounts.get(account)];
    if (!this.#fits(this.#all, bytes, 1) || parts.some((part) => part && !this.#fits(part, bytes, partOfOne)))
      throw new UnavailableError('More calls wait for Postgres than the server keeps.');
    this.#change({ tenant, account }, 1, bytes);
  }

  leave(owner: Owner, bytes: number): void {
    this.#change(owner, -1, -bytes);
  }

  #fits({ calls, bytes }: Waiting, more: number, part: number): boolean {
    return calls === 0 || (calls < this.#maxCalls * part && bytes + more <= this.#maxBytes * part);
  }

  #change({ tenant, account }: Owner, calls: number, bytes: number): void {
    this.#all.calls += calls;
    this.#all.bytes += bytes;
    if (tenant) changePart(this.#tenants, tenant, calls, bytes);
    if (account) changePart(this.#accounts, account, calls, bytes);
  }
}

interface Waiting {
  calls: number;
  bytes: number;
}

function changePart(parts: Map<string, Waiting>, key: string, calls: number, bytes: number): void {
  const part = parts.get(key) ?? { calls: 0, bytes: 0 };
  part.calls += calls;
  part.bytes += bytes;
  if (part.calls === 0) parts.delete(key);
  else parts.set(key, part);
}

/** Of a batch that several fill, each has so much before the next has a turn. */
const turnsOfBatch = 10;
/** Of callers, in one turn of the event loop. */
const answersAtOnce = 3;
/** Of a whole batch, for those who have much to send beside others; that there are others is known for so long. */
const partWhileShared = 0.2;
const sharedMs = 100;
/** Beside the width, for those who have nothing under way. */
const waysForOthers = 1;

export class Batcher<Entry, Answer> {
  readonly #run: (entries: Entry[]) => Promise<Answer[]>;
  readonly #width: number;
  readonly #maxWeight: number;
  readonly #weigh: (entry: Entry) => number;
  readonly #onIdle: (() => void) | undefined;
  readonly #backlog: Backlog | undefined;
  readonly #bytesOf: (entry: Entry) => number;
  readonly #waiting: FairQueue<Call<Entry, Answer>>;
  #underWay = 0;
  #last: string | undefined;
  /** When somebody other than the one before last sent something. */
  #sharedAt = Number.NEGATIVE_INFINITY;
  /** Who has something under way, in how many batches. */
  readonly #groups = new Map<string, number>();
  /** What each has waiting. */
  readonly #weights = new Map<string, number>();

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
    /** Of one caller, a call with fewer entries goes before those with more. */
    smallFirst?: boolean;
  }) {
    this.#run = options.run;
    this.#width = options.width;
    this.#maxWeight = options.maxWeight;
    this.#weigh = options.weigh ?? (() => 1);
    this.#onIdle = options.onIdle;
    this.#backlog = options.backlog;
    this.#bytesOf = options.bytesOf ?? (() => 0);
    this.#waiting = new FairQueue({
      turn: Math.max(1, this.#maxWeight / turnsOfBatch),
      costOf: ({ weight }) => weight,
      ...(options.smallFirst && { isBefore: (one, other) => one.entries.length < other.entries.length }),
    });
  }

  /** Those who wait have their turns by owner. With `isGone`, a call that waits is dropped once nobody wants its answer. */
  submit(entries: Entry[], owner: Owner, isGone?: () => boolean): Promise<Answer[]> {
    return new Promise((resolve, reject) => {
      const bytes = entries.reduce((sum, entry) => sum + this.#bytesOf(entry), 0);
      try {
        this.#backlog?.enter(owner, bytes);
      } catch (error) {
        if (this.#underWay === 0) this.#onIdle?.();
        throw error;
      }
      const weight = entries.reduce((sum, entry) => sum + this.#weigh(entry), 0);
      const call = { entries, owner, group: groupOf(owner), bytes, weight, isGone, resolve, reject };
      if (call.group !== this.#last) {
        if (this.#last !== undefined) this.#sharedAt = performance.now();
        this.#last = call.group;
      }
      this.#wait(call, 1);
      this.#waiting.push(pathOf(owner), call);
      this.#next();
    });
  }

  #next(): void {
    while (this.#underWay < this.#width + waysForOthers) {
      const calls = this.#take();
      if (calls.length === 0) return;
      const groups = new Set(calls.map(({ group }) => group));
      this.#underWay++;
      for (const group of groups) this.#groups.set(group, (this.#groups.get(group) ?? 0) + 1);
      void this.#send(calls).finally(() => {
        this.#underWay--;
        for (const group of groups) this.#leave(group);
        this.#next();
        if (this.#underWay === 0) this.#onIdle?.();
      });
    }
  }

  #leave(group: string): void {
    const left = (this.#groups.get(group) ?? 0) - 1;
    if (left > 0) this.#groups.set(group, left);
    else this.#groups.delete(group);
  }

  #take(): Call<Entry, Answer>[] {
    const calls: Call<Entry, Answer>[] = [];
    let left = this.#maxWeight;
    const fits = (call: Call<Entry, Answer>) =>
      call.isGone?.() === true ||
      (this.#mayGo(call, calls[0]) && (calls.length === 0 || call.weight <= left));
    for (let call = this.#waiting.take(fits); call !== undefined; call = this.#waiting.take(fits)) {
      this.#backlog?.leave(call.owner, call.bytes);
      if (call.isGone?.()) {
        this.#wait(call, -1);
        call.reject(new ClientGoneError());
        continue;
      }
      if (calls.length === 0 && this.#isShared && this.#hasMuch(call.group)) left *= partWhileShared;
      calls.push(call);
      left -= call.weight;
    }
    for (const call of calls) this.#wait(call, -1);
    return calls;
  }

  /** With the first of a batch, if there is one. */
  #mayGo({ group }: Call<Entry, Answer>, first: Call<Entry, Answer> | undefined): boolean {
    if (first !== undefined && first.group !== group && (this.#hasMuch(first.group) || this.#hasMuch(group)))
      return false;
    const isUnderWay = this.#groups.has(group);
    if (this.#underWay >= this.#width) return !isUnderWay && this.#groups.size > 0;
    const isAlone = this.#groups.size === 1 && this.#weights.size === 1;
    return !isUnderWay || isAlone;
  }

  get #isShared(): boolean {
    return performance.now() - this.#sharedAt < sharedMs;
  }

  /** What fills half a batch is not merged with what others send. */
  #hasMuch(group: string): boolean {
    return (this.#weights.get(group) ?? 0) >= this.#maxWeight / 2;
  }

  #wait({ group, weight }: Call<Entry, Answer>, sign: 1 | -1): void {
    const left = (this.#weights.get(group) ?? 0) + sign * weight;
    // Sums of fractions are never quite zero.
    if (left > 1e-6) this.#weights.set(group, left);
    else this.#weights.delete(group);
  }

  async #send(calls: Call<Entry, Answer>[]): Promise<void> {
    try {
      const answers = await this.#run(calls.flatMap((call) => call.entries));
      let from = 0;
      for (const [i, { entries, resolve }] of calls.entries()) {
        // Each writes its answer then, and others have something under way.
        if (i > 0 && i % answersAtOnce === 0 && this.#groups.size > 1) await nextTurn();
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
  readonly owner: Owner;
  readonly group: string;
  readonly bytes: number;
  readonly weight: number;
  readonly isGone: (() => boolean) | undefined;
  readonly resolve: (answers: Answer[]) => void;
  readonly reject: (error: unknown) => void;
}
