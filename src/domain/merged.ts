/** What calls of one kind say and hear that go to the database together. */
import type { InvalidInputError, JobtreeError } from '../errors.ts';
import type { Assignment } from './assignment.ts';
import type { Batcher } from './batcher.ts';
import type { PreparedItem } from './items.ts';

export interface ClaimRequest {
  readonly worker: string;
  readonly type: string;
  readonly limit: number;
  /** The claim that it belongs to, if that may be repeated. */
  readonly claimId: string | undefined;
}

/** What a claim request got. */
export interface Given {
  readonly assignments: Assignment[];
  /** Why it may have got less than there is: no room in the queue of the type, or another claim decides about that just now. */
  readonly limit: 'LIMITED' | 'TAKEN' | undefined;
  /** It got items with serialize keys: the end of one may make the next ready. */
  readonly isKeyed: boolean;
  /** With a limit: when there may be room, in milliseconds. */
  readonly againInMs: number;
}

export type ReportStatus = 'ACCEPTED' | 'DUPLICATE' | 'STALE' | 'INVALID';

export interface ReportAnswer {
  readonly status: ReportStatus;
  /** When a failed or snoozed item is due again; a duplicate has it from the first report. */
  readonly retryAt?: Date | undefined;
  readonly error?: InvalidInputError | undefined;
}

/** A report that passed its checks, ready for the database. */
export interface PreparedReport {
  readonly assignmentId: string;
  /** What came out, went wrong, or for how long the item waits, as JSON text. */
  readonly kind: 'result' | 'failure' | 'snoozeMs';
  readonly text: string;
  /** The texts of new items. */
  readonly newItems: readonly string[];
}

export interface MergedAnswer extends Omit<ReportAnswer, 'status'> {
  /** BUSY: somebody has locked what the report needs; nothing of it has happened. */
  readonly status: ReportStatus | 'BUSY';
}

/** One worker's part of a call. */
export interface ExchangePart {
  readonly reports: readonly PreparedReport[];
  readonly requests: readonly ClaimRequest[];
}

export interface ExchangePartAnswer {
  readonly reports: MergedAnswer[];
  /** Or why the claim was refused. */
  readonly claimed: Given[] | JobtreeError;
}

export type HeartbeatStatus = 'HELD' | 'FINISHED' | 'LOST' | 'CANCELLED';

export type AddEntry =
  | { readonly status: 'ADDED' | 'DUPLICATE'; readonly itemId: string }
  | { readonly status: 'INVALID'; readonly error: InvalidInputError };

/** Calls of one kind that arrive while others are under way go to the database together. */
export interface Merged {
  readonly claims: Batcher<ClaimRequest, Given>;
  readonly exchanges: Batcher<ExchangePart, ExchangePartAnswer>;
  readonly reports: Batcher<PreparedReport, MergedAnswer>;
  /** Reports that met a lock: each call alone, and it waits. */
  readonly busyReports: Batcher<PreparedReport, MergedAnswer>;
  readonly heartbeats: Batcher<string, HeartbeatStatus>;
  /**
   * Those with serialize keys may wait for whoever has locked a key: each call alone, and beside those without, or all that add to
   * the job would wait for a stranger.
   */
  adds(jobId: string, keyed: boolean): Batcher<PreparedItem, AddEntry>;
}
