/**
 * What waits, taken by turns: from each tenant, of a tenant from each of its callers, and so on down the path that it was put in with.
 * So whoever has thousands waiting waits for their own, and nobody else does.
 *
 * A turn is so much work, not so many things (surplus round robin): whoever has large things has fewer of them taken. Nothing is kept of
 * those who have nothing waiting, so this is no bookkeeping of who had how much.
 */

/** Whose something is. Nobody's is the server's own. */
export interface Owner {
  readonly tenant?: string | null | undefined;
  /** Who of a tenant, or of those without one: the same for all that a caller sends, wherever from. */
  readonly account?: string | null | undefined;
}

export const pathOf = ({ tenant, account }: Owner): readonly unknown[] => [tenant ?? '', account ?? ''];

/** Who has a part of its own: a tenant, or a caller without one. */
export const groupOf = ({ tenant, account }: Owner) =>
  tenant ? `tenant ${tenant}` : `caller ${account ?? ''}`;

/** How many that do not fit are looked at before it counts as full. */
const mostMisfits = 32;

interface Node<Item> {
  /** What it may still take before others have their turn. */
  credit: number;
  /** Those whose turn is next first. */
  readonly below: Map<unknown, Node<Item>>;
  readonly items: Item[];
}

const newNode = <Item>(credit: number): Node<Item> => ({ credit, below: new Map(), items: [] });

export class FairQueue<Item> {
  readonly #turn: number;
  readonly #costOf: (item: Item) => number;
  readonly #isBefore: ((one: Item, other: Item) => boolean) | undefined;
  readonly #top: Node<Item>;
  #size = 0;

  /**
   * @param options.turn how much is taken from one before the next has a turn; default: 1
   * @param options.costOf how much something is, when it is taken; default: 1
   * @param options.isBefore of those with the same path, what goes before what has waited longer; default: nothing
   */
  constructor(
    options: {
      turn?: number;
      costOf?: (item: Item) => number;
      isBefore?: (one: Item, other: Item) => boolean;
    } = {},
  ) {
    this.#turn = options.turn ?? 1;
    this.#costOf = options.costOf ?? (() => 1);
    this.#isBefore = options.isBefore;
    this.#top = newNode(0);
  }

  get size(): number {
    return this.#size;
  }

  /** All paths are of one length. */
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
    const isBefore = this.#isBefore;
    if (isBefore === undefined) node.items.push(item);
    else node.items.splice(node.items.findLastIndex((other) => !isBefore(item, other)) + 1, 0, item);
    this.#size++;
  }

  /** The next one, or the next that fits. */
  take(fits: (item: Item) => boolean = () => true): Item | undefined {
    const found = this.#takeFrom(this.#top, fits);
    if (found === undefined) return undefined;
    this.#size--;
    return found.item;
  }

  /** What was taken last of the path was so much more than it seemed. */
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
    const [first] = node.items;
    if (node.below.size === 0) {
      if (first === undefined || !fits(first)) return undefined;
      node.items.shift();
      return { item: first, cost: this.#costOf(first) };
    }
    let misfits = 0;
    // Whoever is put behind the others is met again.
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
      if (next.items.length === 0 && next.below.size === 0) node.below.delete(key);
      else this.#pay(node, key, next, found.cost);
      return found;
    }
    return undefined;
  }

  /** Whoever has nothing left gets another turn, behind the others. */
  #pay({ below }: Node<Item>, key: unknown, node: Node<Item>, amount: number): void {
    node.credit -= amount;
    if (node.credit > 0) return;
    node.credit += this.#turn;
    below.delete(key);
    below.set(key, node);
  }
}
