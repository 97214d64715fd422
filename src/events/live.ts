import { Signal } from '../concurrency/signal.ts';

/**
 * A changing state that a subscription shows. Its reader first gets the whole state, then the changes, merged, so nothing piles
 * up however slowly it reads. The first change is sent at once, later ones at most once per interval, and the end always.
 */
export abstract class Live<Event> implements AsyncIterableIterator<Event> {
  /** The revision that the reader knows already, if it does not share this object with others; readers that share it keep their own. */
  sinceRevision: string | undefined;
  readonly #intervalMs: number;
  readonly #signal = new Signal();
  readonly #resting = new Signal();
  #toldAt = Number.NEGATIVE_INFINITY;
  #events = 0;
  #pending = false;
  #ending = false;
  #complete = false;
  #closed = false;

  constructor(intervalMs: number) {
    this.#intervalMs = intervalMs;
  }

  /** The whole state, at least as new as the reader knows it: for readers that join later. */
  abstract snapshot(): Event;

  /** Reads the state again, since somebody may know a newer one; changes come as an event. Resolves once it is read. */
  abstract refresh(): Promise<void>;

  /** Grows with every change that `next` returned: a reader that has seen this revision needs no snapshot. Undefined if there are no revisions. */
  get revision(): string | undefined {
    return undefined;
  }

  /** Grows with what a snapshot tells: with each event, unless it also tells what no event has told yet. */
  get edition(): number {
    return this.#events;
  }

  /** Whether each event is the whole state, as a snapshot is. */
  get isWhole(): boolean {
    return false;
  }

  /** All readers have seen all events: snapshots need no longer report what left before. */
  settled(): void {}

  /** It keeps no more of what left for readers that have not seen all events: they must begin again. */
  get isFull(): boolean {
    return false;
  }

  /** Returns the changes since the last call. */
  protected abstract take(): Event;

  /** Called once, when there is no reader any more. */
  protected abstract onClose(): void;

  /** Whether the last event had the final state. */
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

  /** The state is final: the reader gets pending changes, then the end. */
  complete(): void {
    this.#complete = true;
    this.end();
  }

  /** Nothing more comes: the reader gets pending changes, then the end. */
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
          this.#events++;
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

  /** Pauses the reader; the end cuts the pause short. */
  async rest(ms: number): Promise<void> {
    if (!this.#ending && !this.#closed) await this.#resting.wait(ms);
  }

  [Symbol.asyncIterator](): this {
    return this;
  }
}
