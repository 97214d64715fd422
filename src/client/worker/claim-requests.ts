/** Which types a claim asks for, and how many of each. */
import type { Slots } from './holds.ts';

export interface ClaimRequest {
  readonly slots: Slots;
  readonly limit: number;
}

/** How many more items of a type may be asked for: none while there is no work of it. */
export function roomOf(slots: Slots): number {
  return slots.dry ? 0 : slots.concurrency - slots.running - slots.asked;
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
