/** Which types a claim asks for, and how many of each. */
import type { Slots } from './held-assignments.ts';

export interface ClaimRequest {
  readonly slots: Slots;
  readonly limit: number;
}

/** An item that is claimed ahead should wait for a handler no longer than this, in milliseconds. */
const beginWithinMs = 10;
/** The most items claimed ahead, however quick the handlers are, unless there are more handlers: a worker that dies takes them all with it. */
const mostAhead = 500;

/** How many more items of a type to ask for: none while the server has none ready. */
export function roomOf(slots: Slots): number {
  return slots.dry ? 0 : allRoomOf(slots);
}

/** How many items of a type a claim may wait for at the server: none while there may be some already, or another claim waits for it. */
export function waitingRoomOf(slots: Slots): number {
  return slots.dry && slots.parked === 0 ? allRoomOf(slots) : 0;
}

function allRoomOf(slots: Slots): number {
  const { concurrency, batchSize = 1, running, waiting, asked, parked } = slots;
  return (concurrency - running) * batchSize + aheadOf(slots) - waiting.length - asked - parked;
}

/** How many items of a type the worker can hold at once. */
export function mostOf(slots: Slots): number {
  return slots.concurrency * (slots.batchSize ?? 1) + aheadOf(slots);
}

/**
 * How many items may wait for a handler: as many as the handlers begin within `beginWithinMs`. So no handler idles while the
 * server is asked for more, and short work travels in large batches. None while the type is limited, since another worker could
 * begin what would wait here, and none for batch handlers.
 */
function aheadOf({ claimsAhead, limited, concurrency, batchSize, meanMs }: Slots): number {
  if (!claimsAhead || limited || batchSize !== undefined) return 0;
  const mostInTime = Math.floor((concurrency * beginWithinMs) / meanMs);
  return Math.min(mostInTime, Math.max(concurrency, mostAhead));
}

/**
 * Asks for what each type has room for, up to `most` in total. Each turn starts with another type, so that none is left out for long:
 * nor is a batch that is left out because `most` would cut it, since whoever is first gets all there is.
 */
export function chooseRequests(
  slots: readonly Slots[],
  most: number,
  turn: number,
  room = roomOf,
): ClaimRequest[] {
  const requests: ClaimRequest[] = [];
  let left = most;
  for (let i = 0; i < slots.length && left > 0; i++) {
    const one = slots[(turn + i) % slots.length] as Slots;
    const wanted = room(one);
    const rest = Math.min(wanted, left);
    // Its handler would begin with a part of a batch.
    if (requests.length > 0 && rest < wanted && rest < (one.batchSize ?? 1)) continue;
    // What is left over after whole batches would begin as a small one.
    const limit = rest - (one.batchSize !== undefined && rest > one.batchSize ? rest % one.batchSize : 0);
    if (limit <= 0) continue;
    requests.push({ slots: one, limit });
    left -= limit;
  }
  return requests;
}
