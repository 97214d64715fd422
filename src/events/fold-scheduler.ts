/**
 * Folds the trees that this server wrote to, at most once every interval; if they are few, the first write after a pause is folded at once,
 * unless it was only a claim. If a server dies, another one's sweep finds what it left.
 *
 * Many trees are folded in one transaction, so one slow fold may delay the others, but only once: a tree whose fold failed or took long is from
 * then on folded alone, in a separate queue, until its folds are quick again. A failed fold is tried again after a pause that applies to its
 * tree only, and so is one that somebody's lock held up; new deltas shorten this second pause.
 *
 * Each tree has a low-water position, so that a fold does not walk over the dead rows of all earlier deltas. Delta ids are assigned before they
 * commit, so the position trails by one to two seconds. The sweep finds those that commit even later, and has the fold read all.
 */
import { setTimeout as delay } from 'node:timers/promises';
import type { Logger } from 'pino';
import { Signal } from '../concurrency/signal.ts';
import type { Database } from '../db/database.ts';
import { type Fold, foldTrees } from '../domain/progress/fold-progress.ts';

interface Tree {
  readonly rootId: string;
  dirty: boolean;
  /** It waits in a queue, or is being folded. */
  isQueued: boolean;
  /** Its last fold failed or took long. */
  isSuspect: boolean;
  failures: number;
  /** How many times in a row another session's lock kept it from being folded, or from being folded completely. */
  waits: number;
  /** When it may be folded again after a failure or a wait, on the clock of `performance.now()`, as all times here. */
  notBefore: number;
  /** The next fold reads all deltas. */
  fromStart: boolean;
  /** Deltas are read from here; `nextFrom` takes its place once it is old enough. */
  from: number;
  nextFrom: number;
  markedAt: number;
  foldedAt: number;
  waiters: (() => void)[];
}

/** Trees that wait to be folded, and how many folds run at a time. */
interface FoldQueue {
  readonly width: number;
  /** How many trees are in one transaction, if there are so many. */
  readonly treesPerFold: { readonly fewest: number; readonly most: number };
  readonly waiting: Tree[];
  readonly workers: Set<Promise<void>>;
}

const markAgeMs = 1_000;
const forgetAfterMs = 2_000;
/** Folding many trees at once takes a fraction of the time of folding each alone: so up to the first number of trees go into one fold. */
const treesPerFold = { fewest: 50, most: 200 };
const slowMs = 500;
/** How long the start of a job waits to be folded. */
const startMs = 250;
const pauseAfterFailureMs = { first: 200, longest: 1_000 };
const longestWaitMs = 1_000;
/** The longest wait of a tree with new deltas. */
const touchedWaitMs = 100;

export class FoldScheduler {
  readonly #database: Database;
  readonly #intervalMs: number;
  readonly #logger: Logger;
  readonly #onUnfinished: (() => void) | undefined;
  readonly #trees = new Map<string, Tree>();
  readonly #healthy: FoldQueue = { width: 4, treesPerFold, waiting: [], workers: new Set() };
  readonly #suspects: FoldQueue = {
    width: 2,
    treesPerFold: { fewest: 1, most: 1 },
    waiting: [],
    workers: new Set(),
  };
  readonly #stopped = new AbortController();
  readonly #touched = new Signal();
  #running: Promise<void> | undefined;

  constructor(options: {
    database: Database;
    intervalMs: number;
    logger: Logger;
    /** Called when a fold left something to finish: a job has ended, or no longer waits. */
    onUnfinished?: () => void;
  }) {
    this.#database = options.database;
    this.#intervalMs = options.intervalMs;
    this.#logger = options.logger;
    this.#onUnfinished = options.onUnfinished;
  }

  /** The tree has new deltas; with `fromStart`, some may be below the low-water position. */
  touch(rootId: string, fromStart = false): void {
    const tree = this.#tree(rootId);
    tree.dirty = true;
    tree.fromStart ||= fromStart;
    const soonest = tree.waits > 0 ? performance.now() + touchedWaitMs : 0;
    if (tree.failures === 0) tree.notBefore = Math.min(tree.notBefore, soonest);
    this.#run();
  }

  /** A job of the tree may have started. That waits a moment, so that what follows soon is folded with it: each fold costs. */
  started(rootId: string): void {
    const tree = this.#tree(rootId);
    if (tree.dirty) return;
    tree.dirty = true;
    tree.notBefore = Math.max(tree.notBefore, performance.now() + startMs);
    this.#run();
  }

  /** Resolves once everything written to the tree before is folded, so that a caller reads its own writes. */
  async settled(rootId: string): Promise<void> {
    if (this.#stopped.signal.aborted) return;
    await new Promise<void>((resolve) => {
      this.#tree(rootId).waiters.push(resolve);
      this.touch(rootId);
    });
  }

  /** Folds dirty trees once more, and stops. */
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
        waits: 0,
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
    this.#touched.fire();
    if (this.#stopped.signal.aborted) return;
    this.#running ??= this.#loop().finally(() => {
      this.#running = undefined;
    });
  }

  /** Ticks while there are trees to watch over. */
  async #loop(): Promise<void> {
    // Waits for the end of the current turn, so that trees touched together are folded together.
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
      // If there are many trees, the deltas of an interval are folded together, which saves more than it delays.
      const pauseMs = this.#trees.size <= treesPerFold.fewest ? this.#pauseMs() : 0;
      if (pauseMs > 0) await this.#touched.wait(pauseMs);
    }
  }

  /** Until the next tree is due. */
  #pauseMs(): number {
    const now = performance.now();
    let dueAt = now + forgetAfterMs;
    for (const { dirty, notBefore } of this.#trees.values()) if (dirty) dueAt = Math.min(dueAt, notBefore);
    return dueAt - now;
  }

  /** Enqueues all dirty trees, except those already queued or being folded, and those whose pause is not over. */
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
    const { fewest, most } = queue.treesPerFold;
    const size = Math.min(most, Math.max(fewest, Math.ceil(queue.waiting.length / queue.width)));
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
        // Folding each alone shows which of them failed.
        if (folds === undefined && folding.length > 1) this.#enqueue(tree);
        if (folds !== undefined) this.#wait(tree);
      } else {
        tree.failures = 0;
        tree.dirty ||= fold.retry;
        if (fold.heldUp) this.#wait(tree);
        else tree.waits = 0;
        if (fold.unfinished) this.#onUnfinished?.();
        this.#advance(tree, fold.lastDelta);
        for (const resolve of waiters) resolve();
      }
    }
    this.#work(this.#suspects);
    this.#touched.fire();
  }

  /** Whatever holds it up may take as long as it has taken already. */
  #wait(tree: Tree): void {
    tree.dirty = true;
    tree.notBefore = performance.now() + Math.min(longestWaitMs, this.#intervalMs * 2 ** tree.waits);
    tree.waits++;
  }

  #failed(tree: Tree | undefined, error: unknown): void {
    if (tree === undefined) return;
    const { first, longest } = pauseAfterFailureMs;
    tree.notBefore = performance.now() + Math.min(longest, first * 2 ** tree.failures);
    tree.failures++;
    const level = tree.failures === 1 ? 'warn' : 'debug';
    this.#logger[level]({ err: error, rootId: tree.rootId }, 'fold failed; trying again');
  }

  #advance(tree: Tree, lastDelta: number): void {
    tree.foldedAt = performance.now();
    if (tree.foldedAt - tree.markedAt < markAgeMs) return;
    tree.markedAt = tree.foldedAt;
    tree.from = tree.nextFrom;
    tree.nextFrom = Math.max(tree.nextFrom, lastDelta);
  }
}

/** A fold of a tree, as of its beginning. */
interface Folding {
  readonly tree: Tree;
  readonly rootId: string;
  readonly fromDelta: number;
  readonly fromStart: boolean;
  readonly waiters: readonly (() => void)[];
}

/** Those who wait now wrote before now; those who come during the fold wait for the next one. */
function begin(tree: Tree): Folding {
  const { rootId, from, fromStart, waiters } = tree;
  tree.waiters = [];
  tree.dirty = false;
  tree.fromStart = false;
  return { tree, rootId, fromDelta: fromStart ? 0 : from, fromStart, waiters };
}
