/**
 * Keeps the holds of a worker alive: one call for all of them, at the shortest of their intervals and a little early. Each
 * hold judges failed heartbeats by its own interval: after two of those in a row its time is up, which is before the server
 * may take it back (three intervals).
 */
import type { HoldStatus } from '../../generated/graphql/graphql.ts';
import { maxEntries } from '../limits.ts';
import type { Hold } from './holds.ts';

export type EndedStatus = Exclude<HoldStatus, 'HELD' | 'INVALID'>;

/** How much of the period an answer may take: what is found to be hung then has been replaced by the next heartbeat. */
const answerShare = 0.8;

export interface HeartbeatParts {
  readonly holds: ReadonlySet<Hold>;
  /** Sends one heartbeat for up to 1,000 holds. */
  readonly send: (assignmentIds: string[], timeoutMs: number) => Promise<HoldStatus[]>;
  readonly onEnded: (hold: Hold, status: EndedStatus) => void;
  readonly onSilence: (hold: Hold) => void;
  readonly onError: (error: unknown) => void;
}

export class Heartbeats {
  readonly #parts: HeartbeatParts;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #dueAt = Number.POSITIVE_INFINITY;

  constructor(parts: HeartbeatParts) {
    this.#parts = parts;
  }

  /** A new hold: makes sure that the next heartbeat comes in time for it. */
  add(hold: Hold): void {
    const dueAt = hold.heardAt + hold.assignment.heartbeatIntervalMs * 0.9;
    if (dueAt < this.#dueAt) this.#schedule(dueAt);
  }

  stop(): void {
    clearTimeout(this.#timer);
    this.#dueAt = Number.POSITIVE_INFINITY;
  }

  #schedule(dueAt: number): void {
    clearTimeout(this.#timer);
    this.#dueAt = dueAt;
    this.#timer = setTimeout(() => this.#beat(), Math.max(0, dueAt - performance.now()));
  }

  #beat(): void {
    this.#dueAt = Number.POSITIVE_INFINITY;
    const holds = [...this.#parts.holds];
    if (holds.length === 0) return;
    const interval = holds.reduce(
      (shortest, hold) => Math.min(shortest, hold.assignment.heartbeatIntervalMs),
      Number.POSITIVE_INFINITY,
    );
    const periodMs = interval * (0.8 + Math.random() * 0.15);
    this.#schedule(performance.now() + periodMs);
    for (let i = 0; i < holds.length; i += maxEntries)
      void this.#send(holds.slice(i, i + maxEntries), periodMs);
  }

  async #send(holds: readonly Hold[], periodMs: number): Promise<void> {
    const sentAt = performance.now();
    try {
      const ids = holds.map((hold) => hold.assignment.id);
      const statuses = await this.#parts.send(ids, periodMs * answerShare);
      for (const [i, hold] of holds.entries()) this.#settle(hold, statuses[i], sentAt);
    } catch (error) {
      this.#parts.onError(error);
      for (const hold of holds) this.#miss(hold, periodMs);
    }
  }

  #settle(hold: Hold, status: HoldStatus | undefined, sentAt: number): void {
    hold.missed = 0;
    hold.heardAt = sentAt;
    if (status === undefined || status === 'HELD') return;
    // An id that the server does not take for one keeps nothing.
    this.#parts.onEnded(hold, status === 'INVALID' ? 'LOST' : status);
  }

  #miss(hold: Hold, periodMs: number): void {
    const { heartbeatIntervalMs } = hold.assignment;
    hold.missed++;
    const silentFor = performance.now() - hold.heardAt;
    // One period is at most 0.95 of its interval and two are at least 1.6, so for the shortest interval this says two in
    // a row. The deadline counts as well, for a claim whose answer took long.
    if (hold.missed * periodMs >= 1.5 * heartbeatIntervalMs || silentFor >= 2.85 * heartbeatIntervalMs) {
      this.#parts.onSilence(hold);
    }
  }
}
