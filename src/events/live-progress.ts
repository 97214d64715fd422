/** The progress of a tree, or of one of its jobs, as a subscription shows it: the newest state of each job. */

import { type JobOutcome, worstOutcome } from '../domain/items/item-state.ts';
import {
  type JobProgress,
  stepsOf,
  type TreeCounts,
  type TreeProgress,
  toRevision,
} from '../domain/progress/progress.ts';
import { Live } from './live.ts';

/** The jobs of a tree: all of them at first, then those that changed. */
export interface ProgressEvent extends TreeProgress {
  /** The revision of everything that is watched, from the sums of generations and steps. */
  readonly revision: string;
  /** The outcome of the tree; null until all of its jobs are complete. */
  readonly outcome: JobOutcome | null;
  /** Counts over all jobs of the tree. */
  readonly counts: TreeCounts;
}

export class LiveProgress extends Live<ProgressEvent> {
  readonly #rootId: string;
  readonly #refresh: () => Promise<void>;
  readonly #onClose: (live: LiveProgress) => void;
  readonly #told = new Map<string, JobProgress>();
  #news = new Map<string, JobProgress>();
  #openJobs = 0;
  #toldOpenJobs = 0;
  readonly #sums = {
    generations: 0,
    steps: 0,
    unsealedJobs: 0,
    jobs: 0,
    itemCount: 0,
    succeeded: 0,
    failed: 0,
    cancelled: 0,
  };

  constructor(options: {
    rootId: string;
    intervalMs: number;
    refresh: () => Promise<void>;
    onClose: (live: LiveProgress) => void;
  }) {
    super(options.intervalMs);
    this.#rootId = options.rootId;
    this.#onClose = options.onClose;
    this.#refresh = options.refresh;
  }

  /** Takes states that are newer than all before. */
  offer(jobs: Iterable<JobProgress>, openJobs: number): void {
    for (const job of jobs) this.#news.set(job.jobId, job);
    this.#openJobs = openJobs;
    if (this.#news.size > 0) this.changed();
  }

  override get revision(): string {
    return toRevision(this.#sums.generations, this.#sums.steps);
  }

  override refresh(): Promise<void> {
    return this.#refresh();
  }

  override snapshot(): ProgressEvent {
    return this.#event([...this.#told.values()]);
  }

  protected override take(): ProgressEvent {
    const jobs = [...this.#news.values()];
    this.#news = new Map();
    for (const job of jobs) {
      const before = this.#told.get(job.jobId);
      if (before !== undefined) this.#add(before, -1);
      this.#add(job, 1);
      this.#told.set(job.jobId, job);
    }
    this.#toldOpenJobs = this.#openJobs;
    return this.#event(jobs);
  }

  protected override onClose(): void {
    this.#onClose(this);
  }

  #add(job: JobProgress, sign: 1 | -1): void {
    this.#sums.generations += sign * job.generation;
    this.#sums.steps += sign * stepsOf(job);
    this.#sums.jobs += sign;
    this.#sums.unsealedJobs += job.sealed ? 0 : sign;
    for (const count of ['itemCount', 'succeeded', 'failed', 'cancelled'] as const)
      this.#sums[count] += sign * job[count];
  }

  #event(jobs: JobProgress[]): ProgressEvent {
    const openJobs = this.#toldOpenJobs;
    const outcome = openJobs > 0 ? null : worstOutcome([...this.#told.values()].map((job) => job.outcome));
    const counts = { ...this.#sums, openJobs };
    return { root: this.#rootId, openJobs, revision: this.revision, outcome, counts, jobs };
  }
}
