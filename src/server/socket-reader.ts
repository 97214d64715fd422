/**
 * A subscription on a WebSocket, read past graphql-ws: events are written to the socket as they are, only with the operation's
 * id around them. Everything else of the protocol, errors and completion among it, stays with graphql-ws.
 */
import type { ExecutionResult } from 'graphql';
import type { WebSocket } from 'ws';
import type { Reader, Told } from './shared-subscriptions.ts';

/** A socket with more than this still to be sent is told later how things stand then. */
const maxBufferedBytes = 16 * 1024;

export class SocketReader implements Reader {
  onReturn = () => {};
  readonly #socket: WebSocket;
  readonly #readers: Set<SocketReader>;
  readonly #head: string;
  #ended = false;
  #returned = false;
  #wake = () => {};

  /** While it reads it is one of the `readers` of the socket. */
  constructor({ socket, readers }: { socket: WebSocket; readers: Set<SocketReader> }, operationId: string) {
    this.#socket = socket;
    this.#readers = readers;
    this.#head = `{"id":${JSON.stringify(operationId)},"type":"next","payload":`;
  }

  get isReady(): boolean {
    return this.#socket.bufferedAmount <= maxBufferedBytes;
  }

  tell({ json }: Told): void {
    this.#socket.send(`${this.#head}${json}}`);
  }

  end(): void {
    this.#ended = true;
    this.#wake();
  }

  /** Resolves at the end: there is never a result for graphql-ws to send. */
  async next(): Promise<IteratorResult<ExecutionResult>> {
    if (!this.#ended) {
      this.#readers.add(this);
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
    }
    return this.return();
  }

  async return(): Promise<IteratorReturnResult<undefined>> {
    if (!this.#returned) {
      this.#returned = true;
      this.#readers.delete(this);
      this.end();
      this.onReturn();
    }
    return { done: true, value: undefined };
  }

  [Symbol.asyncIterator](): this {
    return this;
  }
}
