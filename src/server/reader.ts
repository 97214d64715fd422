/** Who reads a subscription that is shared. */
import type { ExecutionResult } from 'graphql';
import { Signal } from '../events/signal.ts';
import type { EncodedEvent } from './encoded-event.ts';

/** Where events go. As the result of the subscription it ends when the subscription does. */
export interface Reader extends AsyncIterableIterator<ExecutionResult> {
  /** Whether it takes an event now. */
  readonly isReady: boolean;
  tell(event: EncodedEvent): void;
  end(): void;
  /** Called once, when the client does not want it any more. */
  onReturn: () => void;
  /** Called when it has become ready, by those that know; the others are asked from time to time. */
  onReady: () => void;
}

/** Read by asking for the next result, as server-sent events are. Holds one that was not asked for yet. */
export class ResultReader implements Reader {
  onReturn = () => {};
  onReady = () => {};
  #held: EncodedEvent | undefined;
  #ended = false;
  #closed = false;
  readonly #signal = new Signal();

  get isReady(): boolean {
    return this.#held === undefined;
  }

  tell(event: EncodedEvent): void {
    this.#held = event;
    this.#signal.fire();
  }

  end(): void {
    this.#ended = true;
    this.#signal.fire();
  }

  async next(): Promise<IteratorResult<ExecutionResult>> {
    while (this.#held === undefined && !this.#ended) await this.#signal.wait();
    if (this.#held === undefined || this.#closed) return this.return();
    const { result } = this.#held;
    this.#held = undefined;
    return { done: false, value: result };
  }

  async return(): Promise<IteratorReturnResult<undefined>> {
    if (!this.#closed) {
      this.#closed = true;
      this.end();
      this.onReturn();
    }
    return { done: true, value: undefined };
  }

  [Symbol.asyncIterator](): this {
    return this;
  }
}
