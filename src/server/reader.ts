/** Who reads a subscription that is shared. */
import type { ExecutionResult } from 'graphql';
import { Signal } from '../events/signal.ts';
import type { EncodedEvent } from './encoded-event.ts';

/** Where events come from. */
export interface Source {
  /** To be called once, when the reader has come to its end, or its client does not want it any more. */
  left(reader: Reader): void;
  /** To be called when the reader has become ready, by those that know; the others are asked from time to time. */
  isReady(reader: Reader): void;
}

/** Where events go. As the result of the subscription it ends when the subscription does. */
export interface Reader extends AsyncIterableIterator<ExecutionResult> {
  /** Called once, before anything is told. */
  join(source: Source): void;
  /** Whether it takes an event now. */
  readonly isReady: boolean;
  tell(event: EncodedEvent): void;
  end(): void;
}

/** Read by asking for the next result, as server-sent events are. Holds one that was not asked for yet. */
export class ResultReader implements Reader {
  #source: Source | undefined;
  #held: EncodedEvent | undefined;
  #ended = false;
  #closed = false;
  readonly #signal = new Signal();

  join(source: Source): void {
    this.#source = source;
  }

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
      this.#source?.left(this);
    }
    return { done: true, value: undefined };
  }

  [Symbol.asyncIterator](): this {
    return this;
  }
}
