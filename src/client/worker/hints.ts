/**
 * Learns that there may be work of types for which no claim waits at the server, or not enough of them: from hints and, since a hint may be lost,
 * by polling slowly. While it runs, the server lists the worker as connected.
 */
import { wait } from '../backoff.ts';
import type { Socket } from '../socket.ts';
import { endedBy } from '../watch.ts';
import { watchWork } from '../watches.ts';
import type { Slots } from './held-assignments.ts';

export interface HintParts {
  readonly socket: Socket;
  readonly slots: ReadonlyMap<string, Slots>;
  /** How the server lists the worker. */
  readonly worker: { readonly name: string; readonly version: string | undefined };
  readonly pollIntervalMs: number;
  readonly onWork: () => void;
  readonly onReached: () => void;
  readonly onError: (error: unknown) => void;
}

export class Hints {
  readonly #parts: HintParts;
  #stopping: AbortController | undefined;
  #poll: ReturnType<typeof setInterval> | undefined;

  constructor(parts: HintParts) {
    this.#parts = parts;
  }

  start(): void {
    const { slots, pollIntervalMs } = this.#parts;
    this.#stopping = new AbortController();
    const unasked = () => [...slots.values()].flatMap(({ type, parked }) => (parked > 0 ? [] : type));
    this.#poll = setInterval(() => this.#wake(unasked()), pollIntervalMs);
    void this.#follow(this.#stopping.signal);
  }

  /** A worker that does not claim must get no hints either, since each item gives only a few of them. */
  stop(): void {
    clearInterval(this.#poll);
    this.#stopping?.abort();
    this.#stopping = undefined;
  }

  /** Subscribes again, to tell the server the current concurrency. */
  restart(): void {
    if (this.#stopping === undefined) return;
    this.stop();
    this.start();
  }

  async #follow(stopping: AbortSignal): Promise<void> {
    const { socket, slots, worker, pollIntervalMs, onReached, onError } = this.#parts;
    const onTypes = (types: readonly string[]) => {
      onReached();
      this.#wake(types);
    };
    const concurrency = Array.from(slots.values(), (one) => one.concurrency);
    const options = { onTypes, onLost: onError, worker: { ...worker, concurrency } };
    while (!stopping.aborted) {
      try {
        const hints = endedBy(stopping, watchWork(socket, [...slots.keys()], options, stopping));
        while (!(await hints.next()).done);
        return;
      } catch (error) {
        onError(error);
      }
      // Exchanges go on trying after a refusal, too.
      await wait(pollIntervalMs, stopping);
    }
  }

  #wake(types: Iterable<string>): void {
    for (const type of types) {
      const slots = this.#parts.slots.get(type);
      if (slots === undefined) continue;
      slots.hints++;
      slots.dry = false;
    }
    this.#parts.onWork();
  }
}
