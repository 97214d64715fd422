/**
 * A subscription on a WebSocket: events are written to the socket as they are, only with the operation's id around them.
 * Everything else of it, errors and completion among it, is for the protocol to write.
 */
import type { Socket } from 'node:net';
import type { WebSocket } from 'ws';
import type { EncodedEvent } from './encoded-event.ts';
import type { Reader, Source } from './reader.ts';
import type { SocketPings } from './socket-pings.ts';
import type { DirectEvents } from './socket-protocol.ts';
import { writeAtEndOfTurn } from './turn-writes.ts';

const windowBytes = 32 * 1024;
/** Each time costs as much as two events. What comes while the client answers has the rest of the window. */
const confirmEveryBytes = windowBytes * 0.75;

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
        reader.nowReady();
      }
    });
  }
}

/** Clients number their operations, so the ids of many who come after another are the same: they share it, and frames with it. */
function headOf(id: string): Buffer {
  if (id !== lastId) {
    lastId = id;
    lastHead = Buffer.from(`{"id":${JSON.stringify(id)},"type":"next","payload":`);
  }
  return lastHead;
}

let lastId: string | undefined;
let lastHead = Buffer.alloc(0);

/** A subscription that others can share; its results are no results for the protocol. */
export class SocketReader implements Reader, DirectEvents {
  readonly #window: SocketWindow;
  readonly #head: Buffer;
  /** Until the protocol knows of it, which ends it from then on. */
  #left: AbortSignal | undefined;
  #source: Source | undefined;
  #onEnd: (() => void) | undefined;
  #ended = false;

  constructor(window: SocketWindow, { id, signal }: { readonly id: string; readonly signal: AbortSignal }) {
    this.#window = window;
    this.#left = signal;
    this.#head = headOf(id);
  }

  /** Whether there are events, or will be. */
  get hasJoined(): boolean {
    return this.#source !== undefined;
  }

  join(source: Source): void {
    this.#source = source;
    this.#window.readers.add(this);
  }

  get isReady(): boolean {
    return this.#window.isOpen;
  }

  /** Its window is open again. */
  nowReady(): void {
    this.#source?.isReady(this);
  }

  tell(event: EncodedEvent): void {
    // What stands under its id belongs to another operation by now.
    if (!this.#ended && this.#left?.aborted !== true) this.#window.send(event, this.#head);
  }

  whenEnded(call: () => void): void {
    this.#left = undefined;
    if (this.#ended) call();
    else this.#onEnd = call;
  }

  end(): void {
    this.#leave();
    this.#onEnd?.();
  }

  async return(): Promise<IteratorReturnResult<undefined>> {
    this.#leave();
    return { done: true, value: undefined };
  }

  /** The plugins take it for an iterator, and nobody iterates. */
  next(): Promise<never> {
    return Promise.reject(new Error('These events go to the socket by themselves.'));
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  #leave(): void {
    if (this.#ended) return;
    this.#ended = true;
    this.#window.readers.delete(this);
    this.#source?.left(this);
  }
}
