/** Looks at every event of a subscription to progress, and fails at the first one that takes back what was told before. */
import { expect } from 'vitest';

interface Told {
  readonly jobId?: string;
  readonly revision?: string;
  readonly status?: string;
  readonly itemProgress?: number;
  readonly succeeded?: number;
}

/** Both ends are as far as the other. */
const ends = ['COMPLETED', 'CANCELLED'];
const isEnd = (status: string | undefined) => ends.includes(status ?? '');
const rank = (status: string | undefined) =>
  isEnd(status) ? 2 : ['WAITING', 'RUNNING'].indexOf(status ?? '');

/** For one subscription, whatever fields it asks for. */
export class Witness {
  readonly #jobs = new Map<string, Told>();
  #ended = false;

  see(event: any): void {
    expect(this.#ended, 'an event after the final state').toBe(false);
    const { jobProgress, jobTreeProgress } = event?.data ?? {};
    if (jobProgress) {
      this.#seeJob('', jobProgress);
      this.#ended = isEnd(jobProgress.status);
    }
    if (jobTreeProgress) {
      const { jobs = [], complete, openJobs } = jobTreeProgress;
      for (const job of jobs) if (job.jobId !== undefined) this.#seeJob(job.jobId, job);
      const known = [...this.#jobs.values()].filter(({ status }) => status !== undefined);
      const open = known.filter(({ status }) => !isEnd(status)).length;
      if (complete === true) expect(open, 'jobs that are open in a complete tree').toBe(0);
      if (openJobs !== undefined && known.length > 0) expect(openJobs).toBe(open);
      this.#ended = complete === true;
    }
  }

  #seeJob(id: string, job: Told): void {
    const before = this.#jobs.get(id);
    this.#jobs.set(id, job);
    if (before === undefined) return;
    // A job that was reopened begins again.
    if (generationOf(job) !== generationOf(before)) return;
    if (job.revision !== undefined) expect(job.revision >= (before.revision ?? '')).toBe(true);
    expect(rank(job.status)).toBeGreaterThanOrEqual(rank(before.status));
    for (const count of ['itemProgress', 'succeeded'] as const) {
      expect(job[count] ?? 0).toBeGreaterThanOrEqual(before[count] ?? 0);
    }
  }
}

function generationOf({ revision }: Told): string | undefined {
  return revision?.slice(0, 8);
}
