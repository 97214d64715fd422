/**
 * Keeps the assignments of a worker alive: one heartbeat for all of them, at the shortest of their intervals and a little early.
 * Each assignment counts failed heartbeats against its own interval: after two in a row its time is up, which is before the
 * server may take it back (after three intervals).
 */
import type { HeartbeatStatus, ItemNoteInput } from '../../generated/operations.ts';
import * as operations from '../../generated/operations.ts';
import { payloadOf } from '../errors.ts';
import { maxEntries } from '../limits.ts';
import type { Socket } from '../socket.ts';
import { freshlyNoted, type HeldAssignment, keepNotes, takeNotes } from './held-assignments.ts';

export type EndedStatus = Exclude<HeartbeatStatus, 'HELD' | 'INVALID'>;

/** The share of the period that an answer may take. It leaves time to replace a hung connection before the next heartbeat. */
const answerShare = 0.8;

export interface HeartbeatParts {
  readonly held: ReadonlySet<HeldAssignment>;
  readonly socket: Socket;
  /** The server has answered. */
  readonly onReached: () => void;
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

  /** Makes sure that the next heartbeat comes in time for a new assignment. */
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
    this.#timer = setTimeout(() => this.#tellAlive(), Math.max(0, dueAt - performance.now()));
  }

  #tellAlive(): void {
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

  /** Tells the server that these have been started. Returns whether it knows. */
  announce(all: readonly HeldAssignment[]): Promise<boolean> {
    const [{ assignment }] = all as [HeldAssignment];
    return this.#send(all, assignment.heartbeatIntervalMs);
  }

  async #send(all: readonly HeldAssignment[], periodMs: number): Promise<boolean> {
    const sentAt = performance.now();
    const noted = freshlyNoted(all);
    try {
      const ids = all.map((held) => held.assignment.id);
      const waiting = all.flatMap((held) => (held.state === 'waiting' ? held.assignment.id : []));
      const statuses = await this.#ask(ids, waiting, takeNotes(noted), periodMs * answerShare);
      for (const [i, held] of all.entries()) this.#settle(held, statuses[i], sentAt);
      return true;
    } catch (error) {
      this.#parts.onError(error);
      keepNotes(noted);
      for (const held of all) this.#miss(held, periodMs);
      return false;
    }
  }

  /** Asks for up to 1,000 assignments, some of which may not have been started. */
  async #ask(assignmentIds: string[], waitingIds: string[], notes: ItemNoteInput[], timeoutMs: number) {
    const { socket, onReached } = this.#parts;
    const input = { assignmentIds, waitingIds };
    const data = await (notes.length === 0
      ? socket.request(operations.Heartbeat, { input }, timeoutMs)
      : socket.request(operations.HeartbeatWithNotes, { input, notes: { notes } }, timeoutMs));
    onReached();
    return payloadOf(data.heartbeat).entries.map(({ status }) => status);
  }

  #settle(held: HeldAssignment, status: HeartbeatStatus | undefined, sentAt: number): void {
    held.missed = 0;
    held.heardAt = sentAt;
    if (status === undefined || status === 'HELD') return;
    // An id that the server rejects as invalid keeps nothing alive.
    this.#parts.onEnded(held, status === 'INVALID' ? 'LOST' : status);
  }

  #miss(held: HeldAssignment, periodMs: number): void {
    const { heartbeatIntervalMs } = held.assignment;
    held.missed++;
    const silentFor = performance.now() - held.heardAt;
    // A period is at most 0.95 of the shortest interval and two are at least 1.6 of it, so for that interval the first condition
    // means two in a row. The deadline is checked as well, for a claim whose answer took long.
    if (held.missed * periodMs >= 1.5 * heartbeatIntervalMs || silentFor >= 2.85 * heartbeatIntervalMs) {
      this.#parts.onSilence(held);
    }
  }
}
