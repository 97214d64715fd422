/**
 * Where claims start to look. Claimed entries leave dead rows behind, which Postgres can't remove while anybody holds an
 * old snapshot; a claim that began at the start would walk over all of them, and slow down with every item done. So the
 * server remembers a cursor for each type and priority: the place before which it saw nothing claimable. What it hands to a
 * claim covers every priority, those without a cursor from their start.
 *
 * That is a hint: entries can come to stand before a cursor (a transaction that committed late, the rest of an entry that
 * another claim had). So about once a second, beside the claims, somebody looks for such entries (`missed-entries.ts`) and the
 * cursor goes back. A claim that began before that must not move it forward again: it may have looked past them. Nor past
 * the rest of an entry that a claim beside it had: it skipped what was locked, and took from the next entry.
 */

/** From a place in a priority down to the lowest place of another. */
export interface ClaimRange {
  readonly type: string;
  readonly high: number;
  readonly low: number;
  readonly place: number;
}

export interface PriorityCursor {
  readonly type: string;
  readonly priority: number;
  readonly place: number;
}

interface Cursor {
  place: number;
  /** When it last went back: what began before does not move it forward. */
  backAt: number;
  /** The rest that a claim left of an entry, and when: what began before does not move it past that. */
  rest: number;
  restAt: number;
}

const highest = 32_767;
const lowest = -32_768;
const maxCursorsPerType = 64;
const maxTypes = 1_000;

export class LowWater {
  /** The type of which something was taken last stands last. */
  readonly #types = new Map<string, Map<number, Cursor>>();
  /** Types that were claimed from since `claimed` was last called. */
  #claimed = new Set<string>();
  /** Types of which somebody had locked what was left. */
  #locked = new Set<string>();
  #now = 0;

  /** A moment to give to `learn`: take it before the claim begins. */
  now(): number {
    return this.#now;
  }

  /** Where to look for each of these types, in their order, the highest priority first. */
  ranges(types: Iterable<string>): ClaimRange[] {
    const ranges: ClaimRange[] = [];
    for (const type of new Set(types)) {
      let high = highest;
      let place = 0;
      const cursors = this.#types.get(type) ?? new Map<number, Cursor>();
      if (cursors.size > 0) this.#claimed.add(type);
      for (const priority of [...cursors.keys()].sort((a, b) => b - a)) {
        if (priority < high || place > 0) ranges.push({ type, high, low: priority + 1, place });
        high = priority;
        place = (cursors.get(priority) as Cursor).place;
      }
      ranges.push({ type, high, low: lowest, place });
    }
    return ranges.filter(({ high, low }) => high >= low);
  }

  /** A claim that began at `since` took of this type and priority all that stood before this place. */
  learn({ type, priority, place }: PriorityCursor, since: number): void {
    const cursors = this.#types.get(type) ?? new Map<number, Cursor>();
    const known = cursors.get(priority);
    if (known === undefined) {
      cursors.set(priority, { place, backAt: 0, rest: 0, restAt: 0 });
    } else {
      const seen = known.restAt > since ? Math.min(place, known.rest) : place;
      if (known.backAt > since || known.place >= seen) return;
      known.place = seen;
    }
    // A priority without a cursor is read from its start.
    if (cursors.size > maxCursorsPerType) cursors.delete(Math.min(...cursors.keys()));
    // Of very many types those are remembered that were claimed from last.
    this.#types.delete(type);
    this.#types.set(type, cursors);
    if (this.#types.size > maxTypes) this.#types.delete(this.#types.keys().next().value as string);
  }

  /** A claim left the rest of an entry at this place. Claims beside it may have passed by: those that ended, and those that will. */
  left(rest: PriorityCursor): void {
    const known = this.#types.get(rest.type)?.get(rest.priority);
    if (known === undefined) return;
    if (known.place > rest.place) this.goBack(rest);
    // One that the cursor has not passed may still be there.
    known.rest = known.rest < known.place ? rest.place : Math.min(known.rest, rest.place);
    known.restAt = ++this.#now;
  }

  /** Something claimable stands at this place now. */
  goBack({ type, priority, place }: PriorityCursor): void {
    const known = this.#types.get(type)?.get(priority);
    if (known === undefined) return;
    known.place = Math.min(known.place, place);
    known.backAt = ++this.#now;
  }

  /** A claim found the rest of this type locked for long: when the lock goes, nobody says so. */
  locked(type: string): void {
    if (this.#locked.size < maxTypes) this.#locked.add(type);
  }

  /** What was found locked since this was last called. */
  takeLocked(): ReadonlySet<string> {
    const types = this.#locked;
    this.#locked = new Set();
    return types;
  }

  /** The cursors of all types that were claimed from since this was last called. */
  claimed(): PriorityCursor[] {
    const types = this.#claimed;
    this.#claimed = new Set();
    return [...types].flatMap((type) =>
      [...(this.#types.get(type) ?? [])].map(([priority, { place }]) => ({ type, priority, place })),
    );
  }

  /** Nobody could look before these cursors: `claimed` names their types again. */
  notSeen(cursors: readonly PriorityCursor[]): void {
    for (const { type } of cursors) this.#claimed.add(type);
  }
}
