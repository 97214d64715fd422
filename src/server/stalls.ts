/**
 * Ends connections whose peer does not read: bytes wait to be sent, and none has gone for a while. A slow peer keeps its
 * connection, and slows only itself.
 */
import type { Socket } from 'node:net';

interface Progress {
  /** What the system has taken, and what it still has of a large write that it takes in parts. */
  sent: number;
  queued: number;
  movedAt: number;
}

/** Node has no public name for it, but looks at it for the timeouts of its own sockets. */
type Handle = { _handle?: { writeQueueSize?: number } | null };

export class Stalls {
  readonly #afterMs: number;
  readonly #watched = new Map<Socket, Progress>();
  readonly #timer: NodeJS.Timeout;

  constructor(options: { afterMs: number }) {
    this.#afterMs = options.afterMs;
    this.#timer = setInterval(() => this.#check(), options.afterMs / 3).unref();
  }

  watch(socket: Socket): void {
    if (this.#watched.has(socket)) return;
    this.#watched.set(socket, { sent: 0, queued: 0, movedAt: performance.now() });
    socket.once('close', () => this.#watched.delete(socket));
  }

  close(): void {
    clearInterval(this.#timer);
  }

  #check(): void {
    const now = performance.now();
    for (const [socket, progress] of this.#watched) {
      const sent = socket.bytesWritten - socket.writableLength;
      const queued = (socket as Handle)._handle?.writeQueueSize ?? 0;
      if (sent !== progress.sent || queued !== progress.queued || socket.writableLength === 0) {
        Object.assign(progress, { sent, queued, movedAt: now });
      } else if (now - progress.movedAt >= this.#afterMs) {
        socket.destroy();
      }
    }
  }
}
