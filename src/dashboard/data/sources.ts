/** What else the screens subscribe to, and how events become states. */
import {
  JobChanges,
  type JobChangesSubscription,
  type JobStateFragment,
  OperationChanges,
  type OperationChangesSubscription,
  type OperationStateFragment,
} from '../../generated/dashboard.ts';
import type { Pushed } from './follow.ts';
import type { LiveSource } from './live.ts';

export function operationOf(
  operationId: string,
): LiveSource<OperationChangesSubscription, { operationId: string }, OperationStateFragment> {
  return {
    document: OperationChanges,
    variables: () => ({ operationId }),
    next: (_, { operationProgress }) => operationProgress,
    isFinal: ({ status }) => status !== 'RUNNING',
  };
}

export type TreeLive = Omit<JobChangesSubscription['jobTreeProgress'], 'jobs'> & {
  readonly jobs: ReadonlyMap<string, JobStateFragment>;
};

/** A tree with all its jobs. An event has the jobs that changed. */
export function jobsOf(
  rootId: string,
): LiveSource<JobChangesSubscription, { rootId: string; sinceRevision: string | null }, TreeLive> {
  return {
    document: JobChanges,
    variables: (known) => ({ rootId, sinceRevision: known?.revision ?? null }),
    next: (known, { jobTreeProgress: { jobs, ...tree } }) => {
      const all = new Map(known?.jobs);
      for (const job of jobs) {
        const before = all.get(job.jobId);
        if (before === undefined || job.revision > before.revision || job.completedAt != null)
          all.set(job.jobId, job);
      }
      return { ...tree, jobs: all };
    },
    isFinal: ({ complete }) => complete,
  };
}

/** What the items of a job follow. */
export const pushedOf = ({ revision, completedAt }: JobStateFragment): Pushed => ({
  mark: revision,
  isOpen: completedAt == null,
});
