/** Readers of a shared subscription. */
import type { ExecutionResult } from 'graphql';
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

/** A reader whose events are written to its connection directly. */
export abstract class DirectReader implements Reader {
  #source: Source | undefined;
  #hasEnded = false;

  abstract readonly isReady: boolean;
  abstract tell(event: EncodedEvent): void;
  abstract end(): void;

  /** Whether there are, or will be, events. */
  get hasJoined(): boolean {
    return this.#source !== undefined;
  }

  get hasEnded(): boolean {
    return this.#hasEnded;
  }

  join(source: Source): void {
    this.#source = source;
  }

  /** Called when it is ready again. */
  nowReady(): void {
    this.#source?.isReady(this);
  }

  /** Called when its client has left. */
  async return(): Promise<IteratorReturnResult<undefined>> {
    this.leave();
    return { done: true, value: undefined };
  }

  /** The plugins take this for an iterator, but nobody iterates. */
  next(): Promise<never> {
    return Promise.reject(new Error('These events are written to the connection directly.'));
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  protected leave(): void {
    if (this.#hasEnded) return;
    this.#hasEnded = true;
    this.#source?.left(this);
  }
}
