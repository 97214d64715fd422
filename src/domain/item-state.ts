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
import { isId } from './checks.ts';

/** The key of an item: its job, and its position in it. */
export interface ItemKey {
  readonly jobId: string;
  readonly position: number;
}

/** The id of an item as text. */
export function itemIdOf({ jobId, position }: ItemKey): string {
  return `${jobId}:${position}`;
}

/** The item with this id; undefined if the text is not the id of an item. */
export function parseItemId(text: string): ItemKey | undefined {
  const [jobId = '', digits = '', ...rest] = text.split(':', 3);
  const position = parsePosition(digits);
  if (rest.length > 0 || !isId(jobId) || position === undefined) return undefined;
  return { jobId: jobId.toLowerCase(), position };
}

export function parsePosition(digits: string): number | undefined {
  if (!/^(0|[1-9]\d{0,15})$/.test(digits)) return undefined;
  const position = Number(digits);
  return Number.isSafeInteger(position) ? position : undefined;
}

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

/** The id of an assignment equals that of its lease, except for the last byte. */
const leasePrefixLength = 34;
const maxLeaseCount = 128;
const lastBytes = Array.from({ length: 256 }, (_, n) => n.toString(16).padStart(2, '0'));

/** The id of the assignment of a lease's n-th item, from 1. */
export function assignmentIdOf(leaseId: string, number: number): string {
  return leaseId.slice(0, leasePrefixLength) + lastBytes[number];
}

export function leaseIdOf(assignmentId: string): string {
  return `${assignmentId.slice(0, leasePrefixLength)}00`;
}

/**
 * The leases of many assignments, each once. Neighbours mostly share a lease, and tens of thousands are reported per second, so a
 * neighbour is compared first.
 */
export function leaseIdsOf(assignmentIds: Iterable<string>): string[] {
  const found = new Set<string>();
  let last: string | undefined;
  for (const id of assignmentIds) {
    if (last !== undefined && id.startsWith(last)) continue;
    last = id.slice(0, leasePrefixLength);
    found.add(leaseIdOf(id));
  }
  return [...found];
}

export function splitAssignmentId(id: string): { readonly leaseId: string; readonly number: number } {
  const number = Number.parseInt(id.slice(leasePrefixLength), 16);
  // A lease never has more items.
  return { leaseId: leaseIdOf(id), number: number <= maxLeaseCount ? number : 0 };
}
