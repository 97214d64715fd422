import type { Prisma } from '../generated/prisma/client.ts';
import { builder } from './builder.ts';
import { ItemStatus, JobItem, whereStatus } from './job-item.ts';
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
      description: 'The jobs right below it, oldest first.',
      query: { orderBy: { id: 'asc' } },
    }),
    tree: t.prismaField({
      type: ['Job'],
      description: 'Every job of its tree, the root first.',
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
    items: t.relatedConnection(
      'items',
      {
        cursor: 'id',
        description:
          'Its items in the order in which they were added. `first` and `last`: 50 by default, 1,000 at most.',
        args: {
          status: t.arg({ type: ItemStatus, description: 'Only items of this status; all by default.' }),
        },
        query: ({ status }) => ({ where: whereStatus(status), orderBy: { position: 'asc' } }),
      },
      { name: 'JobItemConnection', description: 'A page of items.' },
      { name: 'JobItemEdge', description: 'An item in a page.' },
    ),
    results: t.prismaConnection(
      {
        type: JobItem,
        cursor: 'id',
        description:
          'The successes of the final stages of its tree, by job and then in the order in which the items were added. `first` and `last`: 50 by default, 1,000 at most.',
        resolve: async (query, { rootId }, _, { engine: { database } }) => {
          const stages = await database.prisma.job.findMany({
            where: { rootId, finalStage: true },
            select: { id: true },
          });
          return database.prisma.jobItem.findMany({
            ...query,
            where: { jobId: { in: stages.map(({ id }) => id) }, ...whereStatus('SUCCEEDED') },
            orderBy: [{ jobId: 'asc' }, { position: 'asc' }],
          });
        },
      },
      { name: 'JobResultsConnection', description: 'A page of the items that a tree results in.' },
      { name: 'JobResultsEdge', description: 'An item in a page.' },
    ),
  }),
});

export const JobFilter = builder.inputType('JobFilter', {
  description: 'Which jobs a list shows; all conditions hold together.',
  fields: (t) => ({
    type: t.string({ description: 'Only jobs of this type.' }),
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
  t.prismaConnection(
    {
      type: Job,
      cursor: 'id',
      description: 'A list of jobs. `first` and `last`: 50 by default, 1,000 at most.',
      args: {
        filter: t.arg({ type: JobFilter, description: 'Which jobs; roots by default.' }),
        order: t.arg({
          type: JobOrder,
          defaultValue: 'NEWEST_FIRST',
          description: 'In which order. Default: NEWEST_FIRST.',
        }),
      },
      resolve: (query, _, { filter, order }, { engine }) =>
        engine.database.prisma.job.findMany({
          ...query,
          where: whereJob(filter ?? { rootsOnly: true }),
          // The ids are UUIDs of version 7: their order is that of creation.
          orderBy: { id: order === 'OLDEST_FIRST' ? 'asc' : 'desc' },
        }),
    },
    { name: 'JobConnection', description: 'A page of jobs.' },
    { name: 'JobEdge', description: 'A job in a page.' },
  ),
);

function whereJob(filter: typeof JobFilter.$inferInput): Prisma.JobWhereInput {
  return {
    ...(filter.type == null ? {} : { type: filter.type }),
    ...(filter.rootsOnly === false ? {} : { parentId: null }),
    ...(filter.status == null ? {} : { progress: { is: progressWhere[filter.status] } }),
  };
}

const progressWhere: Record<typeof JobStatus.$inferType, Prisma.JobProgressWhereInput> = {
  WAITING: { startedAt: null, completedAt: null },
  RUNNING: { startedAt: { not: null }, completedAt: null },
  COMPLETED: { completedAt: { not: null } },
};
