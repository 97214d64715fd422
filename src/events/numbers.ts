/**
 * Numbers the messages that a relay publishes, so that a lost message is noticed at the next one, however busy the tree is. Each
 * relay counts each tree separately, since a server hears only the trees that it has joined. The number is appended to the end of
 * the JSON: the relay does not parse what it passes on, and the same message from two relays differs in nothing else.
 */
import { LRUCache } from 'lru-cache';

/** A tree whose count restarts at 1 seems to have lost messages, which costs a read, so this should be rare. */
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

  /** Starts all counts again, for a relay with a new id. */
  clear(): void {
    this.#counts.clear();
  }
}

/** The numbers heard for one tree. */
export class Numbers {
  readonly #last = new Map<string, number>();

  /**
   * Returns the message as it was notified, and whether an earlier one may be missing: there is a gap, or the first message heard
   * is not the first one published. The first message of a second relay says nothing about messages before it.
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
