/** Readers of a shared subscription. */
import type { ExecutionResult } from 'graphql';
import { Signal } from '../../events/signal.ts';
import type { EncodedEvent } from './encoded-event.ts';

/** Where a reader's events come from. */
export interface Source {
  /** Must be called once, when the reader has ended or its client has cancelled it. */
  left(reader: Reader): void;
  /** Called when the reader has become ready, by readers that can tell; the others are polled. */
  isReady(reader: Reader): void;
}

/** Where events go. As the result of a subscription it ends when the subscription does. */
export interface Reader extends AsyncIterableIterator<ExecutionResult> {
  /** Called once, before the first event. */
  join(source: Source): void;
  /** Whether it can take an event now. */
  readonly isReady: boolean;
  tell(event: EncodedEvent): void;
  end(): void;
}

/** A reader whose client pulls results, as server-sent events do. Holds the one result that was not pulled yet. */
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
