/** Counts the memory of a WebSocket: a message that is still arriving, and what waits to be sent. */
import type { Socket } from 'node:net';
import type { WebSocket } from 'ws';
import type { Share } from '../limits/quota.ts';

/** Less is not counted: thousands of sockets always have a little in transit. */
const freeBytes = 64 * 1024;
/** The largest message of a peer that has not shown a key or token for all its operations, and the largest ping that is answered. */
export const strangerBytes = 16 * 1024;
/** How long a message may take to arrive. */
const messageTimeoutMs = 120_000;
/** The size of a client's pong without its data: header and mask. */
const controlHeadBytes = 6;
/** The registered close codes "message too big" and "try again later". */
const tooBig = 1009;
const tryAgainLater = 1013;
const closeTimeoutMs = 1_000;

export class SocketBytes {
  readonly #socket: WebSocket;
  readonly #newShare: () => Share;
  #share: Share | undefined;
  /** Bytes of a message that has not arrived in full. */
  #coming = 0;
  #comingSince = 0;
  /** Bytes of messages that have arrived and are not handled. */
  #unhandled = 0;
  #isOfCaller = false;

  constructor(socket: WebSocket, connection: Socket, newShare: () => Share) {
    this.#socket = socket;
    this.#newShare = newShare;
    // Runs before the socket's own listener, which emits the complete messages.
    connection.prependListener('data', (chunk: Buffer) => this.#came(chunk.length));
  }

  /** Whether a message has been arriving for too long. */
  get isStuck(): boolean {
    return this.#coming > 0 && performance.now() - this.#comingSince > messageTimeoutMs;
  }

  /** Called when the peer has been admitted: its messages may be large from now on. */
  callerAdmitted(): void {
    this.#isOfCaller = true;
  }

  /** Called when a message has arrived in full. */
  messageCame(length: number): void {
    this.#setComing(0);
    if (!this.#isOfCaller && length > strangerBytes) this.#refuseStranger();
  }

  /** Called for a ping or pong, which may arrive between the fragments of a message. */
  controlCame(data: Buffer): void {
    this.#setComing(this.#coming - data.length - controlHeadBytes);
  }

  setUnhandled(bytes: number): void {
    this.#unhandled = bytes;
    if (bytes > 0 || this.#share !== undefined) this.#shareNow().set(this.#bytes);
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
    const transit = (bytes: number) => (bytes > freeBytes ? bytes : 0);
    return transit(this.#coming) + this.#unhandled + transit(bufferedAmount);
  }

  #came(length: number): void {
    if (this.#coming === 0) this.#comingSince = performance.now();
    this.#coming += length;
    if (this.#coming <= freeBytes) return;
    // Less may be many small messages in one packet, each of which has its own turn.
    if (!this.#isOfCaller && this.#coming > freeBytes + strangerBytes) {
      this.#refuseStranger();
      return;
    }
    const share = this.#shareNow();
    const more = this.#bytes - share.held;
    if (more > 0 && share.take(more) !== undefined)
      this.#refuse(tryAgainLater, 'Too much under way; try again in a moment.');
  }

  #refuseStranger(): void {
    this.#refuse(tooBig, `Without a key a message may have up to ${strangerBytes} bytes.`);
  }

  #setComing(coming: number): void {
    this.#coming = Math.max(0, coming);
    this.#share?.set(this.#bytes);
  }

  /** Closes the socket: the message alone can't be refused, since the rest of it would still arrive. */
  #refuse(code: number, reason: string): void {
    const socket = this.#socket;
    if (socket.readyState !== socket.OPEN) return;
    socket.close(code, reason);
    socket.pause();
    setTimeout(() => socket.terminate(), closeTimeoutMs).unref();
  }

  #shareNow(): Share {
    this.#share ??= this.#newShare();
    return this.#share;
  }
}
