/** The entries and answers of calls that are merged by kind before they go to the database. */
import type { InvalidInputError, JobtreeError } from '../../errors.ts';
import type { JsonText } from '../values/json-text.ts';
import type { TraceContext } from '../values/trace-context.ts';
import type { Batcher } from './batcher.ts';

export interface ClaimRequest {
  readonly worker: string;
  readonly type: string;
  readonly limit: number;
  /** How many of them the worker starts as soon as it has them; null for all. */
  readonly starts?: number | null;
  /** The id of the claim it belongs to, if that may be repeated. */
  readonly claimId: string | undefined;
}

/** An assignment as a worker gets it from a claim, with everything it needs to know. */
export interface Assignment {
  readonly id: string;
  readonly itemId: string;
  readonly jobId: string;
  readonly type: string;
  readonly payload: JsonText;
  /** 1 for the first try; a release does not count. */
  readonly attempt: number;
  /** Whether the item fails for good if this attempt fails. */
  readonly lastAttempt: boolean;
  /** Whether it was lost in its last attempt, beside others, and is to be tried alone. */
  readonly suspect: boolean;
  /** Whether it was lost before: the worker tells when it starts it. */
  readonly lostBefore: boolean;
  readonly hasSerializeKey: boolean;
  readonly worker: string;
  readonly claimedAt: Date;
  readonly heartbeatAt: Date;
  readonly deadlineAt: Date;
  readonly heartbeatIntervalMs: number;
  /** How long the worker has had it; null once it has ended. */
  readonly heldMs: number | null;
}

/** What a claim request got. */
export interface Given {
  readonly assignments: Assignment[];
  /** Why it may have got less than there is: the queue of the type has no room, or another claim is deciding about it at this moment. */
  readonly limit: 'LIMITED' | 'TAKEN' | undefined;
  /** It got nothing because the claims that were sent with it got as much as one answer may weigh. */
  readonly isStarved: boolean;
  /** It got items with serialize keys, so the end of one may make the next ready. */
  readonly isKeyed: boolean;
  /** With a limit: in how many milliseconds there may be room. */
  readonly againInMs: number;
}

export type ReportStatus = 'ACCEPTED' | 'DUPLICATE' | 'STALE' | 'INVALID';

export interface ReportAnswer {
  readonly status: ReportStatus;
  /** When a failed or snoozed item is due again; for a duplicate, as the first report set it. */
  readonly retryAt?: Date | undefined;
  readonly error?: InvalidInputError | undefined;
}

/** A report that passed its checks, ready for the database. */
export interface PreparedReport {
  readonly assignmentId: string;
  readonly kind: 'result' | 'failure' | 'snooze';
  /** As JSON: the result, the failure, or {snoozeMs}. */
  readonly text: string;
  /** The texts of new items. */
  readonly newItems: readonly string[];
}

export interface BatchedAnswer extends Omit<ReportAnswer, 'status'> {
  /** BUSY: another transaction has locked what the report needs, and nothing of the report was done. */
  readonly status: ReportStatus | 'BUSY';
}

/** One worker's part of a call. */
export interface ExchangePart {
  readonly reports: readonly PreparedReport[];
  readonly requests: readonly ClaimRequest[];
}

export interface ExchangePartAnswer {
  readonly reports: BatchedAnswer[];
  /** What the requests got, or why the claim was refused. */
  readonly claimed: Given[] | JobtreeError;
}

/** A worker's sign of life, for one of its assignments. */
export interface Heartbeat {
  readonly assignmentId: string;
  /** The worker has not started it. */
  readonly isWaiting: boolean;
}

export type HeartbeatStatus = 'HELD' | 'FINISHED' | 'LOST' | 'CANCELLED';

/** A new item that passed its checks. */
export interface PreparedItem {
  /** JSON text. */
  readonly payload: string;
  /** The members of its other settings, as JSON text; empty if it has none. */
  readonly settings: string;
  /** Whether it has a serialize key, or else a dedupe key. */
  readonly kind: 'plain' | 'deduped' | 'keyed';
  /** The trace that its call belongs to: the same object for all items of a call. */
  readonly trace?: TraceContext | undefined;
}

export type AddEntry =
  | { readonly status: 'ADDED' | 'DUPLICATE'; readonly itemId: string }
  | { readonly status: 'INVALID'; readonly error: InvalidInputError };

/** A new job that can be inserted together with others' (`plain-job.ts`), and was checked. */
export interface PlainJob {
  readonly type: string;
  /** As JSON text, without its items. */
  readonly head: string;
  /** JSON texts, at least one. */
  readonly payloads: readonly string[];
}

export interface CreatedJob {
  readonly jobId: string;
  /** False if a job with the dedupe key existed. */
  readonly created: boolean;
}

/** Undefined if nothing was done, since its statement was refused or met a lock: the job is then created alone. */
export type CreationAnswer = CreatedJob | JobtreeError | undefined;

/** Calls of one kind that arrive while others are under way go to the database together. */
export interface Batchers {
  readonly claims: Batcher<ClaimRequest, Given>;
  readonly exchanges: Batcher<ExchangePart, ExchangePartAnswer>;
  readonly reports: Batcher<PreparedReport, BatchedAnswer>;
  /** Reports that met a lock: each call goes alone, and waits for it. */
  readonly busyReports: Batcher<PreparedReport, BatchedAnswer>;
  readonly heartbeats: Batcher<Heartbeat, HeartbeatStatus>;
  /**
   * By what they may wait for, otherwise everyone who adds to the job would wait with them: a transaction that has locked a serialize key, so
   * calls with such keys go one by one; or one that has just added an item with the same dedupe key.
   */
  adds(jobId: string, kind: PreparedItem['kind']): Batcher<PreparedItem, AddEntry>;
  /** New jobs, those with dedupe keys apart from those without: only these may meet an open transaction. */
  readonly creations: Readonly<Record<'keyed' | 'unkeyed', Batcher<PlainJob, CreationAnswer>>>;
}
