/**
 * Gives what was claimed to handlers as those become free, and back to the server what would wait for too long. A suspect, whose
 * workers may have ended because of it, runs alone.
 */
import type { Assignment } from '../types.ts';
import type { Tell } from './emitter.ts';
import type { Exchanges } from './exchanges.ts';
import { callHandler } from './handler-results.ts';
import type { EndedStatus, Heartbeats } from './heartbeats.ts';
import { HeldAssignment, type Slots } from './held-assignments.ts';
import { ItemTrace } from './item-trace.ts';
import type { NoteSender } from './note-sender.ts';
import type { Outcomes } from './outcomes.ts';

export interface HandlerPoolParts {
  readonly worker: string;
  readonly slots: ReadonlyMap<string, Slots>;
  readonly held: Set<HeldAssignment>;
  readonly exchanges: Exchanges;
  readonly heartbeats: Heartbeats;
  readonly notes: NoteSender;
  readonly outcomes: Outcomes;
  readonly tell: Tell;
  /** Whether the worker neither stops nor pauses. */
  readonly isClaiming: () => boolean;
  /** Something was claimed that is to be done. */
  readonly onWork: () => void;
  /** A handler is free. */
  readonly onFree: () => void;
}

/** How long what was claimed ahead may wait for a handler. */
const waitMs = 100;
/** How much the time of one handler counts towards the mean. */
const meanShare = 1 / 4;

export class HandlerPool {
  readonly #parts: HandlerPoolParts;
  readonly #filling = new Set<Slots>();
  /** Waits until the worker holds nothing else, or has a handler: nothing is claimed meanwhile. */
  #suspect: HeldAssignment | undefined;
  /** The last item that came was a suspect: others may be next. */
  #isCautious = false;
  #overdueTimer: ReturnType<typeof setTimeout> | undefined;
  #running = 0;
  #begun = 0;

  constructor(parts: HandlerPoolParts) {
    this.#parts = parts;
  }

  /** How many handlers are at work. */
  get running(): number {
    return this.#running;
  }

  /** How many items have begun. */
  get begun(): number {
    return this.#begun;
  }

  /** The most items that the next claim may ask for. */
  get mostClaimed(): number {
    if (this.#suspect !== undefined) return 0;
    return this.#isCautious ? 1 : Number.POSITIVE_INFINITY;
  }

  /** The server has nothing that is ready, as far as was asked, and nothing is left to begin. */
  get isDrained(): boolean {
    if (this.#suspect?.state === 'waiting') return false;
    for (const { dry, asked, waiting } of this.#parts.slots.values())
      if (!dry || asked > 0 || waiting.length > 0) return false;
    return true;
  }

  /** Takes what was claimed by a request that was sent at `sentAt`. */
  take(assignment: Assignment, sentAt: number): void {
    const { held: all, heartbeats, isClaiming, notes, onWork, outcomes, worker } = this.#parts;
    const slots = this.#parts.slots.get(assignment.type);
    if (slots === undefined)
      throw new Error(`The server gave an item of the type ${assignment.type}, unasked.`);
    const held = new HeldAssignment(assignment, slots, sentAt, () => notes.wake());
    held.trace = ItemTrace.begin(assignment, worker, sentAt);
    all.add(held);
    heartbeats.add(held);
    if (!isClaiming()) {
      outcomes.release(held);
      return;
    }
    this.#isCautious = assignment.suspect;
    if (assignment.suspect && this.#suspect !== undefined) {
      outcomes.release(held);
      return;
    }
    onWork();
    if (assignment.suspect) {
      this.#suspect = held;
      return;
    }
    slots.waiting.push(held);
    // A batch begins when all that the claim gave is there.
    if (slots.batchSize === undefined) this.fill(slots);
    if (slots.waiting.length > 0) this.#overdueTimer ??= setTimeout(() => this.#giveBackOverdue(), waitMs);
  }

  /** Gives free handlers what waits. */
  fill(slots: Slots): void {
    // A handler that is done at once frees its slot while this loop is at it.
    if (this.#filling.has(slots)) return;
    this.#filling.add(slots);
    while (slots.running < slots.concurrency && slots.waiting.length > 0) {
      this.#run(slots, slots.waiting.splice(0, slots.batchSize ?? 1));
    }
    this.#filling.delete(slots);
  }

  /** There may be something to claim. */
  lookAgain(): void {
    for (const slots of this.#parts.slots.values()) slots.dry = false;
    this.#parts.exchanges.wake();
  }

  /** Begins with the suspect when nothing else could be lost with it, not even an outcome that the server has yet to acknowledge. */
  tryAlone(): void {
    const held = this.#suspect;
    const { held: all, exchanges } = this.#parts;
    if (held?.state !== 'waiting' || all.size > 1 || this.#running > 0 || !exchanges.claimsNothing) return;
    this.#run(held.slots, [held]);
  }

  /** Gives back what no handler has begun. */
  releaseWaiting(): void {
    const { slots: all, outcomes } = this.#parts;
    clearTimeout(this.#overdueTimer);
    this.#overdueTimer = undefined;
    for (const slots of all.values()) for (const held of slots.waiting.splice(0)) outcomes.release(held);
    if (this.#suspect?.state === 'waiting') {
      outcomes.release(this.#suspect);
      this.#suspect = undefined;
    }
  }

  /** Aborts all handlers, and gives back what they have. */
  interrupt(): void {
    const { held: all, outcomes } = this.#parts;
    for (const held of all) {
      const isRunning = held.state === 'running';
      if (isRunning) outcomes.abort(held, 'STOPPED');
      // The next item of a serialize key may begin when this one is given back, so its handler must have ended.
      if (held.state === 'starting' || (isRunning && !held.assignment.hasSerializeKey))
        outcomes.release(held);
    }
  }

  /** The server says that the worker does not hold it any more. What has an outcome learns from its report what became of it. */
  ended(held: HeldAssignment, status: EndedStatus): void {
    const { outcomes } = this.#parts;
    if (held.state === 'waiting' || held.state === 'starting') {
      this.#drop(held);
      outcomes.forget(held);
    } else if (held.state === 'running') {
      outcomes.forget(held);
      outcomes.abort(held, status);
    }
  }

  /** Its heartbeats have failed. */
  silent(held: HeldAssignment): void {
    const { outcomes } = this.#parts;
    if (held.state === 'waiting' || held.state === 'starting') {
      this.#drop(held);
      outcomes.release(held);
    } else if (held.state === 'running') {
      outcomes.abort(held, 'HEARTBEATS_FAILED');
    }
  }

  #run(slots: Slots, items: readonly HeldAssignment[]): void {
    slots.running++;
    this.#running++;
    if (items.some(({ assignment }) => assignment.lostBefore)) void this.#announceStart(slots, items);
    else this.#callHandler(slots, items);
  }

  /** What was lost before may be what ended its worker: the server is to know that this one has started it. */
  async #announceStart(slots: Slots, items: readonly HeldAssignment[]): Promise<void> {
    for (const held of items) held.state = 'starting';
    const isKnown = await this.#parts.heartbeats.announce(items);
    const wanted = items.filter(({ state }) => state === 'starting');
    if (isKnown && wanted.length > 0) {
      this.#callHandler(slots, wanted);
      return;
    }
    for (const held of wanted) this.#parts.outcomes.release(held);
    this.#freeSlot(items);
  }

  #callHandler(slots: Slots, items: readonly HeldAssignment[]): void {
    const { outcomes, tell } = this.#parts;
    this.#begun += items.length;
    for (const held of items) {
      held.begin((late) => outcomes.timeOut(late));
      tell('claimed', held.assignment);
      slots.meters.began();
    }
    callHandler(items, {
      onResult: (held, result) => outcomes.succeed(held, result),
      onFailure: (held, error) => outcomes.fail(held, error),
      onEnd: () => this.#handled(slots, items),
    });
  }

  /** The outcomes are on their way by now: `stop()` takes a worker without handlers and outcomes for done. */
  #handled(slots: Slots, items: readonly HeldAssignment[]): void {
    const [{ since }] = items as [HeldAssignment];
    const ms = performance.now() - since;
    for (const held of items) slots.meters.ended(ms, held.failure?.code);
    slots.meanMs += (ms - slots.meanMs) * meanShare;
    this.#freeSlot(items);
  }

  #freeSlot(items: readonly HeldAssignment[]): void {
    const [held] = items as [HeldAssignment];
    held.slots.running--;
    this.#running--;
    this.#endSuspicion(held);
    this.fill(held.slots);
    this.#parts.exchanges.wake();
    this.#parts.onFree();
  }

  #endSuspicion(held: HeldAssignment): void {
    if (this.#suspect !== held) return;
    this.#suspect = undefined;
    this.lookAgain();
  }

  /** What was claimed ahead of a handler that takes its time after all is for another worker. */
  #giveBackOverdue(): void {
    const now = performance.now();
    let oldest = Number.POSITIVE_INFINITY;
    for (const slots of this.#parts.slots.values()) {
      const inTime = slots.waiting.findIndex(({ since }) => now - since < waitMs);
      const overdue = slots.waiting.splice(0, inTime === -1 ? slots.waiting.length : inTime);
      for (const held of overdue) this.#parts.outcomes.release(held);
      if (overdue.length > 0) slots.meanMs = Math.max(slots.meanMs, waitMs);
      oldest = Math.min(oldest, slots.waiting[0]?.since ?? oldest);
    }
    const isOver = oldest === Number.POSITIVE_INFINITY;
    this.#overdueTimer = isOver
      ? undefined
      : setTimeout(() => this.#giveBackOverdue(), oldest + waitMs - now);
  }

  /** It is not to be run any more. */
  #drop(held: HeldAssignment): void {
    const { waiting } = held.slots;
    if (held === this.#suspect) this.#endSuspicion(held);
    else if (held.state === 'waiting') waiting.splice(waiting.indexOf(held), 1);
    this.#parts.exchanges.wake();
  }
}
