/**
 * What a subscriber has not yet taken, merged: the newest state of each job. Memory is bounded by the number of jobs that
 * the subscriber watches, however slowly it reads, and a slow one slows only itself.
 */
import { isNewer, type JobProgress, type TreeProgress } from '../domain/progress.ts';

export class Slot implements AsyncIterableIterator<TreeProgress> {
  readonly #rootId: string;
  /** The one job that the subscriber wants, or all of the tree. */
  readonly #jobId: string | undefined;
  readonly #onClose: (slot: Slot) => void;
  /** The newest state of each job that was taken or waits to be. */
  readonly #known = new Map<string, JobProgress>();
  #pending = new Map<string, JobProgress>();
  #openJobs = Number.POSITIVE_INFINITY;
  #wake: (() => void) | undefined;
  #started = false;
  #ending = false;
  #closed = false;

  constructor(options: { rootId: string; jobId: string | undefined; onClose: (slot: Slot) => void }) {
    this.#rootId = options.rootId;
    this.#jobId = options.jobId;
    this.#onClose = options.onClose;
  }

  /** The state that was read when the subscriber came: from here on it gets what there is. */
  start(tree: TreeProgress): void {
    this.#started = true;
    this.offer(tree);
  }

  /** Takes what is newer than what the subscriber has. */
  offer(tree: TreeProgress): void {
    if (this.#ending || this.#closed) return;
    for (const job of tree.jobs) {
      if (this.#jobId !== undefined && job.jobId !== this.#jobId) continue;
      if (!isNewer(job, this.#known.get(job.jobId))) continue;
      this.#known.set(job.jobId, job);
      this.#pending.set(job.jobId, job);
    }
    this.#openJobs = Math.min(this.#openJobs, tree.openJobs);
    if (this.#started && this.#isFinal()) this.#ending = true;
    if (this.#pending.size > 0 || this.#ending) this.#wake?.();
  }

  /** No more will come: the subscriber gets what waits for it, and then the end. */
  end(): void {
    this.#ending = true;
    this.#wake?.();
  }

  async next(): Promise<IteratorResult<TreeProgress>> {
    while (!this.#closed && !this.#ending && this.#pending.size === 0) {
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
    }
    if (this.#closed || this.#pending.size === 0) return this.return();
    const jobs = [...this.#pending.values()];
    this.#pending = new Map();
    return { done: false, value: { root: this.#rootId, openJobs: this.#openJobs, jobs } };
  }

  async return(): Promise<IteratorReturnResult<undefined>> {
    if (!this.#closed) {
      this.#closed = true;
      this.#onClose(this);
      this.#wake?.();
    }
    return { done: true, value: undefined };
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  /** Nothing changes any more: the tree is complete, or the one job that is watched. */
  #isFinal(): boolean {
    if (this.#jobId !== undefined) return this.#known.get(this.#jobId)?.completedAt != null;
    // The news of a large tree comes in several messages, and all of them count.
    return this.#openJobs === 0 && [...this.#known.values()].every((job) => job.completedAt !== null);
  }
}
