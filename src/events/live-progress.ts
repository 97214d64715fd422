/** The progress of a tree, or of one job of it, as a subscription shows it: the newest state of each job. */
import { type JobProgress, revision, type TreeProgress } from '../domain/progress.ts';
import { Live } from './live.ts';

/** Jobs of a tree, all at first and then those that changed. */
export interface ProgressEvent extends TreeProgress {
  /** The sum of the revisions of all that is watched. */
  readonly revision: number;
}

export class LiveProgress extends Live<ProgressEvent> {
  readonly #rootId: string;
  readonly #onClose: (live: LiveProgress) => void;
  readonly #told = new Map<string, JobProgress>();
  #news = new Map<string, JobProgress>();
  #openJobs = Number.POSITIVE_INFINITY;
  #toldOpenJobs = Number.POSITIVE_INFINITY;
  #revision = 0;

  constructor(options: { rootId: string; intervalMs: number; onClose: (live: LiveProgress) => void }) {
    super(options.intervalMs);
    this.#rootId = options.rootId;
    this.#onClose = options.onClose;
  }

  /** States that are newer than all before. */
  offer(jobs: Iterable<JobProgress>, openJobs: number): void {
    for (const job of jobs) this.#news.set(job.jobId, job);
    this.#openJobs = Math.min(this.#openJobs, openJobs);
    if (this.#news.size > 0) this.changed();
  }

  override get revision(): number {
    return this.#revision;
  }

  override snapshot(): ProgressEvent {
    return this.#event([...this.#told.values()]);
  }

  protected override take(): ProgressEvent {
    const jobs = [...this.#news.values()];
    this.#news = new Map();
    for (const job of jobs) {
      const before = this.#told.get(job.jobId);
      this.#revision += revision(job) - (before === undefined ? 0 : revision(before));
      this.#told.set(job.jobId, job);
    }
    this.#toldOpenJobs = this.#openJobs;
    return this.#event(jobs);
  }

  protected override onClose(): void {
    this.#onClose(this);
  }

  #event(jobs: JobProgress[]): ProgressEvent {
    return { root: this.#rootId, openJobs: this.#toldOpenJobs, revision: this.#revision, jobs };
  }
}
