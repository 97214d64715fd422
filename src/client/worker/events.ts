/** The events of a worker. */
import type { AbortCode, JobtreeError } from '../errors.ts';
import type { Assignment } from '../types.ts';

/** A failure that the server has accepted. */
export interface ReportedFailure {
  readonly code: string;
  readonly message: string;
  /** When the item is due again, as text in ISO 8601; null if it failed for good. */
  readonly retryAt: string | null;
  /** What the handler threw, with its stack and cause; undefined if it threw nothing: it took too long, or its result was refused. */
  readonly error: unknown;
}

/** The arguments of each event. */
export type WorkerEvents = {
  /** The server answers, for the first time or again. */
  connected: [];
  /** The server or its Postgres does not answer; the worker keeps trying. Emitted once per outage. */
  disconnected: [error: JobtreeError];
  /** A handler starts. */
  claimed: [assignment: Assignment];
  /** The server has accepted the result. */
  succeeded: [assignment: Assignment];
  /**
   * The server has accepted the failure. Without a listener, the console gets the first failure of each type and code, then at
   * most one a minute, with the number of failures since.
   */
  failed: [assignment: Assignment, failure: ReportedFailure];
  /** The server has accepted the snooze: the item is due again at `dueAt`, as text in ISO 8601. */
  snoozed: [assignment: Assignment, dueAt: string];
  /** The outcome came too late and was dropped: the assignment was lost, or the item or its job was cancelled. */
  stale: [assignment: Assignment];
  /** The handler's signal has aborted. */
  aborted: [assignment: Assignment, code: AbortCode];
  /** The item was given back, which costs no attempt. */
  released: [assignment: Assignment];
  /**
   * The server gives the worker no more items of any type for the moment, as far as pauses and limits of their queues allow; the worker may
   * still be processing what it claimed. Emitted once after the start and once after each stretch of work. Items that it gets later start a new stretch.
   */
  drained: [];
  /** As `drained`, and everything that was claimed is processed and reported. */
  idle: [];
  /** `pause()` was called. */
  paused: [];
  /** `resume()` was called. */
  resumed: [];
  /**
   * Something is wrong that the worker can't fix; it carries on. A problem that persists is emitted once a minute, with the
   * number of times that it recurred since. Without a listener it goes to the console.
   */
  error: [error: unknown, again: number];
  /** `stop()` has finished. */
  stopped: [];
};
