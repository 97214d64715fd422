/**
 * What a subscription shows: a state that changes. Its reader gets all of it first and then what changed, merged: however
 * slowly it reads, nothing piles up. The first change is told at once, later ones at most every interval, the end always.
 */
export abstract class Live<Event> implements AsyncIterableIterator<Event> {
  readonly #intervalMs: number;
  #toldAt = Number.NEGATIVE_INFINITY;
  #pending = false;
  #ending = false;
  #closed = false;
  #wake = () => {};
  #onEnding = () => {};
  /** Resolves when what is pending is the last. */
  readonly ending = new Promise<void>((resolve) => {
    this.#onEnding = resolve;
  });

  constructor(intervalMs: number) {
    this.#intervalMs = intervalMs;
  }

  /** All of it, as its reader knows it: for those who join that reader later. */
  abstract snapshot(): Event;

  /** Grows with every change that `next` gave: who has seen this revision needs no snapshot. Undefined if it has none. */
  get revision(): string | undefined {
    return undefined;
  }

  /** What is new since the last call. */
  protected abstract take(): Event;

  /** Called once, when nobody reads any more. */
  protected abstract onClose(): void;

  /** Whether what is pending is the last. */
  get isEnding(): boolean {
    return this.#ending;
  }

  protected get isClosed(): boolean {
    return this.#closed;
  }

  /** There is something to take. */
  protected changed(): void {
    if (this.#pending) return;
    this.#pending = true;
    this.#wake();
  }

  /** No more will come: the reader gets what waits for it, and then the end. */
  end(): void {
    this.#ending = true;
    this.#onEnding();
    this.#wake();
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
        await this.#sleep(earlyMs);
      } else if (this.#ending) {
        return this.return();
      } else {
        await this.#sleep();
      }
    }
    return { done: true, value: undefined };
  }

  async return(): Promise<IteratorReturnResult<undefined>> {
    if (!this.#closed) {
      this.#closed = true;
      this.onClose();
      this.#onEnding();
      this.#wake();
    }
    return { done: true, value: undefined };
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  async #sleep(ms?: number): Promise<void> {
    let timer: NodeJS.Timeout | undefined;
    await new Promise<void>((resolve) => {
      this.#wake = resolve;
      if (ms !== undefined) timer = setTimeout(resolve, ms);
    });
    clearTimeout(timer);
    this.#wake = () => {};
  }
}
