/**
 * The assignments that a worker holds. Their states:
 *
 *   waiting ──▶ running ──▶ finished ──▶ gone   a handler was free; it settled; its report was acknowledged
 *      │           │                      ▲
 *      ├───────────┼──────────────────────┤      the server does not honour it any more: the handler is aborted, its outcome dropped
 *      └───────────┴──▶ released ─────────┘      given back: the worker stops or pauses, it waited for too long, or its heartbeats failed
 *
 * What was lost before is `starting` between waiting and running: it has a handler, and the server is told so first.
 *
 * Every assignment that is not gone is in the set and gets heartbeats. Its slot stays taken until the handler has settled, even
 * if the outcome is no longer wanted, so the number of running handlers never exceeds the type's concurrency.
 */
import type { FailureInput, ItemNoteInput } from '../../generated/operations.ts';
import { type AbortCode, AssignmentEndedError } from '../errors.ts';
import { maxEntries, maxUnits } from '../limits.ts';
import type { Assignment } from '../types.ts';
import type { BatchItem, HandlerContext, Logger } from './handler.ts';
import { ItemNotes } from './item-notes.ts';
import type { ItemTrace } from './item-trace.ts';
import type { Meters } from './meters.ts';
import { NewItems } from './new-items.ts';
import type { Outcome } from './outcome.ts';

/** A type that the worker processes, its limits, and how much of them is in use. */
export interface Slots {
  readonly type: string;
  /** How many handlers may run at once. */
  concurrency: number;
  /** How many items a handler gets at once; undefined for a handler that takes one. */
  readonly batchSize: number | undefined;
  /** How long a handler may take, in milliseconds; undefined for no limit. */
  readonly timeoutMs: number | undefined;
  /** Calls the handler through its middleware. For a batch it returns a list of results. */
  readonly call: (items: readonly HeldAssignment[]) => unknown;
  readonly meters: Meters;
  readonly loggerOf: (assignment: Assignment) => Logger;
  /** Running handlers. */
  running: number;
  /** Claimed, but not yet with a handler; oldest first. */
  readonly waiting: HeldAssignment[];
  /** How long a handler takes, in milliseconds: a moving average. */
  meanMs: number;
  /** Whether items may be claimed before a handler is free for them. */
  readonly claimsAhead: boolean;
  /** Items asked for by claims in flight. */
  asked: number;
  /** Items that claims wait for at the server. */
  parked: number;
  /** Counts the hints of new work, so that a claim can tell whether one came while it was under way. */
  hints: number;
  /** The last claim got fewer items than it asked for: no more are asked for until a hint or the poll, except by a claim that waits at the server. */
  dry: boolean;
  /** The last claim got fewer because the type's queue had no room, or because its items share few serialize keys: nothing is claimed ahead. */
  limited: boolean;
  /** The end of an item may let another one go, through a limit or a serialize key, so the next claim is sent with its report. */
  follows: boolean;
}

export class HeldAssignment implements BatchItem {
  readonly assignment: Assignment;
  readonly slots: Slots;
  state: 'waiting' | 'starting' | 'running' | 'finished' | 'released' | 'gone' = 'waiting';
  /** When the last request that kept it alive was sent, on the monotonic clock. */
  heardAt: number;
  /** When it arrived, and later when its handler began, on the monotonic clock. */
  since = performance.now();
  /** Failed heartbeats in a row. */
  missed = 0;
  abortedFor: AbortCode | undefined;
  newItems: NewItems | undefined;
  /** Undefined until the handler notes something. */
  notes: ItemNotes | undefined;
  /** What came of it, kept from the end of the handler until the server acknowledges it. */
  outcome: Outcome | undefined;
  /** Undefined without tracing. */
  trace: ItemTrace | undefined;
  // Created on demand: most handlers never look at their signal, and creating one costs more than everything else here.
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

  get failure(): FailureInput | undefined {
    return this.outcome?.report.outcome.failure ?? undefined;
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

  /** Returns a function that needs no `this`, so that a handler can destructure its context. */
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

  /** Ends its time limit as well: nothing waits for the handler any more. */
  end(state: 'finished' | 'released' | 'gone'): void {
    this.state = state;
    clearTimeout(this.#timer);
  }

  /** Returns whether this is the first abort, which the handler does not know of yet. */
  abort(code: AbortCode): boolean {
    if (this.abortedFor !== undefined) return false;
    this.abortedFor = code;
    this.#controller?.abort(new AssignmentEndedError(code));
    return true;
  }
}

/** Those with notes that have not been sent, as many as fit into a request. */
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

/** Takes their unsent notes, for a request. */
export function takeNotes(noted: readonly HeldAssignment[]): ItemNoteInput[] {
  return noted.flatMap(({ assignmentId, notes }) => notes?.take(assignmentId) ?? []);
}

/** The request with their notes failed: they count as unsent again. */
export function keepNotes(noted: readonly HeldAssignment[]): void {
  for (const { notes } of noted) notes?.keep();
}
