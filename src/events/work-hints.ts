/**
 * Tells idle workers, of all servers, that work may have appeared. A hint says "try to claim" and nothing more; workers
 * poll slowly behind it. Hints go out in a statement of their own after the commit, at most one every interval, since
 * NOTIFY holds a lock over all of Postgres until its transaction is flushed.
 */
import type { Logger } from 'pino';
import type { Database } from '../db/database.ts';

export const workChannel = 'jobtree_work';
const intervalMs = 50;
/** Keeps a message below the 8,000 bytes that NOTIFY takes. */
const maxMessageLength = 7_000;

export class WorkHints {
  readonly #database: Database;
  readonly #logger: Logger;
  readonly #waiting = new Set<string>();
  readonly #subscribers = new Set<HintSlot>();
  #timer: NodeJS.Timeout | undefined;

  constructor(options: { database: Database; logger: Logger }) {
    this.#database = options.database;
    this.#logger = options.logger;
  }

  /** Items of these types may have become claimable: the first hint goes at once, more of them together after a while. */
  ready(types: readonly string[]): void {
    for (const type of types) this.#waiting.add(type);
    if (this.#timer !== undefined) return;
    this.#timer = setTimeout(() => {
      this.#timer = undefined;
      if (this.#waiting.size > 0) this.ready([]);
    }, intervalMs);
    void this.#send();
  }

  /** A hint from any server. */
  receive(payload: string): void {
    const types = JSON.parse(payload) as string[];
    for (const slot of this.#subscribers) slot.offer(types);
  }

  /** Anything may have happened: wake everybody. */
  wakeAll(): void {
    for (const slot of this.#subscribers) slot.offer(slot.types);
  }

  subscribe(types: readonly string[]): AsyncIterableIterator<string[]> {
    const slot = new HintSlot(types, () => this.#subscribers.delete(slot));
    this.#subscribers.add(slot);
    return slot;
  }

  close(): void {
    clearTimeout(this.#timer);
    for (const slot of [...this.#subscribers]) void slot.return();
  }

  async #send(): Promise<void> {
    const messages: string[][] = [[]];
    let length = 0;
    for (const type of this.#waiting) {
      length += JSON.stringify(type).length * 3 + 1;
      if (length > maxMessageLength) {
        messages.push([]);
        length = 0;
      }
      messages.at(-1)?.push(type);
    }
    this.#waiting.clear();
    try {
      await this.#database.pool.query({
        name: 'hint',
        text: 'select pg_notify($1, m) from unnest($2::text[]) m',
        values: [workChannel, messages.map((types) => JSON.stringify(types))],
      });
    } catch (error) {
      this.#logger.debug({ err: error }, 'a work hint was lost; workers poll');
    }
  }
}

/** What a subscriber has not yet taken: a set of types. */
class HintSlot implements AsyncIterableIterator<string[]> {
  readonly types: readonly string[];
  readonly #wanted: ReadonlySet<string>;
  readonly #onClose: () => void;
  #pending: Set<string>;
  #wake: (() => void) | undefined;
  #closed = false;

  constructor(types: readonly string[], onClose: () => void) {
    this.types = types;
    this.#wanted = new Set(types);
    this.#onClose = onClose;
    // Work may be there already.
    this.#pending = new Set(types);
  }

  offer(types: readonly string[]): void {
    for (const type of types) if (this.#wanted.has(type)) this.#pending.add(type);
    if (this.#pending.size > 0) this.#wake?.();
  }

  async next(): Promise<IteratorResult<string[]>> {
    while (!this.#closed && this.#pending.size === 0) {
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
    }
    if (this.#closed) return { done: true, value: undefined };
    const types = [...this.#pending];
    this.#pending = new Set();
    return { done: false, value: types };
  }

  async return(): Promise<IteratorReturnResult<undefined>> {
    if (!this.#closed) {
      this.#closed = true;
      this.#onClose();
      this.#wake?.();
    }
    return { done: true, value: undefined };
  }

  [Symbol.asyncIterator](): this {
    return this;
  }
}
