/** The ids of items and assignments: what is in them. */
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
