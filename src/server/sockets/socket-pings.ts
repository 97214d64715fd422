/**
 * The pings to one peer. They are numbered, since a peer may answer only the newest of several (RFC 6455, 5.5.3): a pong confirms that the peer
 * has read everything sent before its ping, earlier pings included.
 */
import type { WebSocket } from 'ws';

interface Ping {
  readonly number: number;
  readonly onAnswer: () => void;
  sentAt: number;
}

export class SocketPings {
  readonly #socket: WebSocket;
  readonly #unanswered: Ping[] = [];
  #last = 0;

  constructor(socket: WebSocket) {
    this.#socket = socket;
  }

  send(onAnswer: () => void = () => {}): void {
    if (this.#socket.readyState !== this.#socket.OPEN) return;
    this.#last++;
    this.#unanswered.push({ number: this.#last, onAnswer, sentAt: performance.now() });
    this.#socket.ping(String(this.#last));
  }

  /** How long the peer has owed a pong, in milliseconds; 0 if it owes none. */
  get overdueMs(): number {
    const [oldest] = this.#unanswered;
    return oldest === undefined ? 0 : performance.now() - oldest.sentAt;
  }

  /** Restarts the time of all unanswered pings, whose pongs could not arrive through no fault of the peer. */
  forgive(): void {
    const now = performance.now();
    for (const ping of this.#unanswered) ping.sentAt = now;
  }

  /** Called when a pong has arrived. */
  answered(data: Buffer): void {
    const number = Number(data.toString());
    if (number > this.#last) return;
    for (let oldest = this.#unanswered[0]; oldest !== undefined && oldest.number <= number; ) {
      this.#unanswered.shift();
      oldest.onAnswer();
      oldest = this.#unanswered[0];
    }
  }
}
