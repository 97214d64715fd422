/**
 * Parses the messages of a WebSocket and passes them on in their order. A large one takes turns of the event loop, as a large body over HTTP does,
 * and those behind it wait, too.
 */
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Owner } from '../../concurrency/fair-queue.ts';
import { isLargeJson, parseJsonBody, readJsonBody } from '../http/request-body.ts';

export class SocketInbox {
  readonly #handle: (message: unknown, bytes: number) => void;
  readonly #refuse: (error: unknown) => void;
  readonly #isOpen: () => boolean;
  readonly #owner: () => Owner;
  readonly #onWaiting: (bytes: number) => void;
  readonly #messages: Buffer[] = [];
  #bytes = 0;

  /**
   * `refuse` is called with the error of a message that is no JSON, or has too much in it, or that `handle` throws; what comes after the socket has
   * closed is ignored. `onWaiting` is called with how many bytes wait, when this changes.
   */
  constructor(options: {
    handle: (message: unknown, bytes: number) => void;
    refuse: (error: unknown) => void;
    isOpen: () => boolean;
    owner: () => Owner;
    onWaiting: (bytes: number) => void;
  }) {
    this.#handle = options.handle;
    this.#refuse = options.refuse;
    this.#isOpen = options.isOpen;
    this.#owner = options.owner;
    this.#onWaiting = options.onWaiting;
  }

  receive(message: Buffer): void {
    if (this.#messages.length > 0 || isLargeJson(message)) {
      this.#wait(message.length);
      if (this.#messages.push(message) === 1) void this.#handleAll();
      return;
    }
    if (!this.#isOpen()) return;
    try {
      this.#handle(parseJsonBody(message), message.length);
    } catch (error) {
      this.#refuse(error);
    }
  }

  async #handleAll(): Promise<void> {
    for (let next = this.#messages[0]; next !== undefined; next = this.#messages[0]) {
      await nextTurn();
      const { length } = next;
      const reading = this.#isOpen() ? readJsonBody(next, this.#owner()) : Promise.resolve();
      await reading
        // From now on it counts for whoever handles it.
        .finally(() => this.#wait(-length))
        .then((message) => this.#isOpen() && this.#handle(message, length))
        .catch(this.#refuse);
      this.#messages.shift();
    }
  }

  #wait(more: number): void {
    this.#bytes += more;
    this.#onWaiting(this.#bytes);
  }
}
