/**
 * Folds the trees that this server wrote to: few of them at once after a pause, and then at most once every interval. A tree that another server is folding right now
 * is tried again at the next tick; what a server leaves behind when it dies, the sweep of another finds.
 *
 * Many trees are folded in one transaction, so the fold of one may hold up others, once: a tree of a fold that failed or took
 * long is folded alone from then on, in a queue of its own, until that is quick again. A fold that failed is tried again after
 * a pause of its tree's own.
 *
 * Each tree has a low-water mark, so that a fold does not walk over the dead rows of all deltas before it. Delta ids are
 * given out before they commit, so the mark trails by one to two seconds; what commits later than that, the sweep finds,
 * and has that fold read from the start.
 */
import { setTimeout as delay } from 'node:timers/promises';
import type { Logger } from 'pino';
import type { Database } from '../db/database.ts';
import { type Fold, foldTrees } from '../domain/fold-progress.ts';
import { Signal } from './signal.ts';

interface Tree {
  readonly rootId: string;
  dirty: boolean;
  /** It waits for its turn in a queue, or is being folded. */
  isQueued: boolean;
  /** Its last fold failed or took long. */
  isSuspect: boolean;
  failures: number;
  /** After a failure; on the clock of `performance.now()`, as all times here. */
  notBefore: number;
  /** The next fold reads all deltas. */
  fromStart: boolean;
  /** Deltas are read from here on; `nextFrom` takes over once it is old enough. */
  from: number;
  nextFrom: number;
  markedAt: number;
  foldedAt: number;
  waiters: (() => void)[];
}

/** Trees that wait to be folded, and how many folds there are at a time. */
interface FoldQueue {
  readonly width: number;
  /** Trees that are folded in one transaction, at most. */
  readonly treesPerFold: number;
  readonly waiting: Tree[];
  readonly workers: Set<Promise<void>>;
}

const markAgeMs = 1_000;
const forgetAfterMs = 2_000;
/** Where only counters change, folding many trees at once takes a fraction of what one each would. */
const treesPerFold = 25;
const slowMs = 500;
const pauseAfterFailureMs = { first: 200, longest: 1_000 };

export class FoldScheduler {
  readonly #database: Database;
  readonly #intervalMs: number;
  readonly #logger: Logger;
  readonly #onUnfinished: (() => void) | undefined;
  readonly #trees = new Map<string, Tree>();
  readonly #healthy: FoldQueue = { width: 4, treesPerFold, waiting: [], workers: new Set() };
  readonly #suspects: FoldQueue = { width: 2, treesPerFold: 1, waiting: [], workers: new Set() };
  readonly #stopped = new AbortController();
  readonly #touched = new Signal();
  #running: Promise<void> | undefined;

  constructor(options: {
    database: Database;
    intervalMs: number;
    logger: Logger;
    /** A fold left something to be finished: a job was ended, or waits no longer. */
    onUnfinished?: () => void;
  }) {
    this.#database = options.database;
    this.#intervalMs = options.intervalMs;
    this.#logger = options.logger;
    this.#onUnfinished = options.onUnfinished;
  }

  /** The tree has new deltas, with `fromStart` maybe some below the mark. */
  touch(rootId: string, fromStart = false): void {
    const tree = this.#tree(rootId);
    tree.dirty = true;
    tree.fromStart ||= fromStart;
    this.#touched.fire();
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
    this.#touched.fire();
    await this.#running;
    await this.#idle();
    this.#tick(Number.POSITIVE_INFINITY);
    await this.#idle();
    for (const tree of this.#trees.values()) for (const resolve of tree.waiters) resolve();
    this.#trees.clear();
  }

  #tree(rootId: string): Tree {
    let tree = this.#trees.get(rootId);
    if (tree === undefined) {
      tree = {
        rootId,
        dirty: false,
        isQueued: false,
        isSuspect: false,
        failures: 0,
        notBefore: 0,
        fromStart: false,
        from: 0,
        nextFrom: 0,
        markedAt: performance.now(),
        foldedAt: performance.now(),
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
    // Whoever touches several trees in one turn has them folded together.
    await Promise.resolve();
    while (this.#trees.size > 0 && !this.#stopped.signal.aborted) {
      const now = performance.now();
      this.#tick(now);
      for (const [rootId, { dirty, isQueued, foldedAt, waiters }] of this.#trees) {
        if (!dirty && !isQueued && foldedAt < now - forgetAfterMs && waiters.length === 0)
          this.#trees.delete(rootId);
      }
      try {
        await delay(this.#intervalMs, undefined, { signal: this.#stopped.signal });
      } catch {
        return;
      }
      // Of many trees, what comes in an interval is folded together: that saves more than it delays.
      const areFew = this.#trees.size <= treesPerFold;
      if (areFew && !this.#hasDirty()) await this.#touched.wait(forgetAfterMs);
    }
  }

  #hasDirty(): boolean {
    for (const { dirty } of this.#trees.values()) if (dirty) return true;
    return false;
  }

  /** Has all that is dirty folded, except what is just being folded, or was not to be tried again before. */
  #tick(now: number): void {
    for (const tree of this.#trees.values()) {
      if (tree.dirty && !tree.isQueued && tree.notBefore <= now) this.#enqueue(tree);
    }
    for (const queue of [this.#healthy, this.#suspects]) this.#work(queue);
  }

  #enqueue(tree: Tree): void {
    tree.isQueued = true;
    (tree.isSuspect ? this.#suspects : this.#healthy).waiting.push(tree);
  }

  #work(queue: FoldQueue): void {
    const size = Math.min(queue.treesPerFold, Math.ceil(queue.waiting.length / queue.width));
    while (queue.workers.size < queue.width && queue.waiting.length > 0) {
      const worker = this.#fold(queue.waiting.splice(0, size)).finally(() => {
        queue.workers.delete(worker);
        this.#work(queue);
      });
      queue.workers.add(worker);
    }
  }

  async #idle(): Promise<void> {
    while (this.#healthy.workers.size + this.#suspects.workers.size > 0) {
      await Promise.all([...this.#healthy.workers, ...this.#suspects.workers]);
    }
  }

  /** Never rejects. */
  async #fold(trees: readonly Tree[]): Promise<void> {
    const folding = trees.map(begin);
    const startedAt = performance.now();
    let folds: Map<string, Fold> | undefined;
    try {
      folds = await foldTrees({ database: this.#database }, folding);
    } catch (error) {
      if (folding.length === 1) this.#failed(folding[0]?.tree, error);
    }
    const isSlow = performance.now() - startedAt > slowMs;
    for (const { tree, rootId, fromStart, waiters } of folding) {
      tree.isQueued = false;
      tree.isSuspect = isSlow || folds === undefined;
      const fold = folds?.get(rootId);
      if (fold === undefined) {
        tree.dirty = true;
        tree.fromStart ||= fromStart;
        tree.waiters.push(...waiters);
        // Which of them it was shows when each is folded alone.
        if (folds === undefined && folding.length > 1) this.#enqueue(tree);
      } else {
        tree.failures = 0;
        tree.dirty ||= fold.retry;
        if (fold.unfinished) this.#onUnfinished?.();
        this.#advance(tree, fold.lastDelta);
        for (const resolve of waiters) resolve();
      }
    }
    this.#work(this.#suspects);
    // Some may have to be folded once more.
    this.#touched.fire();
  }

  #failed(tree: Tree | undefined, error: unknown): void {
    if (tree === undefined) return;
    const { first, longest } = pauseAfterFailureMs;
    tree.notBefore = performance.now() + Math.min(longest, first * 2 ** tree.failures);
    tree.failures++;
    const level = tree.failures === 1 ? 'warn' : 'debug';
    this.#logger[level]({ err: error, rootId: tree.rootId }, 'fold failed; it is tried again');
  }

  #advance(tree: Tree, lastDelta: number): void {
    tree.foldedAt = performance.now();
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
