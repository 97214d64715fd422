import type { CancelReason as CancelReasonName } from '../../domain/items/item-state.ts';
import { NotFoundError } from '../../errors.ts';
import { CallbackDelivery } from '../callbacks/callbacks.ts';
import { Assignment } from '../claims/assignment.ts';
import { builder } from '../core/builder.ts';
import { inScope, sees } from '../core/scope.ts';
import { Feed, loadFeed } from '../feeds/feed.ts';
import { FileImport, fileImports } from '../files/file-import.ts';
import { CancelReason, JobProgress } from '../progress/progress.ts';
import { SerializeOnFailure } from './inputs.ts';
import { changedJobs, loadJobs, progresses, progressOf, stillThere, trees } from './read-jobs.ts';

export const Job = builder.prismaNode('Job', {
  // `node` and `nodes` return null for one that does not exist.
  nullable: true,
  id: { field: 'id', seenBy: 'PROGRESS', description: 'The id of the job: `Job:` and a UUID.' },
  description:
    'A node of a tree of jobs: zero or more items of one type, and the policies for them. A job is complete when it is sealed and none of its items is pending.',
  fields: (t) => ({
    type: t.exposeString('type', {
      seenBy: 'PROGRESS',
      description: 'The kind of work of its items: the name by which workers claim them.',
    }),
    root: t.relation('root', {
      seenBy: 'PROGRESS',
      description: 'The root of its tree: the job itself for a root.',
      authScopes: ({ rootId }, _, context) => sees(context, rootId),
      unauthorizedResolver: (_, { id }) => {
        throw new NotFoundError(`There is no job ${id}.`);
      },
      // It is read after the job, when the tree may have been deleted.
      onNull: ({ id }) => new NotFoundError(`There is no job ${id}.`),
    }),
    parent: t.relation('parent', {
      seenBy: 'PROGRESS',
      nullable: true,
      description: 'The job above it; null for a root.',
      authScopes: ({ parentId }, _, context) => parentId === null || sees(context, parentId),
      unauthorizedResolver: () => null,
    }),
    children: t.relation('children', {
      seenBy: 'PROGRESS',
      description:
        'The jobs directly below it, in the order in which they were given: up to 999, as a tree has up to 1,000 jobs.',
      query: (_, { caller }) => ({ where: inScope(caller), orderBy: { id: 'asc' } }),
    }),
    tree: t.prismaField({
      seenBy: 'PROGRESS',
      type: ['Job'],
      description:
        'Every job of its tree, up to 1,000, the root first: level by level, each in the order in which the jobs were given.',
      select: { rootId: true },
      resolve: async (query, { rootId }, _, context, info) =>
        stillThere(await trees(context).load({ rootId, query, info }), context, info),
    }),
    depth: t.exposeInt('depth', { description: 'How many levels below the root: 0 to 32.' }),
    dedupeKey: t.exposeString('dedupeKey', {
      nullable: true,
      description: 'Unique among the jobs of its type: creating a job with the same key returns this one.',
    }),
    priority: t.exposeInt('priority', {
      description: 'The priority of items without their own: higher goes first.',
    }),
    runAt: t.expose('runAt', {
      type: 'DateTime',
      nullable: true,
      description: "Items without their own `runAt` can't be claimed before this time.",
    }),
    maxFailuresPerItem: t.exposeInt('maxFailuresPerItem', {
      description: 'An item that fails more often than this has failed for good.',
    }),
    backoffMs: t.exposeIntList('backoffMs', {
      description:
        'How long an item waits after its first, second … failure, in milliseconds; the last one repeats. Up to 100 steps.',
    }),
    backoffJitter: t.exposeFloat('backoffJitter', {
      description: 'Up to this share is added to each backoff, at random: 0 to 1.',
    }),
    heartbeatIntervalMs: t.exposeInt('heartbeatIntervalMs', {
      description:
        'How often a worker must send a heartbeat while it holds an item, in milliseconds; silence for three intervals is a failure.',
    }),
    toleratedFailureCount: t.exposeInt('toleratedFailureCount', {
      nullable: true,
      description: 'The job fails if more items than this fail for good; null if any number is tolerated.',
    }),
    toleratedFailurePercentage: t.exposeFloat('toleratedFailurePercentage', {
      nullable: true,
      description:
        'The job fails if more than this percentage of its items fail for good; null if any share is tolerated.',
    }),
    serializeOnFailure: t.field({
      type: SerializeOnFailure,
      select: { blocksOnFailure: true },
      description: 'What happens to the serialize key of an item that failed for good.',
      resolve: ({ blocksOnFailure }) => (blocksOnFailure ? 'BLOCK' : 'CONTINUE'),
    }),
    failedAt: t.expose('failedAt', {
      seenBy: 'PROGRESS',
      type: 'DateTime',
      nullable: true,
      description:
        'When more items had failed than it tolerates, or its file could not be read to its end: `import` says why.',
    }),
    after: t.prismaField({
      type: ['Job'],
      // A job rarely waits for as many as it may.
      complexity: { multiplier: 10 },
      description:
        'The jobs of its tree that it waits for, or waited for, up to 100, in the order in which the jobs of the tree were given.',
      select: { afterIds: true },
      resolve: (query, { afterIds }, _, context, info) => loadJobs(afterIds, query, context, info),
    }),
    waitsForJobs: t.exposeBoolean('waits', {
      description: 'Whether it still waits for other jobs, so that no worker gets its items.',
    }),
    finalStage: t.exposeBoolean('finalStage', {
      description: 'Whether its results are part of the results of the tree.',
    }),
    feed: t.field({
      type: Feed,
      nullable: true,
      // With up to 10 kB, a feed weighs as much as this many values.
      complexity: 40,
      description:
        'How successes of the parent become items of this job, as it was given; null if the parent does not feed it.',
      resolve: ({ id }, _, context) => loadFeed(id, context),
    }),
    createdAt: t.expose('createdAt', {
      seenBy: 'PROGRESS',
      type: 'DateTime',
      description: 'When the tree was created.',
    }),
    sealedAt: t.expose('sealedAt', {
      seenBy: 'PROGRESS',
      type: 'DateTime',
      nullable: true,
      description:
        'When it was sealed, so that no more items come: by a call, or because its parent, which feeds it, was complete.',
    }),
    cancelledAt: t.expose('cancelledAt', {
      seenBy: 'PROGRESS',
      type: 'DateTime',
      nullable: true,
      description:
        'When it was cancelled: on its own, with a job above it, because too many of its items failed, or because a job that it waited for did not succeed.',
    }),
    cancelReason: t.field({
      seenBy: 'PROGRESS',
      type: CancelReason,
      nullable: true,
      select: { cancelReason: true },
      description: 'Why it was cancelled; null if it was not.',
      resolve: ({ cancelReason }) => cancelReason as CancelReasonName | null,
    }),
    progress: t.field({
      seenBy: 'PROGRESS',
      type: JobProgress,
      description: 'Its progress. In the answer of a mutation, it includes what the mutation did.',
      select: { rootId: true },
      resolve: async (job, _, context) => {
        if (!changedJobs(context).has(job.id)) return progressOf(job, context);
        await context.folds.settled(job.rootId);
        return progresses(context).load(job.id);
      },
    }),
    import: t.field({
      type: FileImport,
      nullable: true,
      description: 'The import of its file; null for a job that was created without one.',
      resolve: ({ id }, _, context) => fileImports(context).load(id),
    }),
  }),
});

builder.objectField(Assignment, 'job', (t) =>
  t.prismaField({
    type: Job,
    authScopes: { may: 'read' },
    description: 'The job of the item.',
    resolve: async (query, { jobId }, _, { engine }) => {
      const job = await engine.database.prisma.job.findUnique({ ...query, where: { id: jobId } });
      if (job === null) throw new NotFoundError(`There is no job ${jobId}.`);
      return job;
    },
  }),
);

builder.objectField(CallbackDelivery, 'root', (t) =>
  t.prismaField({
    type: Job,
    nullable: true,
    authScopes: { may: 'read' },
    description: 'The root of the tree that it is about; null for an alert, and if the tree is gone.',
    resolve: async (query, { rootId }, _, context) =>
      rootId !== null && (await sees(context, rootId))
        ? context.engine.database.prisma.job.findUnique({ ...query, where: { id: rootId } })
        : null,
  }),
);
