import { createContextCache } from '@pothos/core';
import type { GraphQLResolveInfo } from 'graphql';
import { isUnscoped } from '../domain/access/rights.ts';
import { type Callback, readCallbacks } from '../domain/callbacks/deliveries.ts';
import {
  type ItemsRequest,
  type ResultsRequest,
  readItemKeys,
  readResultKeys,
  statusesOf,
} from '../domain/items/item-pages.ts';
import { readDeletions, type TreeDeletion } from '../domain/jobs/delete-job.ts';
import { type JobConditions, readJobIds } from '../domain/jobs/job-pages.ts';
import {
  itemProgress,
  type JobProgress as JobProgressState,
  readProgress,
  readTreeCounts,
  readTreeOutcomes,
  toRevision,
} from '../domain/jobs/progress.ts';
import { readRetentions, type TreeRetention } from '../domain/jobs/retention.ts';
import { checkInstant, checkName, isId } from '../domain/values/checks.ts';
import { type ItemKey, itemIdOf, parseItemId, parsePosition } from '../domain/values/ids.ts';
import {
  type CancelReason as CancelReasonName,
  type ItemStatus as ItemStatusName,
  pendingStatuses,
} from '../domain/values/item-state.ts';
import { maxCallbacks, maxNameLength } from '../domain/values/limits.ts';
import type { Range } from '../domain/values/range.ts';
import { InvalidInputError, NotFoundError } from '../errors.ts';
import type { Prisma } from '../generated/prisma/client.ts';
import { Assignment } from './assignment.ts';
import { builder } from './builder.ts';
import { CallbackDelivery } from './callbacks.ts';
import { Feed, loadFeed } from './feed.ts';
import { FileImport, fileImports } from './file-import.ts';
import { CallbackTrigger, SerializeOnFailure } from './inputs.ts';
import { ItemStatus, JobItem, loadItems } from './job-item.ts';
import { createGroupLoader, createLoader, groupBy } from './loader.ts';
import { type ListOrder, nodeQuery, pageSize, readPage } from './pages.ts';
import {
  CancelReason,
  JobOutcome,
  JobProgress,
  JobStatus,
  TreeProgress,
  type TreeState,
} from './progress.ts';
import { inScope, sees, seesTree, seesWhole, shownTypes } from './scope.ts';
import { selectedFields } from './selection.ts';
import type { Services } from './services.ts';

/** The jobs that mutations of this request have changed: their progress is shown only once it includes the change. */
export const changedJobs = createContextCache((_: Services) => new Set<string>());

const progresses = createLoader(async (jobIds: readonly string[], { engine }) => {
  const found = await readProgress(engine.database, jobIds);
  const byId = new Map(found.map((progress) => [progress.jobId, progress]));
  return jobIds.map(
    (id): JobProgressState | Error => byId.get(id) ?? new NotFoundError(`There is no job ${id}.`),
  );
});

/** Progress that was read together with the jobs of a list. */
const progressOfListed = new WeakMap<object, JobProgressState>();

function progressOf(job: ReadJob, context: Services): JobProgressState | Promise<JobProgressState> {
  return progressOfListed.get(job) ?? progresses(context).load(job.id);
}

/** A job as Prisma reads it, with the related jobs that an operation shows. */
interface ReadJob {
  readonly id: string;
  readonly root?: ReadJob | null;
  readonly parent?: ReadJob | null;
  readonly children?: readonly ReadJob[];
}

function withRelatives(job: ReadJob): ReadJob[] {
  const { root, parent, children = [] } = job;
  return [job, ...[root ?? [], parent ?? [], children].flat().flatMap(withRelatives)];
}

/** Fields that always exist for a job, but need a second read. */
const readLater = ['progress', 'items', 'root', 'parent', 'children'];

/**
 * The jobs of a list that still exist, with their progress if it is shown. Without this, a tree deleted after the first read
 * would turn the whole list into an error. A tree is deleted as a whole, so related jobs exist, too. `through`: the fields
 * between that of `info` and the jobs.
 */
export async function stillThere<Read extends ReadJob>(
  jobs: Read[],
  context: Services,
  info: GraphQLResolveInfo,
  through: readonly string[] = [],
): Promise<Read[]> {
  const shown = selectedFields(info, through);
  if (!readLater.some((field) => shown.has(field))) return jobs;
  const read = groupBy(jobs.flatMap(withRelatives), ({ id }) => id);
  const found = await progresses(context).loadMany([...read.keys()]);
  for (const progress of found) {
    if (progress instanceof NotFoundError) continue;
    if (progress instanceof Error) throw progress;
    for (const job of read.get(progress.jobId) ?? []) progressOfListed.set(job, progress);
  }
  return jobs.filter((job) => progressOfListed.has(job));
}

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

/** The jobs that others wait for, read together for the same fields of an operation. */
const dependencies = createGroupLoader(
  ({ info }: { ids: readonly string[]; query: Prisma.JobFindManyArgs; info: GraphQLResolveInfo }) =>
    info.fieldNodes,
  async (requests, { engine, caller }) => {
    const jobs = await engine.database.prisma.job.findMany({
      ...requests[0].query,
      where: { id: { in: requests.flatMap(({ ids }) => ids) }, ...inScope(caller) },
    });
    const byId = new Map(jobs.map((job) => [job.id, job]));
    return requests.map(({ ids }) => ids.flatMap((id) => byId.get(id) ?? []));
  },
);

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

const itemKeys = createGroupLoader(
  ({ statuses, range }: ItemsRequest & { statuses: readonly ItemStatusName[] }) =>
    `${statuses}/${range.backwards}`,
  (pages, { engine }) => readItemKeys(engine.database, pages[0].statuses, pages[0].range.backwards, pages),
);

const resultKeys = createGroupLoader(
  ({ range }: ResultsRequest) => range.backwards,
  (pages, { engine }) => readResultKeys(engine.database, pages[0].range.backwards, pages),
);

/** The jobs of whole trees, read together for the same fields of an operation. */
const trees = createGroupLoader(
  ({ info }: { rootId: string; query: Prisma.JobFindManyArgs; info: GraphQLResolveInfo }) => info.fieldNodes,
  async (requests, { engine, caller }) => {
    const jobs = await engine.database.prisma.job.findMany({
      ...requests[0].query,
      where: { rootId: { in: requests.map(({ rootId }) => rootId) }, ...inScope(caller) },
      orderBy: [{ depth: 'asc' }, { id: 'asc' }],
    });
    const byRoot = groupBy(jobs, ({ rootId }) => rootId);
    return requests.map(({ rootId }) => byRoot.get(rootId) ?? []);
  },
);

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
      resolve: async (query, { afterIds: ids }, _, context, info) =>
        ids.length === 0
          ? []
          : stillThere(await dependencies(context).load({ ids, query, info }), context, info),
    }),
    waitsForJobs: t.exposeBoolean('waits', {
      description: 'Whether it still waits for other jobs, so that no worker gets its items.',
    }),
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
    occurrence: t.field({
      type: JobOccurrence,
      nullable: true,
      description:
        'For the root of a tree that a schedule created: the schedule and the planned time; null for any other job.',
      select: { scheduleName: true, occurrenceAt: true },
      resolve: ({ scheduleName, occurrenceAt }) =>
        scheduleName === null || occurrenceAt === null ? null : { schedule: scheduleName, at: occurrenceAt },
    }),
    callbacks: t.field({
      type: [JobCallback],
      complexity: { multiplier: maxCallbacks },
      description: 'The endpoints that are called when its tree, or each job of it, is complete: up to 10.',
      select: { rootId: true },
      resolve: async ({ rootId }, _, context) =>
        (await seesWhole(context, rootId)) ? callbacks(context).load(rootId) : [],
    }),
    import: t.field({
      type: FileImport,
      nullable: true,
      description: 'The import of its file; null for a job that was created without one.',
      resolve: ({ id }, _, context) => fileImports(context).load(id),
    }),
    deletion: t.field({
      type: JobDeletion,
      nullable: true,
      description: 'The progress of the deletion of its tree; null unless the tree is being deleted.',
      select: { rootId: true },
      resolve: async ({ rootId }, _, context) =>
        (await seesWhole(context, rootId)) ? deletions(context).load(rootId) : null,
    }),
    items: t.connection(
      {
        seenBy: 'ITEMS',
        type: JobItem,
        complexity: (args) => ({ multiplier: pageSize(args) }),
        description:
          'Its items in the order in which they were added. If a page of items would exceed 64 MB (a setting of the server), it is refused with LIMIT_EXCEEDED; the message says how many fit.',
        args: {
          statuses: t.arg({
            type: [ItemStatus],
            description:
              'Only items with these statuses; an empty list is refused with INVALID_INPUT. Default: all.',
          }),
        },
        resolve: async (job, args, context, info) => {
          const statuses = statusesOf(args.statuses ?? null);
          const page = await readPage(
            byPosition,
            args,
            context,
            (range) => itemKeys(context).load({ jobId: job.id, statuses, range }),
            (keys) => loadItems(keys, context, info),
          );
          return { ...page, job, statuses };
        },
      },
      {
        name: 'JobItemConnection',
        description: 'A page of items.',
        fields: (t) => ({
          totalCount: t.field({
            seenBy: 'ITEMS',
            type: 'Count',
            nullable: true,
            description:
              'How many items with these statuses the job has, as counted by its progress, which is a moment behind. Pending items are counted together: null if `statuses` has some of their statuses but not all; `pendingItemCount` counts them separately.',
            resolve: async ({ job, statuses }, _, context) =>
              countOf(await progressOf(job, context), statuses),
          }),
        }),
      },
      { name: 'JobItemEdge', description: 'An item in a page.' },
    ),
    results: t.connection(
      {
        seenBy: 'RESULTS',
        type: JobItem,
        complexity: (args) => ({ multiplier: pageSize(args) }),
        description:
          'The successes of the final stages of its tree, by job and then in the order in which the items were added. If a page would exceed 64 MB (a setting of the server), it is refused with LIMIT_EXCEEDED; the message says how many fit.',
        resolve: async ({ rootId }, args, context, info) => {
          if (!(await seesTree(context, rootId)))
            throw new NotFoundError('Your scope does not have all of the tree.');
          return readPage(
            byJobAndPosition,
            args,
            context,
            (range) => resultKeys(context).load({ rootId, range }),
            (keys) => loadItems(keys, context, info),
          );
        },
      },
      { name: 'JobResultsConnection', description: 'A page of the results of a tree.' },
      { name: 'JobResultsEdge', description: 'An item in a page.' },
    ),
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

/** How many items have these statuses; null if the counters do not tell some of the pending ones apart. */
function countOf(progress: JobProgressState, statuses: readonly ItemStatusName[]): number | null {
  const pending = pendingStatuses.filter((status) => statuses.includes(status)).length;
  if (pending > 0 && pending < pendingStatuses.length) return null;
  const of = (status: ItemStatusName, count: number) => (statuses.includes(status) ? count : 0);
  return (
    (pending > 0 ? progress.itemCount - itemProgress(progress) : 0) +
    of('SUCCEEDED', progress.succeeded) +
    of('FAILED', progress.failed) +
    of('CANCELLED', progress.cancelled)
  );
}

const byPosition: ListOrder<ItemKey, number> = {
  name: 'items',
  keyOf: ({ position }) => String(position),
  parse: parsePosition,
};

const byJobAndPosition: ListOrder<ItemKey, ItemKey> = {
  name: 'results',
  keyOf: itemIdOf,
  parse: parseItemId,
};

const byId: ListOrder<{ id: string }, string> = {
  name: 'jobs',
  keyOf: ({ id }) => id,
  parse: (text) => (isId(text) ? text : undefined),
};

export const JobFilter = builder.inputType('JobFilter', {
  description: 'Which jobs to list; all conditions must be met.',
  fields: (t) => ({
    type: t.string({ description: 'Only jobs of this type: 1 to 200 characters.' }),
    status: t.field({ type: JobStatus, description: 'Only jobs with this status.' }),
    outcome: t.field({
      type: JobOutcome,
      description:
        'Only complete jobs with this outcome; with `wholeTrees`, only complete trees with this outcome.',
    }),
    schedule: t.string({
      description: 'Only trees that the schedule with this name created: 1 to 200 characters.',
    }),
    idleSince: t.field({
      type: 'DateTime',
      description:
        'Only roots of trees that have been idle since this time or longer: see `idleSince` of a job. Give the present time for all trees that are shown as idle.',
    }),
    wholeTrees: t.boolean({
      required: true,
      defaultValue: false,
      description:
        'Whether `status` and `outcome` are those of whole trees, given their roots: a tree is RUNNING from when its root is until all its jobs are complete, and its outcome is the worst outcome of its jobs. INVALID_INPUT without `rootsOnly`. Default: false.',
    }),
    rootsOnly: t.boolean({
      required: true,
      defaultValue: true,
      description: 'Only roots of trees. Default: true.',
    }),
  }),
});

const JobOrder = builder.enumType('JobOrder', {
  description: 'How a list of jobs is ordered.',
  values: {
    NEWEST_FIRST: { description: 'By creation, the latest first.' },
    OLDEST_FIRST: { description: 'By creation, the earliest first.' },
  } as const,
});

builder.queryField('jobs', (t) =>
  t.connection(
    {
      authScopes: { may: 'list' },
      type: Job,
      complexity: (args) => ({ multiplier: pageSize(args) }),
      description: 'A list of jobs.',
      args: {
        filter: t.arg({ type: JobFilter, description: 'Which jobs; roots by default.' }),
        order: t.arg({
          type: JobOrder,
          required: true,
          defaultValue: 'NEWEST_FIRST',
          description: 'In which order. Default: NEWEST_FIRST.',
        }),
      },
      resolve: async (_, args, context, info) => {
        const conditions = await toConditions(args.filter, context);
        const newestFirst = args.order !== 'OLDEST_FIRST';
        const { database } = context.engine;
        const read = async (range: Range<string>) => {
          // The ids are UUIDs of version 7, so their order is that of creation.
          const { after, before, backwards, take } = range;
          const inOrder = newestFirst ? { after: before, before: after, backwards: !backwards, take } : range;
          return (await readJobIds(database, conditions, inOrder)).map((id) => ({ id }));
        };
        return readPage(byId, args, context, read, (rows) => toJobs(rows, context, info));
      },
    },
    { name: 'JobConnection', description: 'A page of jobs.' },
    { name: 'JobEdge', description: 'A job in a page.' },
  ),
);

/** The jobs of a page, in its order. */
export async function toJobs(rows: readonly { id: string }[], context: Services, info: GraphQLResolveInfo) {
  const ids = rows.map(({ id }) => id);
  const jobs = await context.engine.database.prisma.job.findMany({
    ...nodeQuery<Prisma.JobInclude>('Job', context, info),
    where: { id: { in: ids } },
  });
  const jobsById = new Map(jobs.map((job) => [job.id, job]));
  const found = ids.flatMap((id) => jobsById.get(id) ?? []);
  return stillThere(found, context, info, ['nodes', 'edges', 'node']);
}

/** The conditions of a filter, limited to what the caller may see; roots if there is no filter. */
export async function toConditions(
  filter: typeof JobFilter.$inferInput | null | undefined,
  context: Services,
): Promise<JobConditions> {
  const type = filter?.type == null ? null : checkName(filter.type, 'filter.type', maxNameLength);
  if (filter?.wholeTrees === true && filter.rootsOnly === false)
    throw new InvalidInputError('filter.wholeTrees lists roots: omit rootsOnly.', 'filter.wholeTrees');
  const types = await shownTypes(context, type === null ? null : [type]);
  return {
    // One of the two is null; `types` is null unless there is a scope.
    type: isUnscoped(context.caller) ? type : types,
    status: filter?.status ?? null,
    outcome: filter?.outcome ?? null,
    schedule: filter?.schedule == null ? null : checkName(filter.schedule, 'filter.schedule', maxNameLength),
    idleSince: filter?.idleSince == null ? null : checkInstant(filter.idleSince, 'filter.idleSince'),
    rootsOnly: filter?.rootsOnly !== false,
    wholeTrees: filter?.wholeTrees === true,
  };
}
