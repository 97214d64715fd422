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

/**
 * The outcome of a complete job. FAILED: more items failed than it tolerates. CANCELLED: somebody cancelled it, or a job that it
 * waits for did not succeed. SUCCEEDED: neither, whatever the outcomes of its items.
 */
export type CancelReason = 'REQUESTED' | 'FAILURES' | 'DEPENDENCY' | 'IDLE';

export type JobOutcome = 'SUCCEEDED' | 'FAILED' | 'CANCELLED';

/** The outcome of a tree: the worst outcome of its jobs. */
export function worstOutcome(outcomes: Iterable<JobOutcome | null>): JobOutcome {
  const all = new Set(outcomes);
  if (all.has('FAILED')) return 'FAILED';
  return all.has('CANCELLED') ? 'CANCELLED' : 'SUCCEEDED';
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
