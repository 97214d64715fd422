/** Whether the server answers a worker, and what goes wrong between them. */
import { JobtreeError } from '../errors.ts';
import type { Tell } from './emitter.ts';
import { Problems } from './problems.ts';
import type { Unheard } from './unheard.ts';

export interface ConnectionParts {
  readonly tell: Tell;
  readonly unheard: Unheard;
  readonly onConnected: () => void;
  /** The server has refused the worker, and did so ever since the worker began. */
  readonly onRefused: (error: JobtreeError) => void;
}

export class Connection {
  readonly #parts: ConnectionParts;
  readonly #problems = new Problems((error, again) => this.announce(error, again));
  #connected: boolean | undefined;
  #closed = false;
  wasConnected = false;
  /** Why there is no connection. */
  outage: JobtreeError | undefined;
  /** Why the worker has given up. */
  fatalError: JobtreeError | undefined;

  constructor(parts: ConnectionParts) {
    this.#parts = parts;
  }

  get isLost(): boolean {
    return this.#connected === false;
  }

  /** The server has answered. */
  reached(): void {
    if (this.#connected === true || this.#closed) return;
    this.#connected = true;
    this.wasConnected = true;
    this.#parts.tell('connected');
    this.#parts.onConnected();
  }

  problem(error: unknown): void {
    // One refusal says enough.
    if (this.#closed || this.fatalError !== undefined) return;
    // The server is there, and what it could not do is sent again.
    if (error instanceof JobtreeError && error.code === 'BUSY') return;
    if (!(error instanceof JobtreeError) || error.code !== 'UNREACHABLE') {
      this.#problems.add(error);
      if (!this.wasConnected && isRefusal(error)) this.#parts.onRefused(error);
      return;
    }
    this.outage = error;
    if (this.#connected !== false) {
      this.#connected = false;
      if (!this.#parts.tell('disconnected', error)) this.#parts.unheard.warn(error.message);
    }
  }

  announce(error: unknown, again = 0): void {
    if (!this.#parts.tell('error', error, again)) this.#parts.unheard.error(error, again);
  }

  /** Nothing is told any more. */
  close(): void {
    this.#closed = true;
  }
}

function isRefusal(error: unknown): error is JobtreeError {
  return error instanceof JobtreeError && ['UNAUTHENTICATED', 'FORBIDDEN'].includes(error.code);
}
