import type { Logger } from 'pino';
import type { Figures } from './figures.ts';
import { assignmentIdOf, itemIdOf } from './item-state.ts';
import { JsonText, splitTexts } from './json-text.ts';

/** An assignment as a claim gives it to a worker: all it needs to know. */
export interface Assignment {
  readonly id: string;
  readonly itemId: string;
  readonly jobId: string;
  readonly type: string;
  readonly payload: JsonText;
  /** 1 for the first try; a release does not count. */
  readonly attempt: number;
  /** Whether the item has failed for good if this attempt fails. */
  readonly lastAttempt: boolean;
  readonly worker: string;
  readonly claimedAt: Date;
  readonly heartbeatAt: Date;
  readonly deadlineAt: Date;
  readonly heartbeatIntervalMs: number;
  /** For how long the worker has it; null once it has ended. */
  readonly heldMs: number | null;
}

/** A row of lease_entries: a lease. */
export interface LeaseRow {
  readonly lease_id: string;
  /** Which of the requests it is for, from 1. */
  readonly request: number;
  readonly job_id: string;
  readonly root_id: string;
  readonly type: string;
  readonly first_position: number;
  readonly attempt: number;
  readonly worker: string;
  readonly heartbeat_interval_ms: number;
  readonly claimed_at: Date;
  readonly deadline_at: Date;
  readonly priority: number;
  readonly place: number;
  readonly has_rest: boolean;
  /** Of the items that are there, from 1; null for all. */
  readonly numbers: readonly number[] | null;
  /** JSON texts with a separator between them. */
  readonly payloads: string;
  /** Since when they had been ready; null for a repeated claim. */
  readonly ready_at: Date | null;
  /** Of those that have failed for good if this attempt fails, from 1; null for none. */
  readonly last_numbers: readonly number[] | null;
}

/** The assignments of a lease. */
export function toAssignments(row: LeaseRow): Assignment[] {
  const jobId = row.job_id;
  // Which is what moves the deadline; a repeated claim has moved it.
  const heartbeatAt = new Date(row.deadline_at.getTime() - 3 * row.heartbeat_interval_ms);
  return splitTexts(row.payloads).map((text, i) => {
    const number = row.numbers?.[i] ?? i + 1;
    return {
      id: assignmentIdOf(row.lease_id, number),
      itemId: itemIdOf({ jobId, position: row.first_position + number - 1 }),
      jobId,
      type: row.type,
      payload: new JsonText(text),
      attempt: row.attempt,
      lastAttempt: row.last_numbers?.includes(number) ?? false,
      worker: row.worker,
      claimedAt: row.claimed_at,
      heartbeatAt,
      deadlineAt: row.deadline_at,
      heartbeatIntervalMs: row.heartbeat_interval_ms,
      heldMs: 0,
    };
  });
}

/** Counts what was claimed. */
export function countClaim(figures: Figures, { type, claimed_at, ready_at }: LeaseRow, items: number): void {
  if (ready_at !== null) figures.claimed(type, claimed_at.getTime() - ready_at.getTime(), items);
}

/** Payloads may hold what no log should: they are only in it if the settings say so. */
export function logClaims(
  { logger, logPayloads }: { readonly logger: Logger; readonly logPayloads: boolean },
  assignments: readonly Assignment[],
): void {
  if (!logger.isLevelEnabled('debug')) return;
  for (const { id, itemId, jobId, type, attempt, worker, payload } of assignments) {
    const ids = { assignmentId: id, itemId, jobId, type, attempt, worker };
    logger.debug(logPayloads ? { ...ids, payload } : ids, 'item started');
  }
}
