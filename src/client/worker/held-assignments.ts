/**
 * What a worker holds. The life of an assignment:
 *
 *   waiting ──▶ running ──▶ finished ──▶ gone   a handler was free; it settled; its report was acknowledged
 *      │           │                      ▲
 *      ├───────────┼──────────────────────┤      the server does not honour it any more: the handler is aborted, its outcome dropped
 *      └───────────┴──▶ released ─────────┘      given back: the worker stops or pauses, it waited for too long, or its heartbeats failed
 *
 * Whatever is not gone is in the set and heartbeats. A slot of the type is taken until the handler has settled, wanted or
 * not, so there are never more handlers at work than the type's concurrency.
 */
import type { ItemNoteInput } from '../../generated/operations.ts';
import { type AbortCode, AssignmentEndedError } from '../errors.ts';
import { maxEntries, maxUnits } from '../limits.ts';
import type { Assignment } from '../types.ts';
import type { BatchItem, HandlerContext, Logger } from './handler.ts';
import { ItemNotes } from './item-notes.ts';
import type { ItemTrace } from './item-trace.ts';
import type { Meters } from './meters.ts';
import { NewItems } from './new-items.ts';
import type { Outcome } from './outcome.ts';

/** A type that the worker does, and its room. */
export interface Slots {
  readonly type: string;
  /** How many handlers may be at work. */
  concurrency: number;
  /** How many items a handler gets at once; undefined for a handler that takes one. */
  readonly batchSize: number | undefined;
  /** How long a handler may take, in milliseconds; undefined for ever. */
  readonly timeoutMs: number | undefined;
  /** Calls the handler, and the middleware around it. Of a batch it gives a list of results. */
  readonly call: (items: readonly HeldAssignment[]) => unknown;
  readonly meters: Meters;
  readonly loggerOf: (assignment: Assignment) => Logger;
  /** Handlers at work. */
  running: number;
  /** Claimed, without a handler yet, the oldest first. */
  readonly waiting: HeldAssignment[];
  /** How long a handler takes, in milliseconds: a moving average. */
  meanMs: number;
  /** Whether items may be claimed before a handler is free for them. */
  readonly claimsAhead: boolean;
  /** Asked for in claims that are under way. */
  asked: number;
  /** Counts the hints of new work, so that a claim can tell whether one came while it was under way. */
  hints: number;
  /** The last claim got less than it asked for: there is no more, until a hint or the poll. */
  dry: boolean;
  /** It got less for want of room in the queue of the type, or since what it got is of few lines: nothing is claimed ahead. */
  limited: boolean;
  /** The end of an item may let another one go, by a limit or a serialize key, so the next claim goes with its report. */
  follows: boolean;
}

export class HeldAssignment implements BatchItem {
  readonly assignment: Assignment;
  readonly slots: Slots;
  state: 'waiting' | 'running' | 'finished' | 'released' | 'gone' = 'waiting';
  /** When the server last heard of it, at the latest: when the request was sent, on the monotonic clock. */
  heardAt: number;
  /** On the monotonic clock: when it came, and then when its handler began. */
  since = performance.now();
  /** Heartbeats in a row that failed. */
  missed = 0;
  abortedFor: AbortCode | undefined;
  newItems: NewItems | undefined;
  /** Undefined for a handler that notes nothing. */
  notes: ItemNotes | undefined;
  /** What came of it, once it is finished: it waits here for its acknowledgement. */
  outcome: Outcome | undefined;
  /** Undefined where nobody traces. */
  trace: ItemTrace | undefined;
  // Most handlers never look at their signal, and one costs more than all else here.
  #controller: AbortController | undefined;
  #logger: Logger | undefined;
  #timer: ReturnType<typeof setTimeout> | undefined;
  readonly #onNoted: () => void;

  constructor(assignment: Assignment, slots: Slots, heardAt: number, onNoted: () => void) {
    this.assignment = assignment;
    this.slots = slots;
    this.heardAt = heardAt;
    this.#onNoted = onNoted;
  }

  get payload(): unknown {
    return this.assignment.payload;
  }
  get key(): string {
    return this.assignment.itemId;
  }
  get itemId(): string {
    return this.assignment.itemId;
  }
  get attempt(): number {
    return this.assignment.attempt;
  }
  get lastAttempt(): boolean {
    return this.assignment.lastAttempt;
  }
  get assignmentId(): string {
    return this.assignment.id;
  }
  get jobId(): string {
    return this.assignment.jobId;
  }
  get type(): string {
    return this.assignment.type;
  }

  get logger(): Logger {
    this.#logger ??= this.slots.loggerOf(this.assignment);
    return this.#logger;
  }

  get signal(): AbortSignal {
    if (this.#controller === undefined) {
      this.#controller = new AbortController();
      if (this.abortedFor !== undefined) this.#controller.abort(new AssignmentEndedError(this.abortedFor));
    }
    return this.#controller.signal;
  }

  get note(): HandlerContext['note'] {
    return (text) => this.#noted().note(text);
  }

  get log(): HandlerContext['log'] {
    return (text) => this.#noted().log(text);
  }

  #noted(): ItemNotes {
    this.notes ??= new ItemNotes();
    this.#onNoted();
    return this.notes;
  }

  /** A function of its own, so that a handler can take it out of its context. */
  get feed(): HandlerContext['feed'] {
    return (type: string | { readonly type: string }, ...items: readonly unknown[]) => {
      this.newItems ??= new NewItems();
      this.newItems.add(type, items);
    };
  }

  /** Its handler begins. */
  begin(onTimeout: (held: HeldAssignment) => void): void {
    const { timeoutMs } = this.slots;
    this.state = 'running';
    this.since = performance.now();
    if (timeoutMs !== undefined) this.#timer = setTimeout(onTimeout, timeoutMs, this);
  }

  /** Nothing waits for its handler any more. */
  end(state: 'finished' | 'released' | 'gone'): void {
    this.state = state;
    clearTimeout(this.#timer);
  }

  /** Returns whether it is news to the handler. */
  abort(code: AbortCode): boolean {
    if (this.abortedFor !== undefined) return false;
    this.abortedFor = code;
    this.#controller?.abort(new AssignmentEndedError(code));
    return true;
  }
}

/** Those of them that have noted something which has not been sent, as many as fit into a request. */
export function freshlyNoted(all: Iterable<HeldAssignment>): HeldAssignment[] {
  const noted: HeldAssignment[] = [];
  let units = 0;
  for (const held of all) {
    if (!held.notes?.isFresh) continue;
    units += held.notes.size;
    if (noted.length === maxEntries || units > maxUnits) break;
    noted.push(held);
  }
  return noted;
}

/** What they have noted, to be sent. */
export function takeNotes(noted: readonly HeldAssignment[]): ItemNoteInput[] {
  return noted.flatMap(({ assignmentId, notes }) => notes?.take(assignmentId) ?? []);
}

/** It did not get there. */
export function keepNotes(noted: readonly HeldAssignment[]): void {
  for (const { notes } of noted) notes?.keep();
}
