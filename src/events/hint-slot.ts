/** What a subscriber to work hints has not yet taken: a set of types. It is told at once after a rest, and then at most so often. */

/** Idle, a worker hears of new work at once; busy, it needs no more than this. */
const restMs = 20;

export class HintSlot implements AsyncIterableIterator<string[]> {
  readonly types: ReadonlySet<string>;
  readonly #onClose: (slot: HintSlot) => void;
  #pending: Set<string>;
  #restsUntil = 0;
  #wake: (() => void) | undefined;
  #closed = false;

  constructor(types: Iterable<string>, onClose: (slot: HintSlot) => void) {
    this.types = new Set(types);
    this.#onClose = onClose;
    // Work may be there already.
    this.#pending = new Set(this.types);
  }

  offer(type: string): void {
    this.#pending.add(type);
    this.#wake?.();
  }

  async next(): Promise<IteratorResult<string[]>> {
    for (;;) {
      if (this.#closed) return { done: true, value: undefined };
      const remainingMs = this.#restsUntil - performance.now();
      if (this.#pending.size === 0) await this.#woken();
      else if (remainingMs > 0) await this.#woken(remainingMs);
      else break;
    }
    const types = [...this.#pending];
    this.#pending = new Set();
    this.#restsUntil = performance.now() + restMs;
    return { done: false, value: types };
  }

  async return(): Promise<IteratorReturnResult<undefined>> {
    if (!this.#closed) {
      this.#closed = true;
      this.#onClose(this);
      this.#wake?.();
    }
    return { done: true, value: undefined };
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  /** Resolves when something happens, or after the time. */
  async #woken(ms?: number): Promise<void> {
    let timer: NodeJS.Timeout | undefined;
    await new Promise<void>((resolve) => {
      this.#wake = resolve;
      if (ms !== undefined) timer = setTimeout(resolve, ms);
    });
    clearTimeout(timer);
  }
}
