/** What a server knows about one tree, and who watches it there. */
import { isNewer, type JobProgress, type TreeProgress } from '../domain/jobs/progress.ts';
import type { LiveProgress } from './live-progress.ts';

export interface WatchedPage {
  /** Something may have changed. */
  poke(): void;
  end(): void;
}

export class Topic {
  readonly rootId: string;
  /** Resolves when the state is known and messages about it arrive; false if there is no such tree. */
  ready: Promise<boolean> = Promise.resolve(false);
  readonly jobs = new Map<string, JobProgress>();
  readonly trees = new Set<LiveProgress>();
  readonly byJob = new Map<string, Set<LiveProgress>>();
  readonly pages = new Set<WatchedPage>();
  /** How many watch it or are about to. */
  users = 0;
  unusedAt = 0;
  /** When a message came or the state was read. */
  heardAt = Number.NEGATIVE_INFINITY;
  readAt = Number.NEGATIVE_INFINITY;
  #openJobs = 0;

  constructor(rootId: string) {
    this.rootId = rootId;
  }

  /** How many of the known jobs are not complete. Counted here, since messages may overtake each other. */
  get openJobs(): number {
    return this.#openJobs;
  }

  get isComplete(): boolean {
    return this.#openJobs === 0;
  }

  /** Keeps what is newer than the known state, and tells those who watch it. */
  merge(tree: TreeProgress): void {
    const news = tree.jobs.filter((job) => isNewer(job, this.jobs.get(job.jobId)));
    for (const job of news) {
      const known = this.jobs.get(job.jobId);
      this.#openJobs +=
        Number(job.completedAt === null) - Number(known !== undefined && known.completedAt === null);
      this.jobs.set(job.jobId, job);
    }
    for (const job of news) {
      for (const live of this.byJob.get(job.jobId) ?? []) {
        live.offer([job], this.#openJobs);
        if (job.completedAt !== null) live.complete();
      }
    }
    for (const live of this.trees) live.offer(news, this.#openJobs);
    if (this.isComplete) for (const live of this.trees) live.complete();
    for (const page of this.pages) page.poke();
  }

  end(): void {
    for (const live of this.trees) live.end();
    for (const watchers of this.byJob.values()) for (const live of watchers) live.end();
    for (const page of this.pages) page.end();
  }
}
