/**
 * Tells idle workers on all servers that there may be work. A hint says "try to claim" and nothing more; workers also poll
 * slowly, since a hint may be lost.
 *
 * - **Few hints for few items.** A hint carries how many items of a type there are, and each server wakes at most as many of its
 *   subscribers, in turn. It wakes its own at once; the other servers hear by NOTIFY, in a separate statement after the commit
 *   and at most once per interval, since NOTIFY holds a lock over all of Postgres until its transaction is flushed.
 * - **No item waits for one worker.** A worker that was woken may be busy or dead. Until claims have taken as many items as were
 *   announced, or found none, further subscribers are woken in waves that double, until all are. A claim that got everything it
 *   asked for, although nothing was announced, passes a hint on.
 * - **A last look.** A claim that finds nothing may have looked past an item (`low-water.ts`), or the worker of another server
 *   has it. So one more subscriber is woken a good second later, when claims read from the start again.
 */
import { randomUUID } from 'node:crypto';
import type { Logger } from 'pino';
import { z } from 'zod';
import type { Database } from '../db/database.ts';
import { HintSlot } from './hint-slot.ts';

const notifyEveryMs = 50;
const waveEveryMs = 100;
const lastLookAfterMs = 1_100;
/** A claim that got everything it asked for, although nothing was announced, wakes this many, at most this often. */
const passedOn = 2;
const passOnEveryMs = 25;
/** The size of the first wave when the number of items is unknown. */
const firstWave = 10;
/** Keeps a message below the 8,000 bytes that NOTIFY takes. */
const maxMessageLength = 7_000;

const message = z.object({
  /** The server that sent it; absent from other senders. */
  from: z.string().optional(),
  types: z.array(z.tuple([z.string(), z.number().positive()])),
});

/** Announced items of a type that are not known to be claimed. */
interface Unmet {
  items: number;
  announcedAt: number;
  /** How many subscribers have been woken, and how many of them in the last wave. */
  told: number;
  wave: number;
  nextAt: number;
  /** A claim found nothing: the last look comes next. */
  isLast: boolean;
}

export class WorkHints {
  readonly #database: Database;
  readonly #logger: Logger;
  readonly #id = randomUUID();
  readonly #slots = new Set<HintSlot>();
  /** The subscribers of each type; the first is woken next, and then goes to the end. */
  readonly #byType = new Map<string, Set<HintSlot>>();
  readonly #unmet = new Map<string, Unmet>();
  readonly #passedOnAt = new Map<string, number>();
  /** What the next message tells the other servers. */
  #outgoing = new Map<string, number>();
  #notifyTimer: NodeJS.Timeout | undefined;
  #waveTimer: NodeJS.Timeout | undefined;

  constructor(options: { database: Database; logger: Logger }) {
    this.#database = options.database;
    this.#logger = options.logger;
  }

  /** `counts`: how many items of each type may have become claimable. */
  ready(counts: ReadonlyMap<string, number>): void {
    for (const [type, items] of counts) {
      this.#announce(type, items);
      this.#outgoing.set(type, (this.#outgoing.get(type) ?? 0) + items);
    }
    // The first message goes out at once, later ones are merged.
    if (this.#notifyTimer === undefined) this.#notify();
  }

  /** A claim that began at `startedAt` took `taken` items of the type; with `dry`, it left none behind. */
  claimed(type: string, taken: number, dry: boolean, startedAt: number): void {
    const unmet = this.#unmet.get(type);
    if (unmet === undefined) {
      if (!dry) this.#passOn(type);
      return;
    }
    unmet.items -= taken;
    if (unmet.items <= 0) {
      this.#unmet.delete(type);
    } else if (dry && startedAt >= unmet.announcedAt && !unmet.isLast) {
      unmet.isLast = true;
      unmet.nextAt = performance.now() + lastLookAfterMs;
    }
  }

  /** There may be more items of the type, but its queue has no room. */
  limited(type: string): void {
    // Waking others is useless until it has.
    this.#unmet.delete(type);
  }

  /** Its queue has room for this many items again. The other servers find this out themselves. */
  roomAgain(type: string, items: number): void {
    this.#announce(type, items);
  }

  /** Whether anybody waits for hints of the type. */
  isWanted(type: string): boolean {
    return this.#byType.has(type);
  }

  /** Takes a message from any server, or from another sender. */
  receive(payload: string): void {
    let value: unknown;
    try {
      value = JSON.parse(payload);
    } catch {
      value = payload;
    }
    const parsed = message.safeParse(value);
    if (!parsed.success) this.#logger.debug('a work hint could not be read');
    else if (parsed.data.from !== this.#id)
      for (const [type, items] of parsed.data.types) this.#announce(type, items);
  }

  /** Messages may have been lost: announces all types with an unknown number of items. */
  resync(): void {
    for (const type of this.#byType.keys()) this.#announce(type, Number.POSITIVE_INFINITY, firstWave);
  }

  subscribe(types: readonly string[], onLeave = () => {}): AsyncIterableIterator<string[]> {
    const slot = new HintSlot(types, () => {
      this.#leave(slot);
      onLeave();
    });
    this.#slots.add(slot);
    for (const type of slot.types) {
      const slots = this.#byType.get(type);
      if (slots === undefined) this.#byType.set(type, new Set([slot]));
      else slots.add(slot);
    }
    return slot;
  }

  close(): void {
    clearTimeout(this.#notifyTimer);
    clearInterval(this.#waveTimer);
    for (const slot of this.#slots) void slot.return();
  }

  #leave(slot: HintSlot): void {
    this.#slots.delete(slot);
    for (const type of slot.types) {
      const slots = this.#byType.get(type);
      slots?.delete(slot);
      if (slots?.size !== 0) continue;
      this.#byType.delete(type);
      this.#unmet.delete(type);
      this.#passedOnAt.delete(type);
    }
  }

  #announce(type: string, items: number, wave = items): void {
    if (!this.#byType.has(type)) return;
    const now = performance.now();
    this.#unmet.set(type, {
      items: (this.#unmet.get(type)?.items ?? 0) + items,
      announcedAt: now,
      told: this.#tell(type, wave),
      wave,
      nextAt: now + waveEveryMs,
      isLast: false,
    });
    this.#waveTimer ??= setInterval(() => this.#nextWave(), waveEveryMs);
  }

  #nextWave(): void {
    const now = performance.now();
    for (const [type, unmet] of this.#unmet) {
      if (unmet.nextAt > now) continue;
      const untold = (this.#byType.get(type)?.size ?? 0) - unmet.told;
      if (unmet.isLast) this.#tell(type, 1);
      if (unmet.isLast || untold <= 0) {
        this.#unmet.delete(type);
        continue;
      }
      unmet.wave *= 2;
      unmet.told += this.#tell(type, Math.min(unmet.wave, untold));
      unmet.nextAt = now + waveEveryMs;
    }
    if (this.#unmet.size > 0) return;
    clearInterval(this.#waveTimer);
    this.#waveTimer = undefined;
  }

  #passOn(type: string): void {
    const now = performance.now();
    if (!this.#byType.has(type) || now < (this.#passedOnAt.get(type) ?? 0) + passOnEveryMs) return;
    this.#passedOnAt.set(type, now);
    this.#tell(type, passedOn);
  }

  /** Wakes up to `count` subscribers of the type, those woken longest ago first, and returns how many it woke. */
  #tell(type: string, count: number): number {
    const slots = this.#byType.get(type) ?? new Set();
    const next = [];
    for (const slot of slots) {
      if (next.length >= count) break;
      next.push(slot);
    }
    for (const slot of next) {
      slots.delete(slot);
      slots.add(slot);
      slot.offer(type);
    }
    return next.length;
  }

  #notify(): void {
    const outgoing = this.#outgoing;
    this.#outgoing = new Map();
    if (outgoing.size === 0) {
      this.#notifyTimer = undefined;
      return;
    }
    this.#notifyTimer = setTimeout(() => this.#notify(), notifyEveryMs);
    this.#database.pool
      .query({
        name: 'hint',
        text: `select jobtree.send_hint('work', m) from unnest($1::text[]) m`,
        values: [this.#messages(outgoing)],
      })
      .catch((error: unknown) => {
        this.#logger.debug({ err: error }, 'a work hint was lost; workers poll');
      });
  }

  #messages(counts: ReadonlyMap<string, number>): string[] {
    const messages: [string, number][][] = [[]];
    let length = 0;
    for (const entry of counts) {
      // In UTF-8 a UTF-16 unit takes at most three bytes.
      const size = JSON.stringify(entry).length * 3 + 1;
      if (length + size > maxMessageLength) {
        messages.push([]);
        length = 0;
      }
      length += size;
      messages.at(-1)?.push(entry);
    }
    return messages.map((types) => JSON.stringify({ from: this.#id, types }));
  }
}
