import type { Logger } from 'pino';
import type { Assignment } from '../engine/batchers.ts';
import type { Figures } from '../figures/figures.ts';
import { assignmentIdOf, itemIdOf } from '../values/ids.ts';
import { JsonText, splitTexts } from '../values/json-text.ts';

export type { Assignment };

/** A row of lease_entries, which is a lease. */
export interface LeaseRow {
  readonly lease_id: string;
  /** The number of the request that it answers, from 1. */
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
  /** The numbers of the items that are included, from 1; null for all. */
  readonly numbers: readonly number[] | null;
  /** JSON texts, joined with a separator. */
  readonly payloads: string;
  /** When the items became ready; null for a repeated claim. */
  readonly ready_at: Date | null;
  /** The numbers of the items that fail for good if this attempt fails, from 1, negative for suspects; null for none. */
  readonly last_numbers: readonly number[] | null;
  readonly keyed: boolean;
  readonly lost: boolean;
}

/** The assignments of a lease. */
export function toAssignments(row: LeaseRow): Assignment[] {
  const jobId = row.job_id;
  // Heartbeats move the deadline, so the last one follows from it. A repeated claim has moved it, too.
  const heartbeatAt = new Date(row.deadline_at.getTime() - 3 * row.heartbeat_interval_ms);
  return splitTexts(row.payloads).map((text, i) => {
    const number = row.numbers?.[i] ?? i + 1;
    const suspect = row.last_numbers?.includes(-number) ?? false;
    return {
      id: assignmentIdOf(row.lease_id, number),
      itemId: itemIdOf({ jobId, position: row.first_position + number - 1 }),
      jobId,
      type: row.type,
      payload: new JsonText(text),
      attempt: row.attempt,
      lastAttempt: suspect || (row.last_numbers?.includes(number) ?? false),
      suspect,
      lostBefore: row.lost,
      hasSerializeKey: row.keyed,
      worker: row.worker,
      claimedAt: row.claimed_at,
      heartbeatAt,
      deadlineAt: row.deadline_at,
      heartbeatIntervalMs: row.heartbeat_interval_ms,
      heldMs: 0,
    };
  });
}

/** Adds a claim to the figures. */
export function countClaim(figures: Figures, { type, claimed_at, ready_at }: LeaseRow, items: number): void {
  if (ready_at !== null) figures.claimed(type, claimed_at.getTime() - ready_at.getTime(), items);
}

/** Payloads may hold data that must not be logged, so they are logged only if the settings say so. */
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
