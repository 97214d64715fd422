/** What calls of the client take and give. */
import type {
  AuditEntriesQuery,
  CancelItemsMutationVariables,
  DeadLetterDigestQuery,
  DeadLetterGroupQuery,
  DeadLetterGroupsQuery,
  FailureInput,
  HeldItemsQuery,
  ItemFieldsFragment,
  JobFieldsFragment,
  JobOutcome,
  JobQuery,
  NewItemInput,
  OperationFieldsFragment,
  ProgressFieldsFragment,
  ReplayDeadLettersMutationVariables,
  ReportStatus,
  SerializeKeysQuery,
  WorkersQuery,
} from '../generated/operations.ts';
import type { Token } from './credentials.ts';
import type { JobtreeError } from './errors.ts';

/** For one call. */
export interface CallOptions {
  /** Ends the call with the signal's reason; the server may still carry it out. */
  readonly signal?: AbortSignal | undefined;
}

/** For what is watched. */
export interface WatchOptions extends CallOptions {
  /**
   * The watch token that opens the tree, or a function that gets one: it is asked before anything is watched, and again when the server refuses what it gave
   * before, or that is over; the watch then goes on where it was. However many watches have one of their own, they share one WebSocket. Default: what the
   * client shows.
   */
  readonly token?: Token | undefined;
  /** Told once when the server does not answer any more. The watch goes on trying. Default: nobody. */
  readonly onDisconnected?: ((error: JobtreeError) => void) | undefined;
  /** Told when the server answers again. Default: nobody. */
  readonly onConnected?: (() => void) | undefined;
}

/** Which part of a list. */
export interface PageOptions extends CallOptions {
  /** How many: 1 to 1,000. Default: 50. */
  readonly first?: number | undefined;
  /** The `endCursor` of the page before. Default: from the start. */
  readonly after?: string | undefined;
}

/** A part of a list. */
export interface Page<T> {
  readonly nodes: T[];
  /** For `after`, to get the next page. Null for an empty page. */
  readonly endCursor: string | null;
  readonly hasNextPage: boolean;
}

/** What came of one attempt: a result, with new items for fed child jobs, or a failure. */
export type Report = { readonly assignmentId: string } & (
  | {
      /** Any JSON, null included. */
      readonly result: unknown;
      readonly newItems?: readonly NewItemInput[] | undefined;
      readonly failure?: never;
      readonly snoozeMs?: never;
    }
  | { readonly failure: FailureInput; readonly result?: never; readonly snoozeMs?: never }
  /** Given back, to be tried again after so many milliseconds, at no cost of an attempt. */
  | { readonly snoozeMs: number; readonly failure?: never; readonly result?: never }
);

/** A job with its policies and its progress. Times are text in ISO 8601. */
export type Job = JobFieldsFragment;
/**
 * A job, the ids of the jobs right below it and of those that it waits for, what is called for its tree, and how far the deletion of its tree is, if
 * somebody deletes it, and of its file, if it has one.
 */
export type JobWithChildren = NonNullable<JobQuery['job']>;
/** An item with its payload, its result or failures, and its assignment, if it has one. */
export type Item = ItemFieldsFragment;
/** How far a job is: absolute counts. Of two states the one with the greater `revision` (as text) is newer. */
export type JobProgress = ProgressFieldsFragment;

/** How far a tree is. */
export interface JobTreeProgress {
  readonly rootId: string;
  /** Grows with every change of any of its jobs, compared as text. */
  readonly revision: string;
  /** How many of its jobs are not complete. */
  readonly openJobs: number;
  /** Whether all of its jobs are complete. */
  readonly complete: boolean;
  /** What came of it, the worst outcome of its jobs; null until it is complete. */
  readonly outcome?: JobOutcome | null;
  /** The share of its items that are done, 0 to 100; null while any of its jobs is unsealed. */
  readonly percent?: number | null;
  readonly itemCount: number;
  /** How many items are done: succeeded, failed and cancelled ones. */
  readonly itemProgress: number;
  readonly succeeded: number;
  readonly failed: number;
  readonly cancelled: number;
  /** The progress of each of its jobs. */
  readonly jobs: readonly JobProgress[];
}

/** A tree that is complete. */
export interface FinishedJob {
  /** The root's id. */
  readonly id: string;
  /** Whether it was created; false if a job with its dedupe key existed. */
  readonly created: boolean;
  /** What came of it, the worst outcome of its jobs. */
  readonly outcome: JobOutcome;
  readonly progress: JobTreeProgress;
}

/** Which dead letters: those that meet all that is set, and something must be. Lists have 1 to 1,000 entries. */
export type DeadLetterFilter = NonNullable<ReplayDeadLettersMutationVariables['input']['filter']>;
/** Which pending items: those that meet all that is set, and something must be. Lists have 1 to 1,000 entries. */
export type PendingItemFilter = NonNullable<CancelItemsMutationVariables['input']['filter']>;

/** What becomes of an item that waits. What is left out stays as it is. */
export interface ItemChanges<Payload = unknown> {
  /** When it is due, as text in ISO 8601 with its offset; null for now. */
  readonly runAt?: Date | string | null | undefined;
  /** -32,768 to 32,767; null for that of its job. */
  readonly priority?: number | null | undefined;
  /** Any JSON, up to 1 MB of text (a setting of the server). */
  readonly payload?: Payload | undefined;
}
/** For how long a tree is kept. What is left out stays as it is. */
export interface TreeRetention {
  /** Once it is complete, in seconds: 0 to 315,576,000 (ten years); null for ever. */
  readonly retentionSeconds?: number | null | undefined;
  /** Until it is cancelled if it is idle, in seconds: 1 to 315,576,000 (ten years); null for never. */
  readonly idleExpirySeconds?: number | null | undefined;
}
/** Items that failed for good in the same way. Times are text in ISO 8601. */
export type DeadLetterGroup = DeadLetterGroupsQuery['deadLetterGroups'][number];
/** A group with items of it, those that failed last first. */
export type DeadLetterGroupWithItems = Extract<
  NonNullable<DeadLetterGroupQuery['node']>,
  { pattern: string }
>;
/** How many items of a group failed for good since a time. */
export type DeadLetterDigestEntry = DeadLetterDigestQuery['deadLetterDigest'][number];
/** Something that only some may do, and that somebody did or tried. Times are text in ISO 8601. */
export type AuditEntry = AuditEntriesQuery['auditEntries']['edges'][number]['node'];
/** A serialize key in use: the item that has it, and how many wait behind that one. */
export type SerializeKey = SerializeKeysQuery['serializeKeys'][number];
/** An item that a worker has. */
export type HeldItem = HeldItemsQuery['heldItems'][number];
/** A worker that is connected to a server, or that holds items. */
export type ConnectedWorker = WorkersQuery['workers'][number];
/** Work on many items, and how far it is. */
export type Operation = OperationFieldsFragment;

/** The result of one item of a final stage. */
export interface Result<Payload, R> {
  readonly itemId: string;
  readonly payload: Payload;
  readonly result: R;
}

/** What a worker has of one item, as a claim gives it. */
export interface Assignment {
  /** The key to it: results, failures and heartbeats name it. */
  readonly id: string;
  readonly itemId: string;
  readonly jobId: string;
  readonly type: string;
  /** Which try this is, from 1. */
  readonly attempt: number;
  /** Whether the item has failed for good if this try fails. */
  readonly lastAttempt: boolean;
  readonly payload: unknown;
  /** How often to heartbeat, in milliseconds. After three without one the item may be taken back. */
  readonly heartbeatIntervalMs: number;
  /** The trace that the item belongs to, as a W3C trace context: null if there is none, left out where nobody traces. */
  readonly traceContext?: { readonly traceparent: string; readonly tracestate: string | null } | null;
}

/** The answer to one heartbeat, or for one assignment that was given back. */
export interface AssignmentAnswer<Status> {
  readonly assignmentId: string;
  readonly status: Status;
  /** What is wrong with an invalid id. */
  readonly error: string | null;
}

/** The answer to one report. */
export interface ReportAnswer {
  readonly assignmentId: string;
  readonly status: ReportStatus;
  /** After an accepted failure or snooze: when the item is due again, null if it failed for good. */
  readonly retryAt: string | null;
  /** What is wrong with an invalid report. */
  readonly error: string | null;
}
