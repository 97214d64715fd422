/**
 * Where claims start to read. Claimed entries leave dead rows behind, which Postgres can't remove while any transaction holds an
 * old snapshot; a claim that read from the beginning would walk over all of them, and get slower with every finished item. So the
 * server remembers a cursor for each type and priority: the place before which it saw nothing claimable. The ranges that it gives
 * to a claim cover every priority; those without a cursor start at the beginning.
 *
 * Cursors are hints: entries can appear before one (from a transaction that committed late, or as the rest of an entry that
 * another claim had). So about once a second, independently of claims, the server looks for such entries (`missed-entries.ts`)
 * and moves the cursor back. A claim that began before that must not move it forward again, since it may have read past them. Nor
 * may a claim move it past the rest of an entry that a concurrent claim had: it skipped the locked entry, and took from the next
 * one.
 */

/** From a place in the priority `high` down to the end of the priority `low`. */
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
  /** When it last went back: a claim that began before does not move it forward. */
  backAt: number;
  /** The place of the rest that a claim left of an entry, and when: a claim that began before does not move the cursor past it. */
  rest: number;
  restAt: number;
}

const highest = 32_767;
const lowest = -32_768;
const maxCursorsPerType = 64;
const maxTypes = 1_000;

export class LowWater {
  /** Ordered by when something was last taken of the type, most recent last. */
  readonly #types = new Map<string, Map<number, Cursor>>();
  /** Types that were claimed from since the last call of `claimed`. */
  #claimed = new Set<string>();
  /** Types whose remaining entries were locked. */
  #locked = new Set<string>();
  #now = 0;

  /** A logical time for `learn`, to be read before the claim begins. */
  now(): number {
    return this.#now;
  }

  /** Where to look for these types, in their order, highest priority first. */
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

  /** A claim that began at `since` saw everything claimable of this type and priority before this place. */
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
    // A priority without a cursor is read from its beginning.
    if (cursors.size > maxCursorsPerType) cursors.delete(Math.min(...cursors.keys()));
    // If there are very many types, those claimed from most recently are remembered.
    this.#types.delete(type);
    this.#types.set(type, cursors);
    if (this.#types.size > maxTypes) this.#types.delete(this.#types.keys().next().value as string);
  }

  /** A claim left the rest of an entry at this place. Concurrent claims, ended or not, may have skipped it. */
  left(rest: PriorityCursor): void {
    const known = this.#types.get(rest.type)?.get(rest.priority);
    if (known === undefined) return;
    if (known.place > rest.place) this.goBack(rest);
    // A known rest that the cursor has not passed may still be there.
    known.rest = known.rest < known.place ? rest.place : Math.min(known.rest, rest.place);
    known.restAt = ++this.#now;
  }

  /** There is something claimable at this place now. */
  goBack({ type, priority, place }: PriorityCursor): void {
    const known = this.#types.get(type)?.get(priority);
    if (known === undefined) return;
    known.place = Math.min(known.place, place);
    known.backAt = ++this.#now;
  }

  /** A claim found the rest of this type locked for long. Nothing announces when the lock is released. */
  locked(type: string): void {
    if (this.#locked.size < maxTypes) this.#locked.add(type);
  }

  /** The types found locked since the last call. */
  takeLocked(): ReadonlySet<string> {
    const types = this.#locked;
    this.#locked = new Set();
    return types;
  }

  /** The cursors of all types that were claimed from since the last call. */
  claimed(): PriorityCursor[] {
    const types = this.#claimed;
    this.#claimed = new Set();
    return [...types].flatMap((type) =>
      [...(this.#types.get(type) ?? [])].map(([priority, { place }]) => ({ type, priority, place })),
    );
  }

  /** The check before these cursors failed, so `claimed` will return their types again. */
  notSeen(cursors: readonly PriorityCursor[]): void {
    for (const { type } of cursors) this.#claimed.add(type);
  }
}
