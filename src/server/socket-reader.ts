/**
 * A subscription on a WebSocket: events are written to the socket as they are, only with the operation's id around them.
 * Everything else of it, errors and completion among it, is for the protocol to write.
 */
import type { Socket } from 'node:net';
import type { ExecutionResult } from 'graphql';
import type { WebSocket } from 'ws';
import { Signal } from '../events/signal.ts';
import type { EncodedEvent } from './encoded-event.ts';
import type { Reader } from './reader.ts';
import type { SocketPings } from './socket-pings.ts';
import { writeAtEndOfTurn } from './turn-writes.ts';

const windowBytes = 32 * 1024;
const confirmEveryBytes = windowBytes / 2;

/**
 * How much may be on its way to a client that has not read it yet. The system would take megabytes for one that reads slowly, and
 * what it then reads is minutes old. So a ping goes after the events, and its answer says that they were read.
 */
export class SocketWindow {
  readonly readers = new Set<SocketReader>();
  readonly #socket: WebSocket;
  readonly #stream: Socket;
  readonly #pings: SocketPings;
  readonly #onWaiting: () => void;
  #sent = 0;
  #confirmed = 0;
  #isAsking = false;

  /** `onWaiting` is called when much more or much less may wait to be written than before. */
  constructor(socket: WebSocket, stream: Socket, pings: SocketPings, onWaiting: () => void) {
    this.#socket = socket;
    this.#stream = stream;
    this.#pings = pings;
    this.#onWaiting = onWaiting;
  }

  get isOpen(): boolean {
    return this.#sent - this.#confirmed <= windowBytes && this.#stream.writableLength <= windowBytes;
  }

  /** Past ws, which makes a frame for each reader: on this server it sends uncompressed frames, one after the other. */
  send(event: EncodedEvent, head: Buffer): void {
    if (this.#socket.readyState !== this.#socket.OPEN) return;
    if (this.readers.size > 1) writeAtEndOfTurn(this.#stream);
    if (event.isLarge) {
      this.#sent += event.writeFrame(this.#stream, head, this.#onWaiting);
      this.#onWaiting();
    } else {
      this.#sent += event.writeFrame(this.#stream, head);
    }
    this.#ask();
  }

  #ask(): void {
    if (this.#isAsking || this.#sent - this.#confirmed < confirmEveryBytes) return;
    this.#isAsking = true;
    const asked = this.#sent;
    this.#pings.send(() => {
      this.#isAsking = false;
      this.#confirmed = asked;
      this.#ask();
      for (const reader of this.readers) {
        if (!this.isOpen) break;
        reader.onReady();
      }
    });
  }
}

export class SocketReader implements Reader {
  onReturn = () => {};
  onReady = () => {};
  readonly #window: SocketWindow;
  readonly #head: Buffer;
  readonly #left: AbortSignal;
  #ended = false;
  #returned = false;
  readonly #signal = new Signal();

  /** While it reads it is one of the window's readers. */
  constructor(window: SocketWindow, operation: { readonly id: string; readonly signal: AbortSignal }) {
    this.#window = window;
    this.#left = operation.signal;
    this.#head = Buffer.from(`{"id":${JSON.stringify(operation.id)},"type":"next","payload":`);
  }

  get isReady(): boolean {
    return this.#window.isOpen;
  }

  tell(event: EncodedEvent): void {
    // What stands under its id belongs to another operation by now.
    if (this.#left.aborted) return;
    this.#window.send(event, this.#head);
  }

  end(): void {
    this.#ended = true;
    this.#signal.fire();
  }

  /** Resolves at the end: there is never a result for the protocol to send. */
  async next(): Promise<IteratorResult<ExecutionResult>> {
    if (!this.#ended) {
      this.#window.readers.add(this);
      await this.#signal.wait();
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
