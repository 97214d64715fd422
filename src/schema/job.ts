import { checkText, isId } from '../domain/checks.ts';
import { maxNameLength, maxTreeJobs } from '../domain/limits.ts';
import type { Job as JobRow, Prisma } from '../generated/prisma/client.ts';
import { builder } from './builder.ts';
import { type ItemKey, ItemStatus, itemKey, JobItem, readItems, whereStatus } from './job-item.ts';
import { type ListOrder, nodeQuery, pageSize, type Range, readPage } from './pages.ts';
import { JobProgress, JobStatus } from './progress.ts';

export const Job = builder.prismaNode('Job', {
  id: { field: 'id', description: 'The id of the job: `Job:` and a UUID.' },
  description:
    'A node of a tree of jobs: zero or more items of one type, and the policies for them. A job is complete when it is sealed and none of its items is pending.',
  fields: (t) => ({
    type: t.exposeString('type', {
      description: 'What kind of work its items are: the name that workers claim by.',
    }),
    root: t.relation('root', { description: 'The root of its tree: the job itself for a root.' }),
    parent: t.relation('parent', { nullable: true, description: 'The job above it; null for a root.' }),
    children: t.relation('children', {
      // Rarely as many as a tree can have, and of all children together no more than that.
      complexity: { multiplier: 300 },
      description: 'The jobs right below it, in the order in which they were given.',
      query: { orderBy: { id: 'asc' } },
    }),
    tree: t.prismaField({
      type: ['Job'],
      complexity: { multiplier: maxTreeJobs },
      description:
        'Every job of its tree, the root first: level by level, each in the order in which the jobs were given.',
      select: { rootId: true },
      resolve: (query, job, _, { engine }) =>
        engine.database.prisma.job.findMany({
          ...query,
          where: { rootId: job.rootId },
          orderBy: [{ depth: 'asc' }, { id: 'asc' }],
        }),
    }),
    depth: t.exposeInt('depth', { description: 'How many levels below the root: 0 to 32.' }),
    dedupeKey: t.exposeString('dedupeKey', {
      nullable: true,
      description: 'Unique among the jobs of its type: a second creation with it gives this job.',
    }),
    priority: t.exposeInt('priority', {
      description: 'The priority of items that name none: higher goes first.',
    }),
    runAt: t.expose('runAt', {
      type: 'DateTime',
      nullable: true,
      description: 'Items that name no `runAt` are not claimed before this.',
    }),
    maxFailuresPerItem: t.exposeInt('maxFailuresPerItem', {
      description: 'An item that fails more often than this has failed for good.',
    }),
    backoffMs: t.exposeIntList('backoffMs', {
      description:
        'How long an item waits after its first, second … failure, in milliseconds; the last one repeats.',
    }),
    backoffJitter: t.exposeFloat('backoffJitter', {
      description: 'Up to this share is added to each backoff, at random: 0 to 1.',
    }),
    heartbeatIntervalMs: t.exposeInt('heartbeatIntervalMs', {
      description:
        'How often a worker is to heartbeat while it holds an item, in milliseconds; silence for three intervals is a failure.',
    }),
    finalStage: t.exposeBoolean('finalStage', {
      description: 'Whether its results are among the results of the tree.',
    }),
    feed: t.expose('feed', {
      type: 'JSON',
      nullable: true,
      description:
        'How successes of the parent become items here, as it was given; null if the parent does not feed it.',
    }),
    createdAt: t.expose('createdAt', { type: 'DateTime', description: 'When the tree was created.' }),
    sealedAt: t.expose('sealedAt', {
      type: 'DateTime',
      nullable: true,
      description:
        'Since when no more items come: sealed by hand, or because its parent, which feeds it, was complete.',
    }),
    cancelledAt: t.expose('cancelledAt', {
      type: 'DateTime',
      nullable: true,
      description: 'When it was cancelled, itself or with a job above it.',
    }),
    progress: t.field({
      type: JobProgress,
      description: 'How far it is. In the answer of a mutation it counts what the mutation did.',
      select: { progress: true },
      resolve: ({ id, sealedAt, progress }) => {
        if (progress === null) throw new Error(`Job ${id} has no progress.`);
        return {
          jobId: id,
          itemCount: Number(progress.itemCount),
          succeeded: Number(progress.succeeded),
          failed: Number(progress.failed),
          cancelled: Number(progress.cancelled),
          sealed: sealedAt !== null,
          startedAt: progress.startedAt?.getTime() ?? null,
          completedAt: progress.completedAt?.getTime() ?? null,
        };
      },
    }),
    items: t.connection(
      {
        type: JobItem,
        complexity: (args) => ({ multiplier: pageSize(args) }),
        description:
          'Its items in the order in which they were added. `first` and `last`: 50 by default, 1,000 at most. Fewer if they are large: beyond 64 MB (a setting of the server) in an answer it is refused with LIMIT_EXCEEDED, and says how many fit.',
        args: {
          status: t.arg({ type: ItemStatus, description: 'Only items of this status; all by default.' }),
        },
        resolve: ({ id }, args, context, info) =>
          readPage(
            byPosition,
            args,
            (range) =>
              context.engine.database.prisma.jobItem.findMany({
                select: itemKey,
                where: { jobId: id, position: between(range), ...whereStatus(args.status) },
                orderBy: { position: range.backwards ? 'desc' : 'asc' },
                take: range.take,
              }),
            (keys) => readItems(keys, context, info),
          ),
      },
      { name: 'JobItemConnection', description: 'A page of items.' },
      { name: 'JobItemEdge', description: 'An item in a page.' },
    ),
    results: t.connection(
      {
        type: JobItem,
        complexity: (args) => ({ multiplier: pageSize(args) }),
        description:
          'The successes of the final stages of its tree, by job and then in the order in which the items were added. `first` and `last`: 50 by default, 1,000 at most. Fewer if they are large: beyond 64 MB (a setting of the server) in an answer it is refused with LIMIT_EXCEEDED, and says how many fit.',
        resolve: async ({ rootId }, args, context, info) => {
          const { prisma } = context.engine.database;
          const stages = await prisma.job.findMany({
            where: { rootId, finalStage: true },
            select: { id: true },
          });
          const stageIds = stages.map(({ id }) => id);
          const readKeys = async (range: Range<ResultKey>) => {
            const direction = range.backwards ? 'desc' : 'asc';
            const keys: ItemKey[] = [];
            // One after the other, so that each is read by the index over job and position.
            for (const part of partsOf(range, stageIds)) {
              if (keys.length === range.take) break;
              const more = await prisma.jobItem.findMany({
                select: itemKey,
                where: { ...part, ...whereStatus('SUCCEEDED') },
                orderBy: [{ jobId: direction }, { position: direction }],
                take: range.take - keys.length,
              });
              keys.push(...more);
            }
            return keys;
          };
          return readPage(byJobAndPosition, args, readKeys, (keys) => readItems(keys, context, info));
        },
      },
      { name: 'JobResultsConnection', description: 'A page of the items that a tree results in.' },
      { name: 'JobResultsEdge', description: 'An item in a page.' },
    ),
  }),
});

const byPosition: ListOrder<ItemKey, bigint> = {
  name: 'items',
  keyOf: ({ position }) => String(position),
  parse: parsePosition,
};

interface ResultKey {
  readonly jobId: string;
  readonly position: bigint;
}

const byJobAndPosition: ListOrder<ItemKey, ResultKey> = {
  name: 'results',
  keyOf: ({ jobId, position }) => `${jobId}:${position}`,
  parse: (text) => {
    const [jobId = '', digits = ''] = text.split(':', 2);
    const position = parsePosition(digits);
    return isId(jobId) && position !== undefined ? { jobId: jobId.toLowerCase(), position } : undefined;
  },
};

const byId: ListOrder<JobRow, string> = {
  name: 'jobs',
  keyOf: ({ id }) => id,
  parse: (text) => (isId(text) ? text : undefined),
};

function parsePosition(text: string): bigint | undefined {
  if (!/^\d{1,18}$/.test(text)) return undefined;
  return BigInt(text);
}

function between<Key>({ after, before }: Range<Key>): { gt?: Key; lt?: Key } {
  return { ...(after === undefined ? {} : { gt: after }), ...(before === undefined ? {} : { lt: before }) };
}

/** The rows of these jobs between two keys: of the jobs that the keys name, and of those between. In their order. */
function partsOf(range: Range<ResultKey>, jobs: readonly string[]): Prisma.JobItemWhereInput[] {
  const { after, before, backwards } = range;
  const inside = jobs.filter(
    (id) => (after === undefined || id > after.jobId) && (before === undefined || id < before.jobId),
  );
  const parts: Prisma.JobItemWhereInput[] = [];
  const edge = (jobId: string, position: { gt?: bigint; lt?: bigint }) => {
    if (jobs.includes(jobId)) parts.push({ jobId, position });
  };
  if (after !== undefined && after.jobId === before?.jobId) {
    edge(after.jobId, { gt: after.position, lt: before.position });
  } else {
    if (after !== undefined) edge(after.jobId, { gt: after.position });
    if (inside.length > 0) parts.push({ jobId: { in: inside } });
    if (before !== undefined) edge(before.jobId, { lt: before.position });
  }
  return backwards ? parts.reverse() : parts;
}

export const JobFilter = builder.inputType('JobFilter', {
  description: 'Which jobs a list shows; all conditions hold together.',
  fields: (t) => ({
    type: t.string({ description: 'Only jobs of this type: 1 to 200 characters.' }),
    status: t.field({ type: JobStatus, description: 'Only jobs of this status.' }),
    rootsOnly: t.boolean({
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
      type: Job,
      complexity: (args) => ({ multiplier: pageSize(args) }),
      description: 'A list of jobs. `first` and `last`: 50 by default, 1,000 at most.',
      args: {
        filter: t.arg({ type: JobFilter, description: 'Which jobs; roots by default.' }),
        order: t.arg({
          type: JobOrder,
          defaultValue: 'NEWEST_FIRST',
          description: 'In which order. Default: NEWEST_FIRST.',
        }),
      },
      resolve: (_, args, context, info) => {
        const where = whereJob(args.filter ?? { rootsOnly: true });
        const ascending = args.order === 'OLDEST_FIRST';
        const read = (range: Range<string>) =>
          context.engine.database.prisma.job.findMany({
            ...nodeQuery<Prisma.JobInclude>('Job', context, info),
            // The ids are UUIDs of version 7: their order is that of creation.
            where: {
              ...where,
              id: between(ascending ? range : { ...range, after: range.before, before: range.after }),
            },
            orderBy: { id: ascending === range.backwards ? 'desc' : 'asc' },
            take: range.take,
          });
        return readPage(byId, args, read, (jobs) => jobs);
      },
    },
    { name: 'JobConnection', description: 'A page of jobs.' },
    { name: 'JobEdge', description: 'A job in a page.' },
  ),
);

function whereJob(filter: typeof JobFilter.$inferInput): Prisma.JobWhereInput {
  return {
    ...(filter.type == null ? {} : { type: checkText(filter.type, 'filter.type', maxNameLength) }),
    ...(filter.rootsOnly === false ? {} : { parentId: null }),
    ...(filter.status == null ? {} : { progress: { is: progressWhere[filter.status] } }),
  };
}

const progressWhere: Record<typeof JobStatus.$inferType, Prisma.JobProgressWhereInput> = {
  WAITING: { startedAt: null, completedAt: null },
  RUNNING: { startedAt: { not: null }, completedAt: null },
  COMPLETED: { completedAt: { not: null } },
};
