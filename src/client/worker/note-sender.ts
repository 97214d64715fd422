/**
 * Sends what handlers note, at most once a second: one request for all items that have something new. Heartbeats and reports carry what is there when they go, so it
 * finds something where handlers take longer than a second.
 */
import type { ItemNoteInput } from '../../generated/operations.ts';
import * as operations from '../../generated/operations.ts';
import { payloadOf } from '../errors.ts';
import { maxEntries } from '../limits.ts';
import type { Socket } from '../socket.ts';
import { freshlyNoted, type HeldAssignment, keepNotes, takeNotes } from './held-assignments.ts';

const everyMs = 1_000;
const timeoutMs = 10_000;

export interface NoteParts {
  readonly held: ReadonlySet<HeldAssignment>;
  readonly socket: Socket;
  /** The server has answered. */
  readonly onReached: () => void;
  readonly onError: (error: unknown) => void;
}

export class NoteSender {
  readonly #parts: NoteParts;
  /** Of those on their way. */
  #underWay: readonly HeldAssignment[] = [];
  /** While it waits, and while something is on its way. */
  #timer: ReturnType<typeof setTimeout> | undefined;
  #stopped = false;

  constructor(parts: NoteParts) {
    this.#parts = parts;
  }

  /** Something was noted. */
  wake(): void {
    if (!this.#stopped) this.#timer ??= setTimeout(() => void this.#send(), everyMs);
  }

  /** What is on its way may arrive after the outcome of its item, when nobody holds that any more: the outcome takes it along. */
  ending(held: HeldAssignment): void {
    if (this.#underWay.includes(held)) held.notes?.keep();
  }

  stop(): void {
    this.#stopped = true;
    clearTimeout(this.#timer);
  }

  async #send(): Promise<void> {
    const all = [...this.#parts.held].filter(isToBeSent);
    let failed = false;
    try {
      for (let i = 0; i < all.length; i += maxEntries) {
        this.#underWay = freshlyNoted(all.slice(i, i + maxEntries).filter(isToBeSent));
        if (this.#underWay.length > 0) await this.#request(takeNotes(this.#underWay));
      }
    } catch (error) {
      keepNotes(this.#underWay);
      // The next note tries again, or a heartbeat.
      failed = true;
      this.#parts.onError(error);
    }
    this.#underWay = [];
    this.#timer = undefined;
    if (!failed && [...this.#parts.held].some(isToBeSent)) this.wake();
  }

  async #request(notes: ItemNoteInput[]): Promise<void> {
    const { socket, onReached } = this.#parts;
    const data = await socket.request(operations.NoteItems, { input: { notes } }, timeoutMs);
    onReached();
    payloadOf(data.noteItems);
  }
}

/** What has an outcome goes with that. */
function isToBeSent({ state, notes }: HeldAssignment): boolean {
  return state === 'running' && notes?.isFresh === true;
}
