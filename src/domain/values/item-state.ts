/**
 * The states of items and jobs, derived from the facts in the tables. No row stores a state.
 *
 * An item is pending from the moment it is added: RUNNING while a worker has it in a lease; SCHEDULED while its queue entry has a
 * time, which promote_due clears once it has come; and WAITING otherwise, for a worker, for other jobs, or behind the item with
 * its serialize key. Its outcome makes it SUCCEEDED or FAILED; if it has none, its own cancellation or that of its job makes it
 * CANCELLED.
 *
 * A job is WAITING until its first item is claimed, then RUNNING. Once it is sealed and no item is pending, it is COMPLETED, or
 * CANCELLED if that is its outcome.
 */
export const pendingStatuses = ['WAITING', 'SCHEDULED', 'RUNNING'] as const;
export const itemStatuses = [...pendingStatuses, 'SUCCEEDED', 'FAILED', 'CANCELLED'] as const;
export type ItemStatus = (typeof itemStatuses)[number];

export interface ItemFacts {
  /** Null until there is one. */
  readonly outcome: { readonly failed: boolean; readonly finishedAt: Date } | null;
  /** When it was cancelled, either itself or with its job. */
  readonly cancelledAt: Date | null;
  /** Whether a worker has it. Counts only if there is no outcome. */
  readonly isHeld: boolean;
  /** When it is due, according to its queue entry; null if that has no such time. */
  readonly retryAt: Date | null;
}

export function itemStatus({ outcome, cancelledAt, isHeld, retryAt }: ItemFacts): ItemStatus {
  if (outcome !== null) return outcome.failed ? 'FAILED' : 'SUCCEEDED';
  if (cancelledAt !== null) return 'CANCELLED';
  if (isHeld) return 'RUNNING';
  return retryAt === null ? 'WAITING' : 'SCHEDULED';
}

/** When the item stopped being pending. */
export function itemFinishedAt({
  outcome,
  cancelledAt,
}: Pick<ItemFacts, 'outcome' | 'cancelledAt'>): Date | null {
  return outcome?.finishedAt ?? cancelledAt;
}

export type JobStatus = 'WAITING' | 'RUNNING' | 'COMPLETED' | 'CANCELLED';

export type CancelReason = 'REQUESTED' | 'FAILURES' | 'DEPENDENCY' | 'IDLE';

/**
 * The outcomes of complete jobs, the worst first; the fold decides. FAILED: no item succeeded and some failed, or more failed than the
 * job tolerates. CANCELLED: the job was cancelled. PARTIAL: some items failed. SUCCEEDED: none failed.
 */
export const jobOutcomes = ['FAILED', 'CANCELLED', 'PARTIAL', 'SUCCEEDED'] as const;
export type JobOutcome = (typeof jobOutcomes)[number];

/** The outcome of a tree: the worst outcome of its jobs. */
export function worstOutcome(outcomes: Iterable<JobOutcome | null>): JobOutcome {
  const all = new Set(outcomes);
  return jobOutcomes.find((outcome) => all.has(outcome)) ?? 'SUCCEEDED';
}

export interface JobFacts {
  /** Milliseconds since 1970, when the first item was claimed. */
  readonly startedAt: number | null;
  readonly completedAt: number | null;
  /** Null until it is complete. */
  readonly outcome: JobOutcome | null;
}

export function jobStatus({ startedAt, completedAt, outcome }: JobFacts): JobStatus {
  if (completedAt !== null) return outcome === 'CANCELLED' ? 'CANCELLED' : 'COMPLETED';
  return startedAt === null ? 'WAITING' : 'RUNNING';
}
