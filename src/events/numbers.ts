/**
 * Numbers on the messages that a relay publishes, so that a lost one is noticed at the next one, however busy the tree is. Each
 * relay counts for each tree on its own, since a server hears only of the trees that it has joined. The number is added to the
 * end of the JSON: the relay does not read what it passes on, and messages of two relays differ in nothing else.
 */
import { LRUCache } from 'lru-cache';

/** A tree that is counted from 1 again seems to have lost messages, which costs a read: so they are few. */
const rememberedTrees = 20_000;
const rememberedRelays = 4;
const ending = /,"relay":"([^"]*)","number":(\d+)\}$/;

export class Numberer {
  readonly #counts = new LRUCache<string, number>({ max: rememberedTrees });

  add(relay: string, root: string, text: string): string {
    const number = (this.#counts.get(root) ?? 0) + 1;
    this.#counts.set(root, number);
    return text.endsWith('}') ? `${text.slice(0, -1)},"relay":"${relay}","number":${number}}` : text;
  }

  /** Whoever counts from now on is another relay. */
  clear(): void {
    this.#counts.clear();
  }
}

/** The numbers that were heard for one tree. */
export class Numbers {
  readonly #last = new Map<string, number>();

  /**
   * The message as it was notified, and whether one before it may be missing: there is a gap, or it is the first one that is heard
   * and not the first one that was published. A second relay tells nothing new of those before it was heard.
   */
  take(text: string): { text: string; isGap: boolean } {
    const found = ending.exec(text);
    if (found === null) return { text, isGap: false };
    const [end, relay = '', digits] = found;
    const number = Number(digits);
    const last = this.#last.get(relay) ?? (this.#last.size === 0 ? 0 : number - 1);
    this.#last.delete(relay);
    this.#last.set(relay, number);
    const [oldest] = this.#last.keys();
    if (this.#last.size > rememberedRelays && oldest !== undefined) this.#last.delete(oldest);
    return { text: `${text.slice(0, -end.length)}}`, isGap: number !== last + 1 };
  }
}
