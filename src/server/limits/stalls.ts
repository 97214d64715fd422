/**
 * Ends stalled connections: data waits for a peer that reads nothing, or next to nothing, or the rest of a request does not arrive. A slow peer
 * keeps its connection and slows only itself.
 */
import type { IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';

interface Progress {
  moved: number;
  since: number;
  /** When it has to be complete, however much moves. */
  readonly endsAt?: number;
}

/** Node has no public names for these, but uses them for the timeouts of its own sockets. */
type Handle = { _handle?: { bytesWritten?: number; writeQueueSize?: number } | null };

/** A request must arrive in full within this time, unless it is streamed. */
const requestMs = 120_000;
/** How much has to move in the time; a peer that moves less counts as stalled. */
const leastBytes = 100_000;

export class Stalls {
  readonly #afterMs: number;
  readonly #sending = new Map<Socket, Progress>();
  readonly #receiving = new Map<IncomingMessage, Progress>();
  readonly #timer: NodeJS.Timeout;

  constructor(options: { afterMs: number }) {
    this.#afterMs = options.afterMs;
    this.#timer = setInterval(() => this.#check(), options.afterMs / 3).unref();
  }

  /** Ends the socket if data waits to be sent on it and does not move. */
  watch(socket: Socket): void {
    if (this.#sending.has(socket)) return;
    this.#sending.set(socket, { moved: 0, since: performance.now() });
    socket.once('close', () => this.#sending.delete(socket));
  }

  /** Ends the request if the rest of it does not arrive, and with `isShort` if that takes too long. Returns a function that ends the watch. */
  receive(request: IncomingMessage, isShort = true): () => void {
    const since = performance.now();
    const endsAt = isShort ? since + requestMs : Number.POSITIVE_INFINITY;
    this.#receiving.set(request, { moved: request.socket.bytesRead, since, endsAt });
    return () => this.#receiving.delete(request);
  }

  close(): void {
    clearInterval(this.#timer);
  }

  #check(): void {
    for (const [socket, progress] of this.#sending) {
      const { bytesWritten = 0, writeQueueSize = 0 } = (socket as Handle)._handle ?? {};
      const isDone = socket.writableLength === 0;
      this.#judge(socket, progress, bytesWritten - writeQueueSize, isDone);
    }
    for (const [request, progress] of this.#receiving) {
      // While reading is paused the peer is not to blame.
      const isDone = request.complete || request.isPaused();
      if (!request.complete && performance.now() >= (progress.endsAt ?? 0)) request.socket.destroy();
      this.#judge(request.socket, progress, request.socket.bytesRead, isDone);
    }
  }

  #judge(socket: Socket, progress: Progress, moved: number, isDone: boolean): void {
    const now = performance.now();
    if (isDone || moved - progress.moved >= leastBytes) Object.assign(progress, { moved, since: now });
    else if (now - progress.since >= this.#afterMs) socket.destroy();
  }
}
