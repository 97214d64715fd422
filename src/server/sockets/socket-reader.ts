/**
 * A shared subscription on a WebSocket: its events are written to the socket directly, wrapped in a message with the operation's id. The
 * protocol writes everything else, such as errors and completion.
 */
import type { Socket } from 'node:net';
import type { WebSocket } from 'ws';
import type { EncodedEvent } from '../execution/encoded-event.ts';
import { DirectReader, type Source } from '../execution/reader.ts';
import { writeAtEndOfTurn } from '../limits/turn-writes.ts';
import type { DirectEvents } from './running-operations.ts';
import type { SocketPings } from './socket-pings.ts';

const windowBytes = 32 * 1024;
/** A confirmation costs as much as two events. What is sent while the client answers uses the rest of the window. */
const confirmEveryBytes = windowBytes * 0.75;

/**
 * Limits how much may be on its way to a client that has not read it. The system would buffer megabytes for a slow reader, which would then read
 * events that are minutes old. So a ping follows the events, and its pong confirms that they were read.
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

  /** `onWaiting` is called when the amount that waits to be written may have changed by much. */
  constructor(socket: WebSocket, stream: Socket, pings: SocketPings, onWaiting: () => void) {
    this.#socket = socket;
    this.#stream = stream;
    this.#pings = pings;
    this.#onWaiting = onWaiting;
  }

  get isOpen(): boolean {
    return this.#sent - this.#confirmed <= windowBytes && this.#stream.writableLength <= windowBytes;
  }

  /** Bypasses ws, which would make a frame for each reader: here it sends uncompressed frames in order, so the two don't mix. */
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

/** Clients number their operations, so consecutive readers often have the same id: they share this head, and frames with it. */
function headOf(id: string): Buffer {
  if (id !== lastId) {
    lastId = id;
    lastHead = Buffer.from(`{"id":${JSON.stringify(id)},"type":"next","payload":`);
  }
  return lastHead;
}

let lastId: string | undefined;
let lastHead = Buffer.alloc(0);

/** A reader of a shared subscription. The protocol gets no results from it. */
export class SocketReader extends DirectReader implements DirectEvents {
  readonly #window: SocketWindow;
  readonly #head: Buffer;
  /** The client's cancellation, until the protocol knows the reader and ends it itself. */
  #left: AbortSignal | undefined;
  #onEnd: (() => void) | undefined;

  constructor(window: SocketWindow, { id, signal }: { readonly id: string; readonly signal: AbortSignal }) {
    super();
    this.#window = window;
    this.#left = signal;
    this.#head = headOf(id);
  }

  override join(source: Source): void {
    super.join(source);
    this.#window.readers.add(this);
  }

  get isReady(): boolean {
    return this.#window.isOpen;
  }

  tell(event: EncodedEvent): void {
    // The id may belong to another operation by now.
    if (!this.hasEnded && this.#left?.aborted !== true) this.#window.send(event, this.#head);
  }

  whenEnded(call: () => void): void {
    this.#left = undefined;
    if (this.hasEnded) call();
    else this.#onEnd = call;
  }

  end(): void {
    this.leave();
    this.#onEnd?.();
  }

  protected override leave(): void {
    this.#window.readers.delete(this);
    super.leave();
  }
}
