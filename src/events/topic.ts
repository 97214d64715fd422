/** What a server knows about one tree, and who watches it there. */
import { isNewer, type JobProgress, type TreeProgress } from '../domain/progress/progress.ts';
import type { LiveProgress } from './live-progress.ts';

/** Longer than servers need to count again what Postgres has lost in a crash. */
const doubtMs = 10_000;

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
  /** Whether it must be read before somebody watches it again, whatever is heard: messages were lost while nobody did. */
  isStale = false;
  readAt = Number.NEGATIVE_INFINITY;
  #openJobs = 0;
  /** The jobs whose known state a read contradicts, and since when. */
  readonly #contradictedAt = new Map<string, number>();

  constructor(rootId: string) {
    this.rootId = rootId;
  }

  /** Whether all jobs are complete, as the last read says. */
  get isFinal(): boolean {
    return this.#openJobs === 0 && !this.isInDoubt;
  }

  /** Whether the last read contradicts what is known. */
  get isInDoubt(): boolean {
    return this.#contradictedAt.size > 0;
  }

  /** Whether it was ever read. */
  get isKnown(): boolean {
    return this.readAt > Number.NEGATIVE_INFINITY;
  }

  /** How many of the known jobs are not complete. Counted here, since messages may overtake each other. */
  get openJobs(): number {
    return this.#openJobs;
  }

  isJobFinal(jobId: string): boolean {
    return this.jobs.get(jobId)?.completedAt != null && !this.#contradictedAt.has(jobId);
  }

  /** Whether this message says that something ended which somebody watches, or comes before the first read: then the tree must be read. */
  isToBeVerified({ jobs }: TreeProgress): boolean {
    let open = this.#openJobs;
    for (const job of jobs) {
      const known = this.jobs.get(job.jobId);
      if (job.completedAt === null || !isNewer(job, known)) continue;
      if (known?.completedAt === null) open--;
      if (this.byJob.has(job.jobId)) return true;
    }
    return open <= 0;
  }

  /** Takes a message: keeps what is newer than the known state, and tells those who watch it. */
  hear({ jobs }: TreeProgress): void {
    this.#take(jobs.filter((job) => this.jobs.has(job.jobId) && isNewer(job, this.jobs.get(job.jobId))));
  }

  /**
   * Takes what was read; `before` is what was known when the read began. A state that is newer than what is read later was forged, or
   * Postgres has lost it in a crash and is about to count it again. Only if it has not done so for a while the read replaces it, so that
   * progress does not go back without need.
   */
  settle(tree: TreeProgress, before: ReadonlyMap<string, JobProgress>): void {
    const now = performance.now();
    const news = tree.jobs.filter((job) => {
      const was = before.get(job.jobId);
      if (was === undefined || !isNewer(was, job)) {
        this.#contradictedAt.delete(job.jobId);
        return isNewer(job, this.jobs.get(job.jobId));
      }
      const since = this.#contradictedAt.get(job.jobId) ?? now;
      if (now - since < doubtMs) {
        this.#contradictedAt.set(job.jobId, since);
        return false;
      }
      this.#contradictedAt.delete(job.jobId);
      return true;
    });
    this.#take(news);
  }

  #take(news: JobProgress[]): void {
    for (const job of news) {
      const known = this.jobs.get(job.jobId);
      this.#openJobs +=
        Number(job.completedAt === null) - Number(known !== undefined && known.completedAt === null);
      this.jobs.set(job.jobId, job);
    }
    for (const job of news)
      for (const live of this.byJob.get(job.jobId) ?? []) live.offer([job], this.#openJobs);
    for (const live of this.trees) live.offer(news, this.#openJobs);
    for (const [jobId, watchers] of this.byJob)
      if (this.isJobFinal(jobId)) for (const live of watchers) live.complete();
    if (this.isFinal) for (const live of this.trees) live.complete();
    for (const page of this.pages) page.poke();
  }

  end(): void {
    for (const live of this.trees) live.end();
    for (const watchers of this.byJob.values()) for (const live of watchers) live.end();
    for (const page of this.pages) page.end();
  }
}
