/**
 * Tells idle workers on all servers that there may be work: claims that wait at their server (`parked-claims.ts`) and, as far as
 * those can't take what there is, subscribers. A hint says "try to claim" and nothing more; workers also look again now and then,
 * since a hint may be lost.
 *
 * - **Few hints for few items.** A hint carries how many items of a type there are, and each server wakes at most as many of its
 *   waiting claims and subscribers, in turn. It wakes its own at once; the other servers hear of what these do not take by NOTIFY, in
 *   a separate statement after the commit and at most once per interval, since NOTIFY holds a lock over all of Postgres until its
 *   transaction is flushed.
 * - **No item waits for one worker.** A worker that was woken may be busy or dead. Until claims have taken as many items as were
 *   announced, or found none, further subscribers are woken in waves that double, until all are. A claim that got everything it
 *   asked for, although nothing was announced, passes a hint on.
 * - **A last look.** A claim that finds nothing may have looked past an item (`low-water.ts`), or the worker of another server
 *   has it. So one more subscriber is woken a good second later, when claims read from the start again.
 */
import { LRUCache } from 'lru-cache';
import type { Logger } from 'pino';
import type { Database } from '../db/database.ts';
import type { WaitingClaim } from '../domain/engine/engine.ts';
import { HintSlot } from './hint-slot.ts';
import { readWork, toMessages } from './work-message.ts';

const notifyEveryMs = 50;
const waveEveryMs = 100;
const lastLookAfterMs = 1_100;
/** A claim that got everything it asked for, although nothing was announced, wakes this many, at most this often. */
const passedOn = 2;
const passOnEveryMs = 25;
/** The size of the first wave when the number of items is unknown. */
const firstWave = 10;
/** A hundred servers send as many in a second, and two relays are hardly that far apart. */
const rememberedMessages = 2_000;

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

interface Waiting {
  readonly claims: Set<WaitingClaim>;
  readonly slots: Set<HintSlot>;
}

export class WorkHints {
  readonly #database: Database;
  readonly #logger: Logger;
  readonly #slots = new Set<HintSlot>();
  /** Those who wait for each type; the first is woken next, and then goes to the end. */
  readonly #byType = new Map<string, Waiting>();
  readonly #unmet = new Map<string, Unmet>();
  readonly #passedOnAt = new Map<string, number>();
  /** The ids of messages that were sent or received. */
  readonly #known = new LRUCache<string, true>({ max: rememberedMessages });
  /** What the next message tells the other servers: what claims here have not taken meanwhile. */
  #outgoing = new Map<string, number>();
  #notifyTimer: NodeJS.Timeout | undefined;
  #waveTimer: NodeJS.Timeout | undefined;

  constructor(options: { database: Database; logger: Logger }) {
    this.#database = options.database;
    this.#logger = options.logger;
  }

  /** `counts`: how many items of each type may have become claimable. */
  ready(counts: ReadonlyMap<string, number>): void {
    let isTaken = true;
    for (const [type, items] of counts) {
      isTaken = this.#announce(type, items) && isTaken;
      this.#outgoing.set(type, (this.#outgoing.get(type) ?? 0) + items);
    }
    // The first message goes out at once, unless claims of this server take everything; later ones are merged.
    if (this.#notifyTimer !== undefined) return;
    if (isTaken) this.#notifyTimer = setTimeout(() => this.#notify(), notifyEveryMs);
    else this.#notify();
  }

  /** A claim that began at `startedAt` took `taken` items of the type; with `dry`, it left none behind. */
  claimed(type: string, taken: number, dry: boolean, startedAt: number): void {
    const untold = (this.#outgoing.get(type) ?? 0) - taken;
    if (untold > 0) this.#outgoing.set(type, untold);
    else this.#outgoing.delete(type);
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

  /** Takes a message of any server, also of this one, or of another sender. */
  receive(payload: string): void {
    const work = readWork(payload);
    if (work === undefined) this.#logger.debug('a work hint could not be read');
    else if (this.#isNews(work.id)) for (const [type, items] of work.types) this.#announce(type, items);
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
    for (const type of slot.types) this.#waitingFor(type).slots.add(slot);
    return slot;
  }

  /** Offers the claim what may become claimable, until the returned function is called. */
  awaited(claim: WaitingClaim): () => void {
    for (const type of claim.types) this.#waitingFor(type).claims.add(claim);
    return () => {
      for (const type of claim.types) {
        this.#byType.get(type)?.claims.delete(claim);
        this.#forget(type);
      }
    };
  }

  close(): void {
    clearTimeout(this.#notifyTimer);
    clearInterval(this.#waveTimer);
    for (const slot of this.#slots) void slot.return();
  }

  #isNews(id: string | undefined): boolean {
    if (id === undefined) return true;
    const isKnown = this.#known.has(id);
    this.#known.set(id, true);
    return !isKnown;
  }

  #leave(slot: HintSlot): void {
    this.#slots.delete(slot);
    for (const type of slot.types) {
      this.#byType.get(type)?.slots.delete(slot);
      this.#forget(type);
    }
  }

  #waitingFor(type: string): Waiting {
    let waiting = this.#byType.get(type);
    if (waiting === undefined) {
      waiting = { claims: new Set(), slots: new Set() };
      this.#byType.set(type, waiting);
    }
    return waiting;
  }

  /** Somebody no longer waits for the type: keeps nothing of it if nobody does, and does not count for those who still do. */
  #forget(type: string): void {
    const { claims, slots } = this.#waitingFor(type);
    const unmet = this.#unmet.get(type);
    if (unmet !== undefined) unmet.told--;
    if (claims.size + slots.size > 0) return;
    this.#byType.delete(type);
    this.#unmet.delete(type);
    this.#passedOnAt.delete(type);
  }

  /** Returns whether claims that wait here take everything. */
  #announce(type: string, items: number, wave = items): boolean {
    if (!this.#byType.has(type)) return false;
    const now = performance.now();
    const { told, left } = this.#tell(type, wave, items);
    this.#unmet.set(type, {
      items: (this.#unmet.get(type)?.items ?? 0) + items,
      announcedAt: now,
      told,
      wave,
      nextAt: now + waveEveryMs,
      isLast: false,
    });
    this.#waveTimer ??= setInterval(() => this.#nextWave(), waveEveryMs);
    return left <= 0;
  }

  #nextWave(): void {
    const now = performance.now();
    for (const [type, unmet] of this.#unmet) {
      if (unmet.nextAt > now) continue;
      const { claims, slots } = this.#waitingFor(type);
      const untold = claims.size + slots.size - unmet.told;
      if (unmet.isLast) this.#tell(type, 1, unmet.items);
      if (unmet.isLast || untold <= 0) {
        this.#unmet.delete(type);
        continue;
      }
      unmet.wave *= 2;
      unmet.told += this.#tell(type, Math.min(unmet.wave, untold), unmet.items).told;
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
    this.#tell(type, passedOn, Number.POSITIVE_INFINITY);
  }

  /**
   * Wakes up to `count` of those who wait for the type: claims, each for its share of the items, and for the rest subscribers. Returns how many it
   * woke, and how many items are left by the claims.
   */
  #tell(type: string, count: number, items: number): { readonly told: number; readonly left: number } {
    const { claims, slots } = this.#waitingFor(type);
    const share = Math.ceil(items / Math.max(1, Math.min(count, claims.size)));
    let told = 0;
    let left = items;
    for (const claim of firstOf(claims, claims.size)) {
      if (told >= count || left <= 0) break;
      const taken = claim.offer(type, share);
      if (taken === 0) continue;
      moveToEnd(claims, claim);
      left -= taken;
      told++;
    }
    for (const slot of firstOf(slots, Math.min(left, count - told))) {
      moveToEnd(slots, slot);
      slot.offer(type);
      told++;
    }
    return { told, left };
  }

  #notify(): void {
    const outgoing = this.#outgoing;
    this.#outgoing = new Map();
    if (outgoing.size === 0) {
      this.#notifyTimer = undefined;
      return;
    }
    this.#notifyTimer = setTimeout(() => this.#notify(), notifyEveryMs);
    const messages = toMessages(outgoing);
    for (const { id } of messages) this.#known.set(id, true);
    this.#database.pool
      .query({
        name: 'hint',
        text: `select jobtree.send_hints('work', $1)`,
        values: [messages.map(({ text }) => text)],
      })
      .catch((error: unknown) => {
        this.#logger.debug({ err: error }, 'a work hint was lost; workers poll');
      });
  }
}

/** Those that have not been moved to the end meanwhile. */
function* firstOf<T>(all: Set<T>, count: number): Generator<T> {
  let left = Math.min(count, all.size);
  for (const one of all) {
    if (left-- <= 0) return;
    yield one;
  }
}

function moveToEnd<T>(all: Set<T>, one: T): void {
  all.delete(one);
  all.add(one);
}
