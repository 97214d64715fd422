/** Subscriptions to lists: the whole list first, then what changes in it. */
import { type MarkedRow, readItemPage, readJobPage } from '../../domain/jobs/watched-pages.ts';
import { type Queue as QueueState, readQueues } from '../../domain/queues/queues.ts';
import { parseItemId } from '../../domain/values/ids.ts';
import { maxBatch } from '../../domain/values/limits.ts';
import type { PageChange } from '../../events/live-page.ts';
import { JobItem } from '../items/job-item.ts';
import { loadItems } from '../items/read-items.ts';
import { Job } from '../jobs/job.ts';
import { JobFilter, toConditions } from '../jobs/job-filter.ts';
import { stillThere } from '../jobs/read-jobs.ts';
import { checkTypes, Queue, typesDescription } from '../queues/queue.ts';
import { builder } from './builder.ts';
import { encodeGlobalId, keyOf } from './global-id.ts';
import { checkFirst, firstComplexity, firstDescription } from './pages.ts';
import { checkJob, shownTypes } from './scope.ts';
import { selectedFields } from './selection.ts';
import { checkInterval, found, intervalDescription, pageIntervalMs, rootOf, shared } from './subscription.ts';

const JobItemsChange = builder.objectRef<PageChange<MarkedRow>>('JobItemsChange').implement({
  description: 'Changes on a page of items.',
  fields: (t) => ({
    items: t.field({
      seenBy: 'ITEMS',
      type: [JobItem],
      description:
        'The items that are new on the page or have changed, up to 1,000, in the order in which they were added. LIMIT_EXCEEDED if they are too large for one answer, as for `items` of a job.',
      resolve: ({ changed }, _, context, info) =>
        loadItems(
          changed.flatMap(({ id }) => parseItemId(id) ?? []),
          context,
          info,
        ),
    }),
    goneIds: t.idList({
      seenBy: 'ITEMS',
      description: 'The ids of items that are no longer on the page: up to 2,000.',
      resolve: ({ gone }) => gone.map((id) => encodeGlobalId('JobItem', id)),
    }),
  }),
});

const JobsChange = builder.objectRef<PageChange<MarkedRow>>('JobsChange').implement({
  description: 'Changes in a list of jobs.',
  fields: (t) => ({
    jobs: t.prismaField({
      type: [Job],
      description: 'The jobs that are new in the list or have changed, up to 1,000, the newest first.',
      resolve: async (query, { changed }, _, context, info) => {
        const jobs = await context.engine.database.prisma.job.findMany({
          ...query,
          where: { id: { in: changed.map(({ id }) => id) } },
          orderBy: { id: 'desc' },
        });
        return stillThere(jobs, context, info);
      },
    }),
    goneIds: t.idList({
      description: 'The ids of jobs that are no longer in the list: up to 2,000.',
      resolve: ({ gone }) => gone.map((id) => encodeGlobalId('Job', id)),
    }),
  }),
});

/** Fields of a listed job that change with the other jobs of its tree. */
const ofTrees = ['treeProgress', 'tree', 'children'];

builder.subscriptionFields((t) => ({
  jobItems: t.field({
    seenBy: 'ITEMS',
    authScopes: { may: 'read' },
    ...shared,
    complexity: firstComplexity,
    type: JobItemsChange,
    description:
      'A page of items of a job: the whole page in the first event, then changes: added, claimed, failed, finished. Completes when the job is complete. NOT_FOUND if the job does not exist.',
    args: {
      jobId: t.arg.id({ required: true, description: 'The job.' }),
      failedOnly: t.arg.boolean({
        required: true,
        defaultValue: false,
        description: 'Only items that failed for good. Default: false.',
      }),
      first: t.arg.int({ required: true, defaultValue: 50, description: firstDescription }),
      intervalMs: t.arg.int({
        required: true,
        defaultValue: 500,
        description: intervalDescription(pageIntervalMs),
      }),
    },
    subscribe: async (_, args, services) => {
      const { hub, engine } = services;
      const jobId = keyOf('Job', args.jobId, 'jobId');
      const first = checkFirst(args);
      const everyMs = checkInterval(args.intervalMs, pageIntervalMs);
      await checkJob(services, jobId, 'jobId');
      const rootId = await rootOf(services, jobId, 'jobId');
      const page = { jobId, first, failedOnly: args.failedOnly };
      const read = () => readItemPage(engine.database, page);
      return found(await hub.watchPageOfTree(rootId, read, everyMs, engine), jobId, 'jobId');
    },
    resolve: (change) => change,
  }),
  jobs: t.field({
    authScopes: { may: 'list' },
    ...shared,
    complexity: firstComplexity,
    type: JobsChange,
    description:
      'The newest jobs that meet the conditions, of those that the first page of `jobs` looks at: all of them in the first event, then those that appear, change or leave. If `treeProgress`, `tree` or `children` is selected, a root also changes when any job of its tree does. It does not end.',
    args: {
      filter: t.arg({ type: JobFilter, description: 'Which jobs; roots by default.' }),
      first: t.arg.int({ required: true, defaultValue: 50, description: firstDescription }),
      intervalMs: t.arg.int({
        required: true,
        defaultValue: 500,
        description: intervalDescription(pageIntervalMs),
      }),
    },
    subscribe: async (_, { filter, first, intervalMs }, services, info) => {
      const { hub, engine } = services;
      const selected = selectedFields(info, ['jobs']);
      const withTrees = ofTrees.some((field) => selected.has(field));
      const everyMs = checkInterval(intervalMs, pageIntervalMs);
      const most = checkFirst({ first });
      await toConditions(filter, services);
      // By then, the scope may cover more types.
      const read = async () => {
        const conditions = await toConditions(filter, services);
        // What changes in jobs that the caller does not see is nothing to tell.
        const treeTypes = withTrees ? await shownTypes(services, null) : null;
        const page = { ...conditions, first: most, withTrees, treeTypes };
        return { rows: await readJobPage(engine.database, page), final: false };
      };
      return hub.watchPage(read, everyMs, engine);
    },
    resolve: (change) => change,
  }),
  queues: t.field({
    authScopes: { may: 'list' },
    ...shared,
    type: [Queue],
    description:
      'Types by name, those that have settings or waiting or running items, or were active in the last hour: now, and whenever anything but `oldestReadyMs`, `slow` and figures has changed. It does not end.',
    args: {
      types: t.arg.stringList({ description: typesDescription }),
      first: t.arg.int({
        required: true,
        defaultValue: maxBatch,
        description: 'The maximum number: 0 to 1,000. Default: 1,000.',
      }),
      intervalMs: t.arg.int({
        required: true,
        defaultValue: 500,
        description: intervalDescription(pageIntervalMs),
      }),
    },
    subscribe: (_, args, services) => {
      const { hub, engine } = services;
      const types = checkTypes(args.types);
      const take = checkFirst(args);
      const read = async () => ({
        rows: (await readQueues(engine, await shownTypes(services, types), { take })).map(marked),
        final: false,
      });
      return hub.watchPage(read, checkInterval(args.intervalMs, pageIntervalMs), engine);
    },
    resolve: ({ rows }) => rows.slice(),
  }),
}));

/** A mark that ignores passing time. */
function marked(queue: QueueState): QueueState & MarkedRow {
  return { ...queue, id: queue.type, mark: JSON.stringify({ ...queue, oldestReadyMs: null }) };
}
