/**
 * The pings to one peer. They are numbered, since a peer may leave all but the newest unanswered (RFC 6455, 5.5.3): the
 * answer to one says that everything that was sent before it has been read, with the pings among it.
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

  /** For how long the peer has owed an answer, in milliseconds; 0 if it owes none. */
  get overdueMs(): number {
    const [oldest] = this.#unanswered;
    return oldest === undefined ? 0 : performance.now() - oldest.sentAt;
  }

  /** Its answers could not come, through no fault of its own: their time begins now. */
  forgive(): void {
    const now = performance.now();
    for (const ping of this.#unanswered) ping.sentAt = now;
  }

  /** A pong has come. */
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
