/**
 * Folds the trees that this server wrote to, at most once every interval. A tree that another server is folding right now
 * is tried again at the next tick; what a server leaves behind when it dies, the sweep of another finds.
 *
 * Each tree has a low-water mark, so that a fold does not walk over the dead rows of all deltas before it. Delta ids are
 * given out before they commit, so the mark trails by one to two seconds; what commits later than that, the sweep finds,
 * and has that fold read from the start.
 */
import { setTimeout as delay } from 'node:timers/promises';
import type { Logger } from 'pino';
import type { Database } from '../db/database.ts';
import { type Fold, foldTrees } from '../domain/fold-progress.ts';

interface Tree {
  readonly rootId: string;
  dirty: boolean;
  /** The next fold reads all deltas. */
  fromStart: boolean;
  /** Deltas are read from here on; `nextFrom` takes over once it is old enough. */
  from: number;
  nextFrom: number;
  markedAt: number;
  foldedAt: number;
  waiters: (() => void)[];
}

const markAgeMs = 1_000;
const forgetAfterMs = 2_000;
const width = 4;
/** Trees that are folded in one transaction, when there are many: that takes half of what one each would. */
const treesPerFold = 25;
const pauseAfterFailureMs = 200;

export class FoldScheduler {
  readonly #database: Database;
  readonly #intervalMs: number;
  readonly #logger: Logger;
  readonly #trees = new Map<string, Tree>();
  readonly #stopped = new AbortController();
  #running: Promise<void> | undefined;

  constructor(options: { database: Database; intervalMs: number; logger: Logger }) {
    this.#database = options.database;
    this.#intervalMs = options.intervalMs;
    this.#logger = options.logger;
  }

  /** The tree has new deltas, with `fromStart` maybe some below the mark. */
  touch(rootId: string, fromStart = false): void {
    const tree = this.#tree(rootId);
    tree.dirty = true;
    tree.fromStart ||= fromStart;
    this.#run();
  }

  /** Resolves once all that was written to the tree before is folded: so a caller reads its own write. */
  async settled(rootId: string): Promise<void> {
    if (this.#stopped.signal.aborted) return;
    await new Promise<void>((resolve) => {
      this.#tree(rootId).waiters.push(resolve);
      this.touch(rootId);
    });
  }

  /** Folds once more what is dirty, and stops. */
  async close(): Promise<void> {
    this.#stopped.abort();
    await this.#running;
    await this.#foldDirty();
    for (const tree of this.#trees.values()) for (const resolve of tree.waiters) resolve();
    this.#trees.clear();
  }

  #tree(rootId: string): Tree {
    let tree = this.#trees.get(rootId);
    if (tree === undefined) {
      tree = {
        rootId,
        dirty: false,
        fromStart: false,
        from: 0,
        nextFrom: 0,
        markedAt: Date.now(),
        foldedAt: Date.now(),
        waiters: [],
      };
      this.#trees.set(rootId, tree);
    }
    return tree;
  }

  #run(): void {
    if (this.#stopped.signal.aborted) return;
    this.#running ??= this.#loop().finally(() => {
      this.#running = undefined;
    });
  }

  /** Ticks while there are trees to watch over. */
  async #loop(): Promise<void> {
    while (this.#trees.size > 0) {
      try {
        await delay(this.#intervalMs, undefined, { signal: this.#stopped.signal });
      } catch {
        return;
      }
      await this.#foldDirty();
      const oldest = Date.now() - forgetAfterMs;
      for (const [rootId, tree] of this.#trees) {
        if (!tree.dirty && tree.foldedAt < oldest && tree.waiters.length === 0) this.#trees.delete(rootId);
      }
    }
  }

  async #foldDirty(): Promise<void> {
    const dirty = [...this.#trees.values()].filter((tree) => tree.dirty);
    const size = Math.min(treesPerFold, Math.ceil(dirty.length / width));
    await Promise.all(
      Array.from({ length: Math.min(width, dirty.length) }, async () => {
        while (dirty.length > 0) await this.#fold(dirty.splice(0, size).map(begin));
      }),
    );
  }

  async #fold(folding: readonly Folding[]): Promise<void> {
    let folds = new Map<string, Fold>();
    try {
      folds = await foldTrees({ database: this.#database }, folding);
    } catch (error) {
      if (folding.length > 1) {
        // Whichever it was must not hold up the others.
        for (const one of folding) await this.#fold([one]);
        return;
      }
      this.#logger.warn({ err: error, rootId: folding[0]?.rootId }, 'fold failed; it is tried again');
      await delay(pauseAfterFailureMs);
    }
    for (const { tree, rootId, fromStart, waiters } of folding) {
      const fold = folds.get(rootId);
      if (fold === undefined) {
        tree.dirty = true;
        tree.fromStart ||= fromStart;
        tree.waiters.push(...waiters);
      } else {
        tree.dirty ||= fold.retry;
        this.#advance(tree, fold.lastDelta);
        for (const resolve of waiters) resolve();
      }
    }
  }

  #advance(tree: Tree, lastDelta: number): void {
    tree.foldedAt = Date.now();
    if (tree.foldedAt - tree.markedAt < markAgeMs) return;
    tree.markedAt = tree.foldedAt;
    tree.from = tree.nextFrom;
    tree.nextFrom = Math.max(tree.nextFrom, lastDelta);
  }
}

/** A fold of a tree, from when it is decided on. */
interface Folding {
  readonly tree: Tree;
  readonly rootId: string;
  readonly fromDelta: number;
  readonly fromStart: boolean;
  readonly waiters: readonly (() => void)[];
}

/** Who waits now wrote before now; who comes during the fold waits for the next one. */
function begin(tree: Tree): Folding {
  const { rootId, from, fromStart, waiters } = tree;
  tree.waiters = [];
  tree.dirty = false;
  tree.fromStart = false;
  return { tree, rootId, fromDelta: fromStart ? 0 : from, fromStart, waiters };
}
