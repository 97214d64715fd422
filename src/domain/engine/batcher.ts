/**
 * Merges calls into batches. A call goes out at once while fewer than `width` batches are under way; calls that arrive meanwhile
 * wait and go out together as soon as a place is free. So a quiet server adds no delay, and a busy one sends few large
 * statements: one item a call costs Postgres about thirty times what an item in a batch of 500 does.
 *
 * Waiting calls are taken in turns from each tenant and each of its callers, with equal weight. A caller that is the only one
 * with anything to send may use all places. Otherwise each may have one batch under way, and there is one extra place for callers
 * that have none. Calls of a caller that could fill half a batch alone are not merged with others', and go in smaller batches,
 * since Postgres divides its time evenly among the batches under way. So a caller that sends little neither waits for the
 * thousands of another, nor is merged with them.
 *
 * The backlog is bounded, by calls and by bytes, for all batchers that share a `Backlog`: a call beyond it is refused. A call
 * whose client has gone is dropped when its turn comes.
 *
 * If Postgres refuses a batch, its calls are sent again one by one, so that an error in one caller's entries never reaches
 * another. A batch whose answer was lost may have been carried out, so it is not sent again.
 */
import { setImmediate as nextTurn } from 'node:timers/promises';
import { FairQueue, groupOf, type Owner, pathOf } from '../../concurrency/fair-queue.ts';
import type { Request } from '../../concurrency/fair-semaphore.ts';
import { isRolledBack } from '../../db/sqlstate.ts';
import { ClientGoneError, UnavailableError } from '../../errors.ts';

/** The share of the backlog that a single caller or tenant may fill. */
const partOfOne = 0.9;

/** The bounds of the calls that wait to be merged; batchers can share one. */
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

  /** A call of any size may enter while nothing else waits. */
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

/** In a batch that several callers fill, each adds up to this fraction of it before the next one's turn. */
const turnsOfBatch = 10;
/** How many callers get their answers in one turn of the event loop. */
const answersAtOnce = 3;
/** While a batcher is shared, a caller that sends much gets this share of a batch. It counts as shared for `sharedMs` after callers alternate. */
const partWhileShared = 0.2;
const sharedMs = 100;
/** Places beyond the width, for callers that have nothing under way. */
const waysForOthers = 1;

export class Batcher<Entry, Answer> {
  readonly #run: (entries: Entry[], request: Request) => Promise<Answer[]>;
  readonly #width: number;
  readonly #maxWeight: number;
  readonly #weigh: (entry: Entry) => number;
  readonly #onIdle: (() => void) | undefined;
  readonly #backlog: Backlog | undefined;
  readonly #bytesOf: (entry: Entry) => number;
  readonly #waiting: FairQueue<Call<Entry, Answer>>;
  #underWay = 0;
  #last: string | undefined;
  /** When calls of two different callers last followed each other. */
  #sharedAt = Number.NEGATIVE_INFINITY;
  /** How many batches each caller has under way. */
  readonly #groups = new Map<string, number>();
  /** The weight of each caller's waiting calls. */
  readonly #weights = new Map<string, number>();

  /** `run` gets the owner of the first call, and returns answers in the order of its entries. A batch weighs at most `maxWeight`, unless a single call weighs more. */
  constructor(options: {
    run: (entries: Entry[], request: Request) => Promise<Answer[]>;
    width: number;
    maxWeight: number;
    weigh?: (entry: Entry) => number;
    onIdle?: () => void;
    /** Without it, the number of waiting calls is unlimited. */
    backlog?: Backlog;
    bytesOf?: (entry: Entry) => number;
    /** Among the calls of one caller, those with fewer entries go first. */
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
      isOver: ({ isGone }) => isGone?.() === true,
      ...(options.smallFirst && { isBefore: (one, other) => one.entries.length < other.entries.length }),
    });
  }

  /** Waiting owners take turns. With `isGone`, a waiting call is dropped once nobody wants its answer. */
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

  /** Whether a call may go out now, in a batch with `first` if there is one. */
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

  /** A caller with this much is not merged with others. */
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
      const isGone = () => calls.every((call) => call.isGone?.() === true);
      const answers = await this.#run(
        calls.flatMap((call) => call.entries),
        { ...calls[0]?.owner, isGone },
      );
      let from = 0;
      for (const [i, { entries, resolve }] of calls.entries()) {
        // Each caller writes its answer in that pause, and meanwhile others have batches under way.
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
