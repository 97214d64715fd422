/**
 * A subscription on a WebSocket, read past graphql-ws: events are written to the socket as they are, only with the operation's
 * id around them. Everything else of the protocol, errors and completion among it, stays with graphql-ws.
 */
import type { ExecutionResult } from 'graphql';
import type { WebSocket } from 'ws';
import type { EncodedEvent, Reader } from './shared-subscriptions.ts';

const windowBytes = 32 * 1024;
const confirmEveryBytes = windowBytes / 2;
/** Tells our pings from those that only ask whether anybody is there. */
const confirmation = 'read ';

/**
 * How much may be on its way to a client that has not read it yet. The system would take megabytes for one that reads slowly, and
 * what it then reads is minutes old. So a ping goes after the events, and its answer says that they were read.
 */
export class SocketWindow {
  readonly readers = new Set<SocketReader>();
  readonly #socket: WebSocket;
  #sent = 0;
  #asked = 0;
  #confirmed = 0;

  constructor(socket: WebSocket) {
    this.#socket = socket;
    socket.on('pong', (data: Buffer) => {
      if (String(data) !== `${confirmation}${this.#asked}`) return;
      this.#confirmed = this.#asked;
      this.#ask();
      for (const reader of this.readers) {
        if (!this.isOpen) break;
        reader.onReady();
      }
    });
  }

  get isOpen(): boolean {
    return this.#sent - this.#confirmed <= windowBytes && this.#socket.bufferedAmount <= windowBytes;
  }

  get isGone(): boolean {
    return this.#socket.readyState !== this.#socket.OPEN;
  }

  send(text: string): void {
    this.#socket.send(text);
    this.#sent += text.length;
    if (this.#asked === this.#confirmed) this.#ask();
  }

  #ask(): void {
    if (this.#sent - this.#asked < confirmEveryBytes) return;
    this.#asked = this.#sent;
    if (this.#socket.readyState === this.#socket.OPEN) this.#socket.ping(`${confirmation}${this.#asked}`);
  }
}

export class SocketReader implements Reader {
  onReturn = () => {};
  onReady = () => {};
  readonly #window: SocketWindow;
  readonly #head: string;
  #ended = false;
  #returned = false;
  #wake = () => {};

  /** While it reads it is one of the window's readers. */
  constructor(window: SocketWindow, operationId: string) {
    this.#window = window;
    this.#head = `{"id":${JSON.stringify(operationId)},"type":"next","payload":`;
  }

  get isReady(): boolean {
    return this.#window.isOpen;
  }

  /** For those who work for it, and can leave that. */
  get isGone(): boolean {
    return this.#window.isGone;
  }

  tell({ json }: EncodedEvent): void {
    this.#window.send(`${this.#head}${json}}`);
  }

  end(): void {
    this.#ended = true;
    this.#wake();
  }

  /** Resolves at the end: there is never a result for graphql-ws to send. */
  async next(): Promise<IteratorResult<ExecutionResult>> {
    if (!this.#ended) {
      this.#window.readers.add(this);
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
    }
    return this.return();
  }

  async return(): Promise<IteratorReturnResult<undefined>> {
    if (!this.#returned) {
      this.#returned = true;
      this.#window.readers.delete(this);
      this.end();
      this.onReturn();
    }
    return { done: true, value: undefined };
  }

  [Symbol.asyncIterator](): this {
    return this;
  }
}
