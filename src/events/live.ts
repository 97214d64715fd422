import { Signal } from './signal.ts';

/**
 * What a subscription shows: a state that changes. Its reader gets all of it first and then what changed, merged: however
 * slowly it reads, nothing piles up. The first change is told at once, later ones at most every interval, the end always.
 */
export abstract class Live<Event> implements AsyncIterableIterator<Event> {
  /** What a reader that does not share it knows already; one that shares it has this on its own. */
  sinceRevision: string | undefined;
  readonly #intervalMs: number;
  readonly #signal = new Signal();
  readonly #resting = new Signal();
  #toldAt = Number.NEGATIVE_INFINITY;
  #pending = false;
  #ending = false;
  #complete = false;
  #closed = false;

  constructor(intervalMs: number) {
    this.#intervalMs = intervalMs;
  }

  /** All of it, as its reader knows it or newer: for those who join that reader later. */
  abstract snapshot(): Event;

  /** Reads it again, since somebody may know of something newer; what it finds comes as an event. Resolves once it is read. */
  abstract refresh(): Promise<void>;

  /** Grows with every change that `next` gave: who has seen this revision needs no snapshot. Undefined if it has none. */
  get revision(): string | undefined {
    return undefined;
  }

  /** Grows when a snapshot has something that no event has told yet. */
  get edition(): number {
    return 0;
  }

  /** All readers have seen all events: no snapshot has to tell any more what left before. */
  settled(): void {}

  /** What is new since the last call. */
  protected abstract take(): Event;

  /** Called once, when nobody reads any more. */
  protected abstract onClose(): void;

  /** Whether what was told last is the final state. */
  get isFinal(): boolean {
    return this.#complete && !this.#pending;
  }

  protected get isClosed(): boolean {
    return this.#closed;
  }

  /** There is something to take. */
  protected changed(): void {
    if (this.#pending) return;
    this.#pending = true;
    this.#signal.fire();
  }

  /** The state is final: the reader gets what waits for it, and then the end. */
  complete(): void {
    this.#complete = true;
    this.end();
  }

  /** No more will come: the reader gets what waits for it, and then the end. */
  end(): void {
    this.#ending = true;
    this.#resting.fire();
    this.#signal.fire();
  }

  async next(): Promise<IteratorResult<Event, undefined>> {
    while (!this.#closed) {
      if (this.#pending) {
        const now = performance.now();
        const earlyMs = this.#ending ? 0 : this.#toldAt + this.#intervalMs - now;
        if (earlyMs <= 0) {
          this.#pending = false;
          this.#toldAt = now;
          return { done: false, value: this.take() };
        }
        await this.#signal.wait(earlyMs);
      } else if (this.#ending) {
        return this.return();
      } else {
        await this.#signal.wait();
      }
    }
    return { done: true, value: undefined };
  }

  async return(): Promise<IteratorReturnResult<undefined>> {
    if (!this.#closed) {
      this.#closed = true;
      this.onClose();
      this.#resting.fire();
      this.#signal.fire();
    }
    return { done: true, value: undefined };
  }

  /** A pause of its reader, which the end cuts short. */
  async rest(ms: number): Promise<void> {
    if (!this.#ending && !this.#closed) await this.#resting.wait(ms);
  }

  [Symbol.asyncIterator](): this {
    return this;
  }
}
