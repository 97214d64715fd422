/**
 * The lines of serialize keys in the model: of each key the items that have not ended, in the order in which they came. The first of
 * them is the head; a head that failed in a job that blocks on failure stays it until somebody has settled it. All others are BLOCKED.
 */
import { expect } from 'vitest';
import type { ModelItem } from './model.ts';

interface Line {
  items: ModelItem[];
  /** Its head has ended, and nobody has let the next one go yet: all that are left are blocked. */
  stuck: boolean;
}

export class ModelLines {
  readonly #lines = new Map<string, Line>();

  /** Puts an item at the end of the line of its key, if it has one: it gets a state that is pending. */
  enter(item: ModelItem): void {
    item.state = item.released;
    if (item.serializeKey === undefined) return;
    const line = this.#lines.get(item.serializeKey);
    if (line === undefined) this.#lines.set(item.serializeKey, { items: [item], stuck: false });
    else {
      item.state = 'BLOCKED';
      line.items.push(item);
    }
  }

  /**
   * Lets those lines go on whose heads have ended, but for the keys that the tables say are still to go on. With `atOnce`, no head may
   * have ended just now whose key has not gone on with it.
   */
  goOn(stuck: ReadonlySet<string>, atOnce: boolean): void {
    for (const [key, line] of this.#lines) {
      const head = line.stuck ? undefined : line.items[0];
      line.items = line.items.filter(isInLine);
      if (head !== undefined && line.items[0] === head) continue;
      if (atOnce && !line.stuck) expect([...stuck], 'a key went on at once').not.toContain(key);
      line.stuck = stuck.has(key);
      const next = line.items[0];
      if (line.stuck) continue;
      if (next === undefined) this.#lines.delete(key);
      else next.state = next.released;
    }
  }

  /** Of each key the ids of its items. */
  ids(): Record<string, string[]> {
    const lines = [...this.#lines].filter(([, { items }]) => items.length > 0);
    return Object.fromEntries(
      lines.map(([key, { items }]) => [key, items.map(({ job, position }) => `${job.id}:${position}`)]),
    );
  }
}

function isInLine({ state, dead, job }: ModelItem): boolean {
  if (job.cancelled || job.deleted || state === 'SUCCEEDED' || state === 'CANCELLED') return false;
  return state !== 'FAILED' || (dead && job.blocksOnFailure);
}
