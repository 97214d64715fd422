import type { JobOutcome as JobOutcomeName } from '../../domain/items/item-state.ts';
import {
  itemProgress,
  type TreeCounts,
  treeMessage,
  treePercent,
  treeStage,
} from '../../domain/progress/progress.ts';
import type { ProgressEvent } from '../../events/live-progress.ts';
import { builder } from '../core/builder.ts';
import { encodeGlobalId } from '../core/global-id.ts';
import { JobOutcome, JobProgress } from './progress.ts';

/** The progress of a whole tree, read or received as an event. */
export interface TreeState {
  readonly root: string;
  readonly revision: string;
  readonly outcome: JobOutcomeName | null;
  readonly counts: TreeCounts;
}

type TreeFields = PothosSchemaTypes.ObjectFieldBuilder<typeof builder.$inferSchemaTypes, TreeState>;

function treeFields(t: TreeFields) {
  return {
    rootId: t.id({
      seenBy: 'PROGRESS',
      description: 'The root of the tree.',
      resolve: ({ root }) => encodeGlobalId('Job', root),
    }),
    root: t.prismaField({
      seenBy: 'PROGRESS',
      type: 'Job',
      nullable: true,
      authScopes: { may: 'read' },
      description: 'The root of the tree; null if the tree was deleted meanwhile.',
      resolve: (query, { root }, _, { engine }) =>
        engine.database.prisma.job.findUnique({ ...query, where: { id: root } }),
    }),
    revision: t.exposeString('revision', {
      seenBy: 'PROGRESS',
      description:
        'Grows with every change of any job of the tree, compared as text: pass it as `sinceRevision` to `jobTreeProgress` to continue from here.',
    }),
    stage: t.int({
      seenBy: 'PROGRESS',
      description:
        'The stage that the tree has reached, from 1 to `stageCount`. Each job is a stage, reached when no more items come to it: a fed one when its parent is complete. It says how far a tree is whose `percent` is still null, and never goes back, unless a replay of dead letters reopens the tree.',
      resolve: ({ counts }) => treeStage(counts),
    }),
    stageCount: t.int({
      seenBy: 'PROGRESS',
      description: 'How many stages the tree has: its jobs.',
      resolve: ({ counts }) => counts.jobs,
    }),
    message: t.string({
      seenBy: 'PROGRESS',
      description:
        'The progress for people: `Tree running, stage 1 of 3, 12 of 40 items so far…` while `percent` is null, then `Tree running, 55% complete…`, and at the end `Tree complete`, `Tree complete with failures`, `Tree failed` or `Tree cancelled`.',
      resolve: ({ counts, outcome }) => treeMessage(counts, outcome),
    }),
    complete: t.boolean({
      seenBy: 'PROGRESS',
      description: 'Whether every job of the tree is complete.',
      resolve: ({ counts }) => counts.openJobs === 0,
    }),
    outcome: t.expose('outcome', {
      seenBy: 'PROGRESS',
      type: JobOutcome,
      nullable: true,
      description:
        'The outcome of the tree, which is the worst outcome of its jobs; null until all of them are complete.',
    }),
    percent: t.int({
      seenBy: 'PROGRESS',
      nullable: true,
      description:
        'The share of all items of the tree that are finished, from 0 to 100, rounded down; 100 only when the tree is complete. Null while any of its jobs is unsealed, since the share would go back as items are added (a fed job is sealed when its parent is complete); show `itemProgress` of `itemCount` until then. It never goes back, unless a replay of dead letters reopens the tree.',
      resolve: ({ counts }) => treePercent(counts),
    }),
    ...countFields(t),
  };
}

function countFields(t: TreeFields) {
  const sum = (name: 'itemCount' | 'succeeded' | 'failed' | 'cancelled', description: string) =>
    t.field({ seenBy: 'PROGRESS', type: 'Count', description, resolve: ({ counts }) => counts[name] });
  return {
    openJobs: t.int({
      seenBy: 'PROGRESS',
      description: 'How many jobs of the tree are not complete.',
      resolve: ({ counts }) => counts.openJobs,
    }),
    unsealedJobs: t.int({
      seenBy: 'PROGRESS',
      description: 'How many jobs of the tree may get more items. `percent` is null until there are none.',
      resolve: ({ counts }) => counts.unsealedJobs,
    }),
    itemCount: sum(
      'itemCount',
      'How many items the jobs of the tree have; final once all of them are sealed.',
    ),
    itemProgress: t.field({
      seenBy: 'PROGRESS',
      type: 'Count',
      description: 'How many items of the tree are finished: succeeded, failed and cancelled ones.',
      resolve: ({ counts }) => itemProgress(counts),
    }),
    succeeded: sum('succeeded', 'How many items of the tree have a result.'),
    failed: sum('failed', 'How many items of the tree failed for good, and were not replayed.'),
    cancelled: sum('cancelled', 'How many items of the tree were cancelled.'),
  };
}

export const TreeProgress = builder.objectRef<TreeState>('TreeProgress').implement({
  description: 'The progress of a whole tree, summed up over its jobs.',
  fields: treeFields,
});

export const JobTreeProgress = builder.objectRef<ProgressEvent>('JobTreeProgress').implement({
  description:
    'The progress of a tree, summed up over its jobs; also all its jobs in the first event of a subscription, and the changed ones in later events.',
  fields: (t) => ({
    ...treeFields(t as unknown as TreeFields),
    jobs: t.expose('jobs', {
      seenBy: 'PROGRESS',
      type: [JobProgress],
      // Later events have those that changed.
      complexity: { multiplier: 10 },
      description: 'The progress of each job, of up to 1,000.',
    }),
  }),
});
