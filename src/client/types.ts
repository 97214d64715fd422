/** The types of what the client's calls take and return. */
import type {
  FailureInput,
  ItemFieldsFragment,
  JobFieldsFragment,
  JobOutcome,
  NewItemInput,
  OperationFieldsFragment,
  ProgressFieldsFragment,
  ReportStatus,
  StandstillFieldsFragment,
} from '../generated/operations.ts';
import type { Token } from './credentials.ts';
import type { JobtreeError } from './errors.ts';

/** Options of a single call. */
export interface CallOptions {
  /** Ends the call with the signal's reason; the server may still carry it out. */
  readonly signal?: AbortSignal | undefined;
}

/** Options of a watch. */
export interface WatchOptions extends CallOptions {
  /**
   * The watch token of the tree, or a function that returns one: it is called before the watch begins, and again when the server refuses the last token or
   * that token expires; the watch then continues where it was. All watches with their own token share one WebSocket. Default: the client's token.
   */
  readonly token?: Token | undefined;
  /** Called once when the server stops answering. The watch keeps trying. Default: none. */
  readonly onDisconnected?: ((error: JobtreeError) => void) | undefined;
  /** Called when the server answers again. Default: none. */
  readonly onConnected?: (() => void) | undefined;
}

/** Which part of a list to return. */
export interface PageOptions extends CallOptions {
  /** How many: 1 to 1,000. Default: 50. */
  readonly first?: number | undefined;
  /** The `endCursor` of the previous page. Default: from the start. */
  readonly after?: string | undefined;
}

/** A part of a list. */
export interface Page<T> {
  readonly nodes: T[];
  /** Pass it as `after` to get the next page. Null for an empty page. */
  readonly endCursor: string | null;
  readonly hasNextPage: boolean;
}

/** The outcome of one attempt: a result, with new items for fed child jobs, a failure, or a snooze. */
export type Report = { readonly assignmentId: string } & (
  | {
      /** Any JSON, null included. */
      readonly result: unknown;
      readonly newItems?: readonly NewItemInput[] | undefined;
      readonly failure?: never;
      readonly snoozeMs?: never;
    }
  | { readonly failure: FailureInput; readonly result?: never; readonly snoozeMs?: never }
  /** A snooze: the item is tried again after this time in milliseconds, which costs no attempt. */
  | { readonly snoozeMs: number; readonly failure?: never; readonly result?: never }
);

/** A job with its policies and its progress. Times are text in ISO 8601. */
export type Job = JobFieldsFragment;
/** An item with its payload, its result or failures, and its assignment, if it has one. */
export type Item = ItemFieldsFragment;

/** One reason why a job, an item or a type is not running. Times are text in ISO 8601. */
export type Standstill = StandstillFieldsFragment;
/** The progress of a job, in absolute counts. Of two states, the one with the greater `revision` (compared as text) is newer. */
export type JobProgress = ProgressFieldsFragment;

/** The progress of a tree. */
export interface JobTreeProgress {
  readonly rootId: string;
  /** Grows with every change of any of its jobs; compare it as text. */
  readonly revision: string;
  /** How many of its jobs are not complete. */
  readonly openJobs: number;
  /** Whether all of its jobs are complete. */
  readonly complete: boolean;
  /** The stage that it has reached, from 1: each job is a stage, reached when no more items come to it. */
  readonly stage: number;
  /** How many stages it has: its jobs. */
  readonly stageCount: number;
  /** For people, such as `Tree running, stage 1 of 3, 12 of 40 items so far…`. */
  readonly message: string;
  /** The outcome of the tree: the worst outcome of its jobs; null until it is complete. */
  readonly outcome?: JobOutcome | null;
  /** The percentage of its items that are done, 0 to 100; null while any of its jobs is unsealed. */
  readonly percent?: number | null;
  readonly itemCount: number;
  /** How many items are done: succeeded, failed or cancelled. */
  readonly itemProgress: number;
  readonly succeeded: number;
  readonly failed: number;
  readonly cancelled: number;
  /** The progress of each of its jobs. */
  readonly jobs: readonly JobProgress[];
}

/** Changes to a waiting item. What is left out stays as it is. */
export interface ItemChanges<Payload = unknown> {
  /** When it is due, as text in ISO 8601 with its offset; null for now. */
  readonly runAt?: Date | string | null | undefined;
  /** -32,768 to 32,767; null for the priority of its job. */
  readonly priority?: number | null | undefined;
  /** Any JSON, up to 1 MB of text (a setting of the server). */
  readonly payload?: Payload | undefined;
}
/** Work on many items, and how far it is. */
export type Operation = OperationFieldsFragment;

/** What a claim gives a worker for one item. */
export interface Assignment {
  /** The id by which results, failures and heartbeats refer to it. */
  readonly id: string;
  readonly itemId: string;
  readonly jobId: string;
  readonly type: string;
  /** Which try this is, from 1. */
  readonly attempt: number;
  /** Whether the item fails for good if this try fails. */
  readonly lastAttempt: boolean;
  /** Whether its workers may have ended because of it: it is tried alone. */
  readonly suspect: boolean;
  /** Whether the worker that had the item before fell silent. */
  readonly lostBefore: boolean;
  /** Give an item with a serialize key back only when its work has ended: the next item of the key can start at once. */
  readonly hasSerializeKey: boolean;
  readonly payload: unknown;
  /** How often to send a heartbeat, in milliseconds. After three intervals without one, the item may be taken back. */
  readonly heartbeatIntervalMs: number;
  /** The trace that the item belongs to, as a W3C trace context: null if there is none, absent without tracing. */
  readonly traceContext?: { readonly traceparent: string; readonly tracestate: string | null } | null;
}

/** The answer to one report. */
export interface ReportAnswer {
  readonly assignmentId: string;
  readonly status: ReportStatus;
  /** After an accepted failure or snooze: when the item is due again; null if it failed for good. */
  readonly retryAt: string | null;
  /** What is wrong with an invalid report; null otherwise. */
  readonly error: string | null;
}
