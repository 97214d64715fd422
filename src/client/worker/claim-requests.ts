/** Which types a claim asks for, and how many of each. */
import type { Slots } from './held-assignments.ts';

export interface ClaimRequest {
  readonly slots: Slots;
  readonly limit: number;
}

/** What is claimed ahead should not wait for a handler for longer than this, in milliseconds. */
const beginWithinMs = 10;
/** A worker that dies takes them all with it: however quick the handlers are, no more than this, or than there are handlers. */
const mostAhead = 500;

/** How many more items of a type may be asked for: none while there is no work of it. */
export function roomOf(slots: Slots): number {
  if (slots.dry) return 0;
  const { concurrency, batchSize = 1, running, waiting, asked } = slots;
  return (concurrency - running) * batchSize + aheadOf(slots) - waiting.length - asked;
}

/** How many items the worker can have at once. */
export function mostOf(slots: Slots): number {
  return slots.concurrency * (slots.batchSize ?? 1) + aheadOf(slots);
}

/**
 * How many items may wait for a handler, so that none idles while the server is asked for more, and short work travels in
 * large batches: as many as the handlers begin in a moment. None if an item would wait here that another worker could begin, and none
 * where a handler gets many at once.
 */
function aheadOf({ claimsAhead, limited, concurrency, batchSize, meanMs }: Slots): number {
  if (!claimsAhead || limited || batchSize !== undefined) return 0;
  const mostInTime = Math.floor((concurrency * beginWithinMs) / meanMs);
  return Math.min(mostInTime, Math.max(concurrency, mostAhead));
}

/**
 * The room of each type, up to `most` over all of them. Another type comes first at each turn, so that none is left out
 * for long.
 */
export function chooseRequests(slots: readonly Slots[], most: number, turn: number): ClaimRequest[] {
  const requests: ClaimRequest[] = [];
  let left = most;
  for (let i = 0; i < slots.length && left > 0; i++) {
    const one = slots[(turn + i) % slots.length] as Slots;
    const limit = Math.min(roomOf(one), left);
    if (limit <= 0) continue;
    requests.push({ slots: one, limit });
    left -= limit;
  }
  return requests;
}
