/** What a WebSocket takes in memory: a message that is still coming, and what waits to be sent. */
import type { Socket } from 'node:net';
import type { WebSocket } from 'ws';
import type { Share } from './quota.ts';

/** Less does not count: thousands of sockets have a little coming and going. */
const freeBytes = 64 * 1024;
/** So long may a message be on its way. */
const messageTimeoutMs = 120_000;
/** A pong of a client has a head and a mask. */
const controlHeadBytes = 6;
/** The registered code for "try again later". */
const tryAgainLater = 1013;
const closeTimeoutMs = 1_000;

export class SocketBytes {
  readonly #socket: WebSocket;
  readonly #newShare: () => Share;
  #share: Share | undefined;
  /** Of a message that has not come entirely. */
  #coming = 0;
  #comingSince = 0;

  constructor(socket: WebSocket, connection: Socket, newShare: () => Share) {
    this.#socket = socket;
    this.#newShare = newShare;
    // Before the socket's own listener, which emits the messages that are complete.
    connection.prependListener('data', (chunk: Buffer) => this.#came(chunk.length));
  }

  /** Whether a message has been coming for too long. */
  get isStuck(): boolean {
    return this.#coming > 0 && performance.now() - this.#comingSince > messageTimeoutMs;
  }

  /** A message has come entirely. */
  messageCame(): void {
    this.#setComing(0);
  }

  /** A ping or a pong has come, maybe between the parts of a message. */
  controlCame(data: Buffer): void {
    this.#setComing(this.#coming - data.length - controlHeadBytes);
  }

  waitingChanged(): void {
    if (this.#share === undefined && this.#socket.bufferedAmount <= freeBytes) return;
    this.#shareNow().set(this.#bytes);
  }

  release(): void {
    this.#share?.release();
  }

  get #bytes(): number {
    const { bufferedAmount } = this.#socket;
    return (this.#coming > freeBytes ? this.#coming : 0) + (bufferedAmount > freeBytes ? bufferedAmount : 0);
  }

  #came(length: number): void {
    if (this.#coming === 0) this.#comingSince = performance.now();
    this.#coming += length;
    if (this.#coming <= freeBytes) return;
    const share = this.#shareNow();
    const more = this.#bytes - share.held;
    if (more > 0 && share.take(more) !== undefined) this.#refuse();
  }

  #setComing(coming: number): void {
    this.#coming = Math.max(0, coming);
    this.#share?.set(this.#bytes);
  }

  /** The message can't be refused alone: what belongs to it goes on coming. */
  #refuse(): void {
    const socket = this.#socket;
    if (socket.readyState !== socket.OPEN) return;
    socket.close(tryAgainLater, 'Too much is under way; try again in a moment.');
    socket.pause();
    setTimeout(() => socket.terminate(), closeTimeoutMs).unref();
  }

  #shareNow(): Share {
    this.#share ??= this.#newShare();
    return this.#share;
  }
}
