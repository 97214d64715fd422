/**
 * Passes on the messages of a WebSocket in their order. A large one waits for a turn of the event loop, as a large body over HTTP does, and those
 * behind it wait, too.
 */
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Owner } from '../../concurrency/fair-queue.ts';
import { largeTurn } from '../../concurrency/large-turns.ts';
import { isLargeJson } from '../http/request-body.ts';

export class SocketInbox {
  readonly #handle: (message: Buffer) => void;
  readonly #owner: () => Owner;
  readonly #onWaiting: (bytes: number) => void;
  readonly #messages: Buffer[] = [];
  #bytes = 0;

  /** `handle` must not throw. `onWaiting` is called with how many bytes wait, when this changes. */
  constructor(options: {
    handle: (message: Buffer) => void;
    owner: () => Owner;
    onWaiting: (bytes: number) => void;
  }) {
    this.#handle = options.handle;
    this.#owner = options.owner;
    this.#onWaiting = options.onWaiting;
  }

  receive(message: Buffer): void {
    if (this.#messages.length === 0 && !isLargeJson(message)) {
      this.#handle(message);
      return;
    }
    this.#wait(message.length);
    if (this.#messages.push(message) === 1) void this.#handleAll();
  }

  async #handleAll(): Promise<void> {
    for (let next = this.#messages[0]; next !== undefined; next = this.#messages[0]) {
      await (isLargeJson(next) ? largeTurn(next.length, this.#owner()) : nextTurn());
      // From now on it counts for whoever handles it.
      this.#wait(-next.length);
      this.#handle(next);
      this.#messages.shift();
    }
  }

  #wait(more: number): void {
    this.#bytes += more;
    this.#onWaiting(this.#bytes);
  }
}
