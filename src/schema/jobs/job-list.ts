/** Lists of jobs, in which order, and how many there are. */
import type { GraphQLResolveInfo } from 'graphql';
import type { JobConditions } from '../../domain/jobs/job-conditions.ts';
import {
  type JobCount as CountState,
  countJobs,
  mostRanked,
  type Rank,
  type RankedJob,
  readJobIds,
  readRankedJobs,
} from '../../domain/jobs/job-pages.ts';
import { checkInteger, isId } from '../../domain/values/checks.ts';
import type { Range } from '../../domain/values/range.ts';
import { InvalidInputError } from '../../errors.ts';
import type { Prisma } from '../../generated/prisma/client.ts';
import { builder } from '../core/builder.ts';
import { limitExceeded } from '../core/limit-exceeded.ts';
import { createGroupLoader } from '../core/loader.ts';
import { type ListOrder, nodeQuery, pageSize, readPage } from '../core/pages.ts';
import type { Services } from '../core/services.ts';
import { Job } from './job.ts';
import { JobFilter, toConditions } from './job-filter.ts';
import { stillThere } from './read-jobs.ts';

const byRank =
  'The filter is about whole trees, then. INVALID_INPUT without `rootsOnly`; LIMIT_EXCEEDED if more than 10,000 trees would have to be compared.';
const JobOrder = builder.enumType('JobOrder', {
  description: 'How a list of jobs is ordered.',
  values: {
    NEWEST_FIRST: { description: 'By creation, the latest first.' },
    OLDEST_FIRST: { description: 'By creation, the earliest first.' },
    MOST_FAILURES_FIRST: {
      description: `Only trees with failures, by how many of their items failed. ${byRank}`,
    },
    LEAST_PROGRESS_FIRST: {
      description: `Only trees that are not complete, by which part of their items has an outcome. ${byRank}`,
    },
    MOST_PROGRESS_FIRST: { description: `The same, with those first that lack least. ${byRank}` },
  } as const,
});

const ranks: Partial<
  Record<typeof JobOrder.$inferType, { readonly by: Rank; readonly highestFirst: boolean }>
> = {
  MOST_FAILURES_FIRST: { by: 'FAILURES', highestFirst: true },
  LEAST_PROGRESS_FIRST: { by: 'PROGRESS', highestFirst: false },
  MOST_PROGRESS_FIRST: { by: 'PROGRESS', highestFirst: true },
};

const byId: ListOrder<{ id: string }, string> = {
  name: 'jobs',
  keyOf: ({ id }) => id,
  parse: (text) => (isId(text) ? text.toLowerCase() : undefined),
};

/** The order of a page: what its jobs have come to is known only once they are read. */
function byValue(rank: Rank, known: ReadonlyMap<string, number>): ListOrder<{ id: string }, RankedJob> {
  return {
    name: `jobs by ${rank}`,
    keyOf: ({ id }) => `${known.get(id)}/${id}`,
    parse: (text) => {
      const [value = '', id = ''] = text.split('/');
      return value !== '' && Number.isFinite(Number(value)) && isId(id)
        ? { value: Number(value), id: id.toLowerCase() }
        : undefined;
    },
  };
}

/** A range of the opposite order. */
const turned = <Key>({ after, before, backwards, take }: Range<Key>): Range<Key> => ({
  after: before,
  before: after,
  backwards: !backwards,
  take,
});

builder.queryField('jobs', (t) =>
  t.connection(
    {
      authScopes: { may: 'list' },
      type: Job,
      complexity: (args) => ({ multiplier: pageSize(args) }),
      description:
        'A list of jobs. For conditions that no index answers a page looks at 5,000 jobs; if they are too few it is shorter, or empty, and `pageInfo` leads on.',
      args: {
        filter: t.arg({ type: JobFilter, description: 'Which jobs; roots by default.' }),
        order: t.arg({
          type: JobOrder,
          required: true,
          defaultValue: 'NEWEST_FIRST',
          description: 'In which order. Default: NEWEST_FIRST.',
        }),
      },
      resolve: async (_, { order, filter, ...args }, context, info) => {
        const conditions = await toConditions(filter, context);
        const { database } = context.engine;
        const toNodes = (rows: readonly { id: string }[]) => toJobs(rows, context, info);
        const rank = ranks[order];
        if (rank !== undefined) {
          if (!conditions.rootsOnly)
            throw new InvalidInputError(`order ${order} lists trees: omit rootsOnly.`, 'order');
          const ofTrees = { ...conditions, wholeTrees: true };
          const known = new Map<string, number>();
          const read = async (range: Range<RankedJob>) => {
            const inOrder = rank.highestFirst ? turned(range) : range;
            const rows = await readRankedJobs(database, rank.by, ofTrees, inOrder);
            if (rows === undefined) throw tooMany();
            for (const { id, value } of rows) known.set(id, value);
            return rows;
          };
          return readPage(byValue(rank.by, known), args, read, toNodes);
        }
        const read = async (range: Range<string>) => {
          // The ids are UUIDs of version 7, so their order is that of creation.
          const page = await readJobIds(
            database,
            conditions,
            order === 'OLDEST_FIRST' ? range : turned(range),
          );
          const toRow = (id: string) => ({ id });
          return { rows: page.ids.map(toRow), end: page.end === null ? null : toRow(page.end) };
        };
        return readPage(byId, args, read, toNodes);
      },
    },
    { name: 'JobConnection', description: 'A page of jobs.' },
    { name: 'JobEdge', description: 'A job in a page.' },
  ),
);

const tooMany = () =>
  limitExceeded(
    'entries',
    'More trees than can be put in this order may match: narrow the filter, such as by `createdFrom`',
    mostRanked,
  );

const JobCountBucket = builder.objectRef<CountState['buckets'][number]>('JobCountBucket').implement({
  description: 'How many of the jobs were created in a period.',
  fields: (t) => ({
    from: t.expose('from', { type: 'DateTime', description: 'The start of the period.' }),
    until: t.expose('until', { type: 'DateTime', description: 'The end of the period, exclusive.' }),
    count: t.expose('count', { type: 'Count', description: 'How many.' }),
  }),
});

const JobCount = builder.objectRef<CountState>('JobCount').implement({
  description: 'How many jobs meet some conditions.',
  fields: (t) => ({
    count: t.expose('count', {
      type: 'Count',
      description: 'How many; at least so many if `since` is not null.',
    }),
    since: t.expose('since', {
      type: 'DateTime',
      nullable: true,
      description:
        'Null if all were counted. Otherwise there were too many to look at, and only those that were created at this time or later were counted.',
    }),
    buckets: t.expose('buckets', {
      type: [JobCountBucket],
      description:
        'How many were created when, in equal parts of the time from `createdFrom` to `createdUntil` or, without these, from the first to the last job of these types: up to 200, as many as were asked for.',
    }),
  }),
});

const mostBuckets = 200;

/** What is asked under many aliases is counted once. */
const counts = createGroupLoader(
  (asked: { conditions: JobConditions; buckets: number }) => JSON.stringify(asked),
  async (asked, { engine }) => {
    const [{ conditions, buckets }] = asked;
    const count = await countJobs(engine.database, conditions, buckets);
    return asked.map(() => count);
  },
);

builder.queryField('jobCount', (t) =>
  t.field({
    authScopes: { may: 'list' },
    type: JobCount,
    complexity: ({ buckets }) => ({ field: 1, multiplier: Math.min(Math.max(buckets, 1), mostBuckets) }),
    description:
      'How many jobs a list has, and when they were created. It looks at up to 250,000 jobs (or 25,000 of each type), the newest ones, and says if there are more. BUSY if that takes longer than 10 seconds.',
    args: {
      filter: t.arg({ type: JobFilter, description: 'Which jobs; roots by default.' }),
      buckets: t.arg.int({
        required: true,
        defaultValue: 0,
        description: 'Into how many periods to divide them by their creation: 0 to 200. Default: 0.',
      }),
    },
    resolve: async (_, { filter, buckets }, context) =>
      counts(context).load({
        conditions: await toConditions(filter, context),
        buckets: checkInteger(buckets, 'buckets', 0, mostBuckets),
      }),
  }),
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
