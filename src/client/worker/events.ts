/** What a worker tells of itself. */
import type { AbortCode, JobtreeError } from '../errors.ts';
import type { Assignment } from '../types.ts';

/** A failure that the server has taken. */
export interface ReportedFailure {
  readonly code: string;
  readonly message: string;
  /** When the item is due again, as text in ISO 8601; null if it failed for good. */
  readonly retryAt: string | null;
  /** What the handler threw, with its stack and cause; undefined if it threw nothing: it took too long, or its result was refused. */
  readonly error: unknown;
}

/** Each event with what it brings. */
export type WorkerEvents = {
  /** The server answers, for the first time or again. */
  connected: [];
  /** The server, or its Postgres, does not answer; the worker goes on trying. Once for each outage. */
  disconnected: [error: JobtreeError];
  /** A handler starts. */
  claimed: [assignment: Assignment];
  /** The server has taken the result. */
  succeeded: [assignment: Assignment];
  /**
   * The server has taken the failure. Without a listener the console has the first one of each type and code, and then once a minute one more, with
   * how many there were.
   */
  failed: [assignment: Assignment, failure: ReportedFailure];
  /** The server has taken the snooze: the item is due again at this time, as text in ISO 8601. */
  snoozed: [assignment: Assignment, dueAt: string];
  /** The outcome came too late: the assignment was lost, or the item or its job was cancelled. It is dropped. */
  stale: [assignment: Assignment];
  /** The handler's signal has aborted. */
  aborted: [assignment: Assignment, code: AbortCode];
  /** The item was given back, at no cost of an attempt. */
  released: [assignment: Assignment];
  /**
   * The server has nothing more that is ready, of any type; what was claimed is still worked on. Once after each stretch of work, and
   * once after the start. What becomes ready later is another stretch.
   */
  drained: [];
  /** The same, and all that was claimed is done and reported. */
  idle: [];
  /** `pause()` was called. */
  paused: [];
  /** `resume()` was called. */
  resumed: [];
  /**
   * Something is wrong that the worker can't mend; it goes on. What goes on is told once a minute, with how often it came again
   * since. Without a listener the console has it.
   */
  error: [error: unknown, again: number];
  /** `stop()` is done. */
  stopped: [];
};
