/**
 * The statuses of items and jobs, derived from the facts in the tables. No row stores one.
 *
 * An item is pending from the moment it is added: WAITING while its job waits for others, BLOCKED behind the item that has its
 * serialize key, SCHEDULED or, once it has failed, RETRYING while its queue entry has a time, which promote_due clears when it has
 * come, READY without one, and RUNNING while a worker has it. Its outcome makes it SUCCEEDED or FAILED; if it has none, its own
 * cancellation or that of its job makes it CANCELLED. The SQL function status_of_item decides it.
 *
 * A job is WAITING until its first item is claimed, then RUNNING. Once it is sealed and no item is pending, it is COMPLETED, or
 * CANCELLED if that is its outcome.
 */
export const pendingStatuses = ['WAITING', 'BLOCKED', 'SCHEDULED', 'RETRYING', 'READY', 'RUNNING'] as const;
export const itemStatuses = [...pendingStatuses, 'SUCCEEDED', 'FAILED', 'CANCELLED'] as const;
export type PendingStatus = (typeof pendingStatuses)[number];
export type ItemStatus = (typeof itemStatuses)[number];

export type JobStatus = 'WAITING' | 'RUNNING' | 'COMPLETED' | 'CANCELLED';

export const cancelReasons = ['REQUESTED', 'FAILURES', 'DEPENDENCY', 'IDLE'] as const;
export type CancelReason = (typeof cancelReasons)[number];

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
