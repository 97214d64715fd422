/**
 * What a worker holds. The life of an assignment:
 *
 *   waiting ──▶ running ──▶ finished ──▶ gone   a handler was free; it settled; its report was acknowledged
 *      │           │                      ▲
 *      ├───────────┼──────────────────────┤      the server does not honour it any more: the handler is aborted, its outcome dropped
 *      └───────────┴──▶ released ─────────┘      given back: the worker stops, it waited for too long, or its heartbeats failed
 *
 * Whatever is not gone is in the set and heartbeats. A slot of the type is taken until the handler has settled, wanted or
 * not, so there are never more handlers at work than the type's concurrency.
 */
import { type AbortCode, AssignmentEndedError } from '../errors.ts';
import type { Assignment } from '../types.ts';
import type { Handler, HandlerContext } from './handler.ts';
import type { ItemTrace } from './item-trace.ts';
import type { Meters } from './meters.ts';
import { NewItems } from './new-items.ts';
import type { Outcome } from './outcome.ts';

/** A type that the worker does, and its room. */
export interface Slots {
  readonly type: string;
  readonly concurrency: number;
  readonly handler: Handler;
  readonly meters: Meters;
  /** Handlers at work. */
  running: number;
  /** Claimed ahead, the oldest first. */
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

export class HeldAssignment implements HandlerContext {
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
  /** What came of it, once it is finished: it waits here for its acknowledgement. */
  outcome: Outcome | undefined;
  /** Undefined where nobody traces. */
  trace: ItemTrace | undefined;
  // Most handlers never look at their signal, and one costs more than all else here.
  #controller: AbortController | undefined;

  constructor(assignment: Assignment, slots: Slots, heardAt: number) {
    this.assignment = assignment;
    this.slots = slots;
    this.heardAt = heardAt;
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
  get assignmentId(): string {
    return this.assignment.id;
  }
  get jobId(): string {
    return this.assignment.jobId;
  }
  get type(): string {
    return this.assignment.type;
  }

  get signal(): AbortSignal {
    if (this.#controller === undefined) {
      this.#controller = new AbortController();
      if (this.abortedFor !== undefined) this.#controller.abort(new AssignmentEndedError(this.abortedFor));
    }
    return this.#controller.signal;
  }

  /** A function of its own, so that a handler can take it out of its context. */
  get feed(): HandlerContext['feed'] {
    return (type: string | { readonly type: string }, ...items: readonly unknown[]) => {
      this.newItems ??= new NewItems();
      this.newItems.add(type, items);
    };
  }

  /** Returns whether it is news to the handler. */
  abort(code: AbortCode): boolean {
    if (this.abortedFor !== undefined) return false;
    this.abortedFor = code;
    this.#controller?.abort(new AssignmentEndedError(code));
    return true;
  }
}
