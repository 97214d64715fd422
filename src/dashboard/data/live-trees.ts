/** Live trees: what is subscribed, and how events become states. */
import {
  type JobFilter,
  type JobStateFragment,
  NewestTrees,
  type NewestTreesSubscription,
  TreeChanges,
  type TreeChangesSubscription,
  type TreeRowFragment,
} from '../../generated/dashboard-first.ts';
import type { LiveSource } from './live.ts';

export type TreeLive = Omit<TreeChangesSubscription['jobTreeProgress'], 'jobs'> & {
  readonly jobs: ReadonlyMap<string, JobStateFragment>;
};

/** A tree with all its jobs. An event has the jobs that changed. */
export function treeOf(
  rootId: string,
): LiveSource<TreeChangesSubscription, { rootId: string; sinceRevision: string | null }, TreeLive> {
  return {
    document: TreeChanges,
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

/** The newest trees by id. Those that left the page, or were deleted, are in `gone`. */
export interface NewestLive {
  readonly trees: ReadonlyMap<string, TreeRowFragment>;
  readonly gone: ReadonlySet<string>;
}

export function newestTreesOf(
  filter: JobFilter,
): LiveSource<NewestTreesSubscription, { filter: JobFilter }, NewestLive> {
  return {
    document: NewestTrees,
    variables: () => ({ filter }),
    next: (known, { jobs: { jobs, goneIds } }) => {
      const trees = new Map(known?.trees);
      const gone = new Set(known?.gone);
      for (const id of goneIds) {
        trees.delete(id);
        gone.add(id);
      }
      for (const tree of jobs) {
        trees.set(tree.id, tree);
        gone.delete(tree.id);
      }
      return { trees, gone };
    },
  };
}
