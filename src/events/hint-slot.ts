/** The types that a subscriber to work hints has yet to be told. It is told at once, but at most once every `restMs`. */
import { Signal } from '../concurrency/signal.ts';

/** An idle worker hears of new work at once; a busy one needs no hint more often than this, in milliseconds. */
const restMs = 20;

export class HintSlot implements AsyncIterableIterator<string[]> {
  readonly types: ReadonlySet<string>;
  readonly #onClose: (slot: HintSlot) => void;
  readonly #signal = new Signal();
  #pending: Set<string>;
  #restsUntil = 0;
  #closed = false;

  constructor(types: Iterable<string>, onClose: (slot: HintSlot) => void) {
    this.types = new Set(types);
    this.#onClose = onClose;
    // There may be work already.
    this.#pending = new Set(this.types);
  }

  offer(type: string): void {
    this.#pending.add(type);
    this.#signal.fire();
  }

  async next(): Promise<IteratorResult<string[]>> {
    for (;;) {
      if (this.#closed) return { done: true, value: undefined };
      const remainingMs = this.#restsUntil - performance.now();
      if (this.#pending.size === 0) await this.#signal.wait();
      else if (remainingMs > 0) await this.#signal.wait(remainingMs);
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
      this.#signal.fire();
    }
    return { done: true, value: undefined };
  }

  [Symbol.asyncIterator](): this {
    return this;
  }
}
