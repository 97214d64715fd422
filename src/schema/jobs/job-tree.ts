/** The fields of a job about its whole tree. Those that sum it up are empty for callers whose scope does not include all of it. */
import { type Callback, readCallbacks } from '../../domain/callbacks/deliveries.ts';
import { readTreeCounts, readTreeOutcomes, toRevision } from '../../domain/progress/progress.ts';
import { readDeletions, type TreeDeletion } from '../../domain/retention/delete-job.ts';
import { readRetentions, type TreeRetention } from '../../domain/retention/retention.ts';
import { maxCallbacks } from '../../domain/values/limits.ts';
import { NotFoundError } from '../../errors.ts';
import { builder } from '../core/builder.ts';
import { createLoader } from '../core/loader.ts';
import { seesWhole } from '../core/scope.ts';
import { JobOutcome } from '../progress/progress.ts';
import { TreeProgress, type TreeState } from '../progress/tree-progress.ts';
import { CallbackTrigger } from './inputs.ts';
import { changedJobs } from './read-jobs.ts';

const treeOutcomes = createLoader(async (rootIds: readonly string[], { engine }) => {
  const found = await readTreeOutcomes(engine.database, rootIds);
  return rootIds.map((id) => found.get(id) ?? null);
});

const treeCounts = createLoader(async (rootIds: readonly string[], { engine }) => {
  const found = await readTreeCounts(engine.database, rootIds);
  return rootIds.map((root): TreeState | null => {
    const tree = found.get(root);
    // Deleted meanwhile.
    if (tree === undefined) return null;
    const { outcome, ...counts } = tree;
    return { root, outcome, counts, revision: toRevision(counts.generations, counts.steps) };
  });
});

const deletions = createLoader(async (rootIds: readonly string[], { engine }) => {
  const found = await readDeletions(engine.database, rootIds);
  const byRoot = new Map(found.map((deletion) => [deletion.rootId, deletion]));
  return rootIds.map((id) => byRoot.get(id) ?? null);
});

/** The retention of a job's tree; an error if the tree was deleted after the job was read. */
const retentions = createLoader(async (rootIds: readonly string[], { engine }) => {
  const found = await readRetentions(engine.database, engine.retention, rootIds);
  const byRoot = new Map(found.map((retention) => [retention.rootId, retention]));
  return rootIds.map(
    (id): TreeRetention | Error => byRoot.get(id) ?? new NotFoundError(`There is no job ${id}.`),
  );
});

const callbacks = createLoader(async (rootIds: readonly string[], { engine }) => {
  const found = await readCallbacks(engine.database, rootIds);
  return rootIds.map((id) => found.get(id) ?? []);
});

const JobDeletion = builder.objectRef<TreeDeletion>('JobDeletion').implement({
  description: 'The progress of the deletion of a tree.',
  fields: (t) => ({
    requestedAt: t.expose('requestedAt', {
      type: 'DateTime',
      description: 'When it was requested, or started because the retention of the tree was over.',
    }),
    reaped: t.exposeBoolean('reaped', {
      description: 'Whether it is deleted because its retention is over. That is slower than deleteJob.',
    }),
    itemCount: t.expose('itemCount', { type: 'Count', description: 'How many items the tree had.' }),
    deletedItems: t.expose('deletedItems', {
      type: 'Count',
      description: 'How many items of the tree are deleted so far.',
    }),
  }),
});

const JobCallback = builder.objectRef<Callback>('JobCallback').implement({
  description: 'A callback of a tree.',
  fields: (t) => ({
    endpoint: t.exposeString('endpoint', { description: 'The name of the endpoint.' }),
    on: t.expose('on', { type: CallbackTrigger, description: 'When it is called.' }),
  }),
});

const JobOccurrence = builder.objectRef<{ schedule: string; at: Date }>('JobOccurrence').implement({
  description: 'The occurrence of a schedule that created a tree.',
  fields: (t) => ({
    schedule: t.exposeString('schedule', {
      description: 'The name of the schedule, which may have been changed or deleted since.',
    }),
    at: t.expose('at', {
      type: 'DateTime',
      description:
        'When the schedule was due, however late the tree was created. With runSchedule, when that was called.',
    }),
  }),
});

builder.prismaObjectFields('Job', (t) => ({
  treeOutcome: t.field({
    seenBy: 'PROGRESS',
    type: JobOutcome,
    nullable: true,
    description:
      'The outcome of its tree, which is the worst outcome of its jobs; null until all of them are complete. Fields about the whole tree are null for callers whose scope does not include all of it.',
    select: { rootId: true },
    resolve: async ({ rootId }, _, context) =>
      (await seesWhole(context, rootId)) ? treeOutcomes(context).load(rootId) : null,
  }),
  treeProgress: t.field({
    seenBy: 'PROGRESS',
    type: TreeProgress,
    nullable: true,
    // Adds up the jobs of the tree, of which there are rarely as many as possible.
    complexity: 300,
    description:
      'The progress of its whole tree, with one percentage. In the answer of a mutation, it includes what the mutation did. To follow changes, subscribe to `jobTreeProgress`. Null for callers whose scope does not include the whole tree, and of a tree that was deleted meanwhile.',
    select: { rootId: true },
    resolve: async ({ id, rootId }, _, context) => {
      if (!(await seesWhole(context, rootId))) return null;
      if (changedJobs(context).has(id)) await context.folds.settled(rootId);
      return treeCounts(context).load(rootId);
    },
  }),
  retentionSeconds: t.int({
    nullable: true,
    description:
      'How long its tree is kept once it is complete, in seconds; null for ever. Set on the tree, or else by the server.',
    select: { rootId: true },
    resolve: async ({ rootId }, _, context) => (await retentions(context).load(rootId)).retentionSeconds,
  }),
  reapAt: t.field({
    type: 'DateTime',
    nullable: true,
    description:
      'When its tree is reaped, that is, deleted because its retention is over. A large tree then takes a while, which `deletion` shows. Null while the tree is not complete, and if it is kept for ever.',
    select: { rootId: true },
    resolve: async ({ rootId }, _, context) =>
      (await seesWhole(context, rootId)) ? (await retentions(context).load(rootId)).reapAt : null,
  }),
  idleExpirySeconds: t.int({
    nullable: true,
    description:
      'The time after which its tree is cancelled if it is idle, in seconds; null for never. Set on the tree, or else by the server.',
    select: { rootId: true },
    resolve: async ({ rootId }, _, context) => (await retentions(context).load(rootId)).idleExpirySeconds,
  }),
  idleSince: t.field({
    type: 'DateTime',
    nullable: true,
    description:
      'Since when its tree has been idle: a job of it is not sealed, and the tree has no work left. Shown after a day (a setting of the server), or when it expires if that is earlier; null before that, and while the tree has work.',
    select: { rootId: true },
    resolve: async ({ rootId }, _, context) =>
      (await seesWhole(context, rootId)) ? (await retentions(context).load(rootId)).idleSince : null,
  }),
  callbacks: t.field({
    type: [JobCallback],
    complexity: { multiplier: maxCallbacks },
    description: 'The endpoints that are called when its tree, or each job of it, is complete: up to 10.',
    select: { rootId: true },
    resolve: async ({ rootId }, _, context) =>
      (await seesWhole(context, rootId)) ? callbacks(context).load(rootId) : [],
  }),
  deletion: t.field({
    type: JobDeletion,
    nullable: true,
    description: 'The progress of the deletion of its tree; null unless the tree is being deleted.',
    select: { rootId: true },
    resolve: async ({ rootId }, _, context) =>
      (await seesWhole(context, rootId)) ? deletions(context).load(rootId) : null,
  }),
  occurrence: t.field({
    type: JobOccurrence,
    nullable: true,
    description:
      'For the root of a tree that a schedule created: the schedule and the planned time; null for any other job.',
    select: { scheduleName: true, occurrenceAt: true },
    resolve: ({ scheduleName, occurrenceAt }) =>
      scheduleName === null || occurrenceAt === null ? null : { schedule: scheduleName, at: occurrenceAt },
  }),
}));
