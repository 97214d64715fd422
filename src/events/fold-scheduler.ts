/**
 * Folds the trees that this server wrote to, at most once every interval. A tree that another server is folding right now
 * is tried again at the next tick; what a server leaves behind when it dies, the sweep of another finds.
 *
 * Many trees are folded in one transaction, so the fold of one may hold up others, once: a tree of a fold that failed or took
 * long is folded alone from then on, in a lane of its own, until that is quick again. A fold that failed is tried again after
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

interface Tree {
  readonly rootId: string;
  dirty: boolean;
  /** It waits for its turn in a lane, or is being folded. */
  inLane: boolean;
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
interface Lane {
  readonly width: number;
  /** Trees that are folded in one transaction, at most. */
  readonly treesPerFold: number;
  readonly queue: Tree[];
  readonly workers: Set<Promise<void>>;
}

const markAgeMs = 1_000;
const forgetAfterMs = 2_000;
/** Folding many trees at once takes half of what one each would. */
const treesPerFold = 25;
const slowMs = 500;
const pauseAfterFailureMs = { first: 200, longest: 1_000 };

export class FoldScheduler {
  readonly #database: Database;
  readonly #intervalMs: number;
  readonly #logger: Logger;
  readonly #onUnfinished: (() => void) | undefined;
  readonly #trees = new Map<string, Tree>();
  readonly #lane: Lane = { width: 4, treesPerFold, queue: [], workers: new Set() };
  readonly #suspects: Lane = { width: 2, treesPerFold: 1, queue: [], workers: new Set() };
  readonly #stopped = new AbortController();
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
        inLane: false,
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
    while (this.#trees.size > 0) {
      try {
        await delay(this.#intervalMs, undefined, { signal: this.#stopped.signal });
      } catch {
        return;
      }
      const now = performance.now();
      this.#tick(now);
      for (const [rootId, { dirty, inLane, foldedAt, waiters }] of this.#trees) {
        if (!dirty && !inLane && foldedAt < now - forgetAfterMs && waiters.length === 0)
          this.#trees.delete(rootId);
      }
    }
  }

  /** Has all that is dirty folded, except what is just being folded, or was not to be tried again before. */
  #tick(now: number): void {
    for (const tree of this.#trees.values()) {
      if (tree.dirty && !tree.inLane && tree.notBefore <= now) this.#enqueue(tree);
    }
    for (const lane of [this.#lane, this.#suspects]) this.#work(lane);
  }

  #enqueue(tree: Tree): void {
    tree.inLane = true;
    (tree.isSuspect ? this.#suspects : this.#lane).queue.push(tree);
  }

  #work(lane: Lane): void {
    const size = Math.min(lane.treesPerFold, Math.ceil(lane.queue.length / lane.width));
    while (lane.workers.size < lane.width && lane.queue.length > 0) {
      const worker = this.#fold(lane.queue.splice(0, size)).finally(() => {
        lane.workers.delete(worker);
        this.#work(lane);
      });
      lane.workers.add(worker);
    }
  }

  async #idle(): Promise<void> {
    while (this.#lane.workers.size + this.#suspects.workers.size > 0) {
      await Promise.all([...this.#lane.workers, ...this.#suspects.workers]);
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
      tree.inLane = false;
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
