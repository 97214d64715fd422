/**
 * Limits how fast a socket is read: no faster than its peer may send, and not at all while much waits to be sent to it. So a peer that sends
 * without reading costs no more memory than the little that is in transit.
 */
import type { Socket } from 'node:net';
import type { WebSocket } from 'ws';
import { TokenBucket } from '../limits/token-bucket.ts';
import { writeAtEndOfTurn } from '../limits/turn-writes.ts';

/** How much may wait to be written before reading stops. */
const maxWaitingBytes = 1_000_000;
/** So many echoed bytes count as one more message. */
const bytesPerMessage = 1_000;

export class SocketFlow {
  readonly #socket: WebSocket;
  readonly #connection: Socket;
  readonly #bucket: TokenBucket;
  readonly #onWaiting: () => void;
  #resting = false;
  #isBehind = false;

  /** `onWaiting` is called when the amount that waits to be written may have changed. */
  constructor(
    socket: WebSocket,
    connection: Socket,
    options: { messagesPerSecond: number; onWaiting: () => void },
  ) {
    this.#socket = socket;
    this.#connection = connection;
    this.#onWaiting = options.onWaiting;
    this.#bucket = new TokenBucket(options.messagesPerSecond);
  }

  /** Whether reading is paused, so that pongs of the peer may be here unread. */
  get isHeld(): boolean {
    return this.#socket.isPaused;
  }

  /** Whether messages that have arrived wait to be handled: until then no more are read. */
  setBehind(isBehind: boolean): void {
    if (isBehind === this.#isBehind) return;
    this.#isBehind = isBehind;
    this.#look();
  }

  /** Counts a message that arrived; `echoedBytes` are to be sent back. */
  received(echoedBytes = 0): void {
    this.#bucket.take(1 + Math.floor(echoedBytes / bytesPerMessage));
    if (!this.#resting && this.#bucket.restMs() > 0) this.#rest();
  }

  /** Answers a ping, which counts as a message. */
  pinged(data: Buffer): void {
    const socket = this.#socket;
    this.received();
    if (socket.readyState === socket.OPEN) socket.pong(data, false, () => this.#look());
    this.#look();
  }

  /** Sends a text message. Resolves when it is written, or can't be. */
  async send(message: string | Buffer): Promise<void> {
    const socket = this.#socket;
    if (socket.readyState !== socket.OPEN) return;
    writeAtEndOfTurn(this.#connection);
    const written = new Promise<void>((resolve) => socket.send(message, { binary: false }, () => resolve()));
    this.#look();
    await written;
    this.#look();
  }

  /** What was read already is still handled, and prolongs the rest. */
  #rest(): void {
    const ms = this.#bucket.restMs();
    this.#resting = ms > 0;
    if (this.#resting) setTimeout(() => this.#rest(), ms).unref();
    this.#look();
  }

  #look(): void {
    this.#onWaiting();
    const held = this.#resting || this.#isBehind || this.#socket.bufferedAmount > maxWaitingBytes;
    if (held === this.#socket.isPaused) return;
    if (held) this.#socket.pause();
    else this.#socket.resume();
  }
}
