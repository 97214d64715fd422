/**
 * Watches types whose queue is paused or at a limit, so that claims got nothing. Nothing tells the servers that a place has
 * become free (its item may have ended anywhere), that a rate allows the next item, or that a hint of a changed setting was lost.
 * So as long as somebody waits for work of such a type, each server checks when the type has room again, and wakes its own
 * workers.
 */
import type { Logger } from 'pino';
import type { Database } from '../db/database.ts';

/** Types that come due within this time are checked together. */
const shortestMs = 5;
const afterFailureMs = 1_000;
/** The most workers to wake at once: if there is work for more, the waves of the hints wake them. */
const mostWoken = 100;

export class RoomWatch {
  readonly #database: Database;
  readonly #logger: Logger;
  readonly #isWanted: (type: string) => boolean;
  readonly #onRoom: (type: string, items: number) => void;
  /** When to check each type, on the monotonic clock. */
  readonly #dueAt = new Map<string, number>();
  #timer: NodeJS.Timeout | undefined;
  #timerAt = Number.POSITIVE_INFINITY;
  #isLooking = false;
  #closed = false;

  constructor(options: {
    database: Database;
    logger: Logger;
    /** Whether anybody waits for work of the type. */
    isWanted: (type: string) => boolean;
    onRoom: (type: string, items: number) => void;
  }) {
    this.#database = options.database;
    this.#logger = options.logger;
    this.#isWanted = options.isWanted;
    this.#onRoom = options.onRoom;
  }

  /** A claim found that the type has no room: checks it again in `ms` milliseconds. */
  lookIn(type: string, ms: number): void {
    const at = performance.now() + Math.max(ms, shortestMs);
    if (at >= (this.#dueAt.get(type) ?? Number.POSITIVE_INFINITY)) return;
    this.#dueAt.set(type, at);
    this.#schedule(at);
  }

  close(): void {
    this.#closed = true;
    clearTimeout(this.#timer);
    this.#dueAt.clear();
  }

  #schedule(at: number): void {
    if (this.#closed || this.#isLooking || at >= this.#timerAt) return;
    clearTimeout(this.#timer);
    this.#timerAt = at;
    this.#timer = setTimeout(() => void this.#look(), Math.max(0, at - performance.now()));
  }

  async #look(): Promise<void> {
    this.#timerAt = Number.POSITIVE_INFINITY;
    const until = performance.now() + shortestMs;
    const due = [...this.#dueAt].flatMap(([type, at]) => (at <= until ? type : []));
    for (const type of due) this.#dueAt.delete(type);
    const wanted = due.filter(this.#isWanted);
    if (wanted.length > 0) {
      this.#isLooking = true;
      await this.#ask(wanted).catch((error: unknown) => {
        this.#logger.debug({ err: error }, 'the room of limited types could not be read; trying again');
        for (const type of wanted) this.lookIn(type, afterFailureMs);
      });
      this.#isLooking = false;
    }
    if (this.#dueAt.size > 0) this.#schedule(Math.min(...this.#dueAt.values()));
  }

  async #ask(types: readonly string[]): Promise<void> {
    const asked = performance.now();
    const rows = await this.#database.call<{ type: string; room: number; again_in_ms: number }>(
      'queue_rooms',
      types,
    );
    const limited = new Map(rows.map((row) => [row.type, row]));
    for (const type of types) {
      const { room, again_in_ms: ms } = limited.get(type) ?? { room: mostWoken, again_in_ms: 0 };
      if (room > 0) this.#onRoom(type, Math.min(room, mostWoken));
      else this.lookIn(type, ms - (performance.now() - asked));
    }
  }
}
