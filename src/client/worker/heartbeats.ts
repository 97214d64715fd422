/**
 * Keeps the assignments of a worker alive: one call for all of them, at the shortest of their intervals and a little early. Each
 * assignment judges failed heartbeats by its own interval: after two of those in a row its time is up, which is before the server
 * may take it back (three intervals).
 */
import type { HeartbeatStatus, ItemNoteInput } from '../../generated/operations.ts';
import { maxEntries } from '../limits.ts';
import { freshlyNoted, type HeldAssignment, keepNotes, takeNotes } from './held-assignments.ts';

export type EndedStatus = Exclude<HeartbeatStatus, 'HELD' | 'INVALID'>;

/** How much of the period an answer may take: what is found to be hung then has been replaced by the next heartbeat. */
const answerShare = 0.8;

export interface HeartbeatParts {
  readonly held: ReadonlySet<HeldAssignment>;
  /** Sends one heartbeat for up to 1,000 assignments. */
  readonly send: (
    assignmentIds: string[],
    notes: ItemNoteInput[],
    timeoutMs: number,
  ) => Promise<HeartbeatStatus[]>;
  readonly onEnded: (held: HeldAssignment, status: EndedStatus) => void;
  readonly onSilence: (held: HeldAssignment) => void;
  readonly onError: (error: unknown) => void;
}

export class Heartbeats {
  readonly #parts: HeartbeatParts;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #dueAt = Number.POSITIVE_INFINITY;

  constructor(parts: HeartbeatParts) {
    this.#parts = parts;
  }

  /** A new assignment: makes sure that the next heartbeat comes in time for it. */
  add(held: HeldAssignment): void {
    const dueAt = held.heardAt + held.assignment.heartbeatIntervalMs * 0.9;
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
    const all = [...this.#parts.held];
    if (all.length === 0) return;
    const interval = all.reduce(
      (shortest, held) => Math.min(shortest, held.assignment.heartbeatIntervalMs),
      Number.POSITIVE_INFINITY,
    );
    const periodMs = interval * (0.8 + Math.random() * 0.15);
    this.#schedule(performance.now() + periodMs);
    for (let i = 0; i < all.length; i += maxEntries) void this.#send(all.slice(i, i + maxEntries), periodMs);
  }

  async #send(all: readonly HeldAssignment[], periodMs: number): Promise<void> {
    const sentAt = performance.now();
    const noted = freshlyNoted(all);
    try {
      const ids = all.map((held) => held.assignment.id);
      const statuses = await this.#parts.send(ids, takeNotes(noted), periodMs * answerShare);
      for (const [i, held] of all.entries()) this.#settle(held, statuses[i], sentAt);
    } catch (error) {
      this.#parts.onError(error);
      keepNotes(noted);
      for (const held of all) this.#miss(held, periodMs);
    }
  }

  #settle(held: HeldAssignment, status: HeartbeatStatus | undefined, sentAt: number): void {
    held.missed = 0;
    held.heardAt = sentAt;
    if (status === undefined || status === 'HELD') return;
    // An id that the server does not take for one keeps nothing.
    this.#parts.onEnded(held, status === 'INVALID' ? 'LOST' : status);
  }

  #miss(held: HeldAssignment, periodMs: number): void {
    const { heartbeatIntervalMs } = held.assignment;
    held.missed++;
    const silentFor = performance.now() - held.heardAt;
    // One period is at most 0.95 of its interval and two are at least 1.6, so for the shortest interval this says two in
    // a row. The deadline counts as well, for a claim whose answer took long.
    if (held.missed * periodMs >= 1.5 * heartbeatIntervalMs || silentFor >= 2.85 * heartbeatIntervalMs) {
      this.#parts.onSilence(held);
    }
  }
}
