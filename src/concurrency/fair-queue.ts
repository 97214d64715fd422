/**
 * A queue that is taken from by turns: of each tenant, within a tenant of each caller, and so on down the path of each entry. So a client with
 * thousands of entries waits for its own, and nobody else does.
 *
 * While entries of one path have waited for long, the newest of them goes first: more comes than can be done, and those that have waited
 * longest are the ones whose callers are about to give up, so serving them in order would serve nobody in time.
 *
 * A turn is an amount of work, not a number of entries (surplus round robin): fewer large entries are taken in a turn. Nothing is kept of
 * clients without entries, so this is no record of who had how much.
 */

/** The tenant and caller that something belongs to. Work of the server itself has neither. */
export interface Owner {
  readonly tenant?: string | null | undefined;
  /** The caller within its tenant, or among those without one: the same for everything that a caller sends, from any address. */
  readonly account?: string | null | undefined;
}

export const pathOf = ({ tenant, account }: Owner): readonly unknown[] => [tenant ?? '', account ?? ''];

/** The group that gets a share of its own: a tenant, or a caller without one. */
export const groupOf = ({ tenant, account }: Owner) =>
  tenant ? `tenant ${tenant}` : `caller ${account ?? ''}`;

/** How many entries that do not fit are looked at before the queue counts as full. */
const mostMisfits = 32;

/** How long the oldest entry of a path may have waited while entries are still taken in order. Callers give up after seconds, and wait in several queues. */
const lateMs = 200;

interface Entry<Item> {
  readonly item: Item;
  readonly lateAt: number;
}

interface Node<Item> {
  /** How much it may still take before the others have their turn. */
  credit: number;
  /** In the order of their turns. */
  readonly below: Map<unknown, Node<Item>>;
  readonly entries: Entry<Item>[];
}

const newNode = <Item>(credit: number): Node<Item> => ({ credit, below: new Map(), entries: [] });

export class FairQueue<Item> {
  readonly #turn: number;
  readonly #costOf: (item: Item) => number;
  readonly #isBefore: ((one: Item, other: Item) => boolean) | undefined;
  readonly #isOver: (item: Item) => boolean;
  readonly #lateMs: number;
  readonly #top: Node<Item>;
  #size = 0;

  /**
   * @param options.turn how much work is taken from one child before the next has its turn; default: 1
   * @param options.costOf how much work an entry is, asked when it is taken; default: 1
   * @param options.isBefore whether an entry overtakes an older one with the same path; default: never
   * @param options.isOver whether nobody waits for an entry any more: the oldest such ones are taken at once, for whoever takes them to drop
   * @param options.lateMs how long the oldest entry of a path waits before the newest goes first
   */
  constructor(
    options: {
      turn?: number;
      costOf?: (item: Item) => number;
      isBefore?: (one: Item, other: Item) => boolean;
      isOver?: (item: Item) => boolean;
      lateMs?: number;
    } = {},
  ) {
    this.#turn = options.turn ?? 1;
    this.#costOf = options.costOf ?? (() => 1);
    this.#isBefore = options.isBefore;
    this.#isOver = options.isOver ?? (() => false);
    this.#lateMs = options.lateMs ?? lateMs;
    this.#top = newNode(0);
  }

  get size(): number {
    return this.#size;
  }

  /** All paths must have the same length. */
  push(path: readonly unknown[], item: Item): void {
    let node = this.#top;
    for (const key of path) {
      let next = node.below.get(key);
      if (next === undefined) {
        next = newNode(this.#turn);
        node.below.set(key, next);
      }
      node = next;
    }
    const { entries } = node;
    const isBefore = this.#isBefore;
    const entry = { item, lateAt: performance.now() + this.#lateMs };
    if (isBefore === undefined) entries.push(entry);
    else entries.splice(entries.findLastIndex((other) => !isBefore(item, other.item)) + 1, 0, entry);
    this.#size++;
  }

  /** The next entry, or the next one that fits. */
  take(fits: (item: Item) => boolean = () => true): Item | undefined {
    const found = this.#takeFrom(this.#top, fits);
    if (found === undefined) return undefined;
    this.#size--;
    return found.item;
  }

  /** Charges the path for more work than `costOf` said of the entry that was taken last. */
  charge(path: readonly unknown[], amount: number): void {
    let node = this.#top;
    for (const key of path) {
      const next = node.below.get(key);
      if (next === undefined) return;
      this.#pay(node, key, next, amount);
      node = next;
    }
  }

  #takeFrom(node: Node<Item>, fits: (item: Item) => boolean): { item: Item; cost: number } | undefined {
    if (node.below.size === 0) {
      const at = this.#nextOf(node.entries);
      const item = node.entries[at]?.item;
      if (item === undefined || !fits(item)) return undefined;
      node.entries.splice(at, 1);
      return { item, cost: this.#costOf(item) };
    }
    let misfits = 0;
    // A child that is moved behind the others here comes up again in this loop.
    for (const [key, next] of node.below) {
      if (next.credit <= 0) {
        this.#pay(node, key, next, 0);
        continue;
      }
      const found = this.#takeFrom(next, fits);
      if (found === undefined) {
        if (++misfits === mostMisfits) return undefined;
        continue;
      }
      if (next.entries.length === 0 && next.below.size === 0) node.below.delete(key);
      else this.#pay(node, key, next, found.cost);
      return found;
    }
    return undefined;
  }

  /** The place of the entry that is taken next: the first, or the newest of those that it would not overtake. */
  #nextOf(entries: readonly Entry<Item>[]): number {
    const [first] = entries;
    if (first === undefined || performance.now() < first.lateAt || this.#isOver(first.item)) return 0;
    const isBefore = this.#isBefore;
    if (isBefore === undefined) return entries.length - 1;
    const end = entries.findIndex(({ item }) => isBefore(first.item, item));
    return (end === -1 ? entries.length : end) - 1;
  }

  /** A child without credit gets another turn, behind the others. */
  #pay({ below }: Node<Item>, key: unknown, node: Node<Item>, amount: number): void {
    node.credit -= amount;
    if (node.credit > 0) return;
    node.credit += this.#turn;
    below.delete(key);
    below.set(key, node);
  }
}
