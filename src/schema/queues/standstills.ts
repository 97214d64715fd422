/** Why something is not running: a field of jobs, trees, types and items. */

import { isUnscoped } from '../../domain/access/rights.ts';
import { coveredJobs } from '../../domain/access/scoped-reads.ts';
import type { Item } from '../../domain/items/read-items.ts';
import { type JobStanding, readJobStandings } from '../../domain/jobs/job-standings.ts';
import type { Queue as QueueState } from '../../domain/queues/queues.ts';
import type { Sight, Standstill as StandstillState } from '../../domain/queues/standstill.ts';
import {
  itemStandstills,
  jobStandstills,
  mostReasons,
  queueStandstills,
} from '../../domain/queues/standstills.ts';
import { builder } from '../core/builder.ts';
import { createLoader, groupBy } from '../core/loader.ts';
import { seesWhole } from '../core/scope.ts';
import type { Services } from '../core/services.ts';
import { itemOrNull, JobItem } from '../items/job-item.ts';
import { loadJobs } from '../jobs/read-jobs.ts';
import { CancelReason } from '../progress/progress.ts';
import { Queue } from './queue.ts';
import { standstillMessage } from './standstill-message.ts';

const Reason = builder.enumType('StandstillReason', {
  description: 'What keeps items from being worked on.',
  values: {
    PAUSED: { description: 'Their type is paused: resume it with `setQueue`.' },
    NO_WORKER: {
      description:
        'No worker that handles their type is connected, and none holds items of it. `since` says in which minute something was last done of the type.',
    },
    KEY_HELD: {
      description:
        'They wait for their serialize key, which `head` keeps, because it failed for good in a job with `serializeOnFailure: BLOCK`: replay or discard it.',
    },
    RATE_LIMIT: { description: 'The rate of their type is used up, until `until`.' },
    CONCURRENCY_LIMIT: {
      description: 'Workers hold as many items of their type as its `concurrency` allows: `limit`.',
    },
    WORKERS_BUSY: { description: 'Workers hold as many items of their type as they run at once.' },
    QUEUED: {
      description:
        'They are ready, and a worker takes them in their turn. The only reason for ready items that callers get who may not list types.',
    },
    BLOCKED: { description: 'They wait for their serialize key, which `head` has.' },
    RETRYING: { description: 'They failed with `code`, and are tried again at `until`.' },
    SCHEDULED: { description: 'They are scheduled for `until`, or snoozed until then.' },
    IMPORTING: {
      description:
        'The file of the job is being read; with `since`, its object store has been unavailable since then.',
    },
    NOT_SEALED: { description: 'The job has nothing to do, and is not sealed: more items may come.' },
    WAITS_FOR_JOBS: { description: 'Their job waits for the jobs in `waitsFor`.' },
    WAITS_FOR_PARENT: {
      description: 'The items of the job come from its parent, `waitsFor`, which is not complete.',
    },
    FAILED: { description: 'It has failed for good, an item with `code`: an item can be replayed.' },
    CANCELLED: { description: 'It was cancelled, a job for `cancelReason`.' },
    COMPLETE: { description: 'It is complete, or an item has succeeded: nothing is left to do.' },
  } as const,
});

const Standstill = builder.objectRef<StandstillState>('Standstill').implement({
  description:
    'One reason why items are not running. The fields that do not belong to its reason are null, or empty.',
  fields: (t) => ({
    reason: t.expose('reason', { type: Reason, description: 'The reason.' }),
    message: t.string({ description: 'The reason in one English sentence.', resolve: standstillMessage }),
    type: t.exposeString('type', { description: 'The type of the items.' }),
    itemCount: t.expose('itemCount', {
      type: 'Count',
      description: 'How many items it is true of: 0 if it is true of a job that has no such items.',
    }),
    hasMore: t.exposeBoolean('hasMore', {
      description:
        'Whether there may be more items than `itemCount`: about 10,000 ranges of items are counted for each reason, and a range has 1 to 128 items.',
    }),
    job: t.prismaField({
      type: 'Job',
      nullable: true,
      description: 'A job that it is true of; null for a type.',
      resolve: async (query, { jobId }, _, context, info) =>
        (await loadJobs(jobId === null ? [] : [jobId], query, context, info))[0] ?? null,
    }),
    item: t.field({
      type: JobItem,
      nullable: true,
      description: 'One of the items; null for a type, and for a job that has no such items.',
      resolve: ({ item }, _, context) => item && itemOrNull(item, context),
    }),
    serializeKey: t.exposeString('serializeKey', {
      nullable: true,
      description: 'The serialize key that `item` waits for.',
    }),
    head: t.field({
      type: JobItem,
      nullable: true,
      description: 'The item that has this key. Null if your scope does not include it.',
      resolve: ({ head }, _, context) => head && itemOrNull(head, context),
    }),
    waitsFor: t.prismaField({
      type: ['Job'],
      complexity: { multiplier: 10 },
      description: 'The jobs that are waited for, and are not complete: up to 100, those in your scope.',
      resolve: (query, { waitsFor }, _, context, info) =>
        loadJobs(
          waitsFor.map(({ id }) => id),
          query,
          context,
          info,
        ),
    }),
    until: t.expose('until', {
      type: 'DateTime',
      nullable: true,
      description: 'When it ends by itself, for the first of the items; null if that is not known.',
    }),
    since: t.expose('since', {
      type: 'DateTime',
      nullable: true,
      description: 'Since when it is so, as far as that is known.',
    }),
    limit: t.exposeInt('limit', { nullable: true, description: 'The limit that is reached.' }),
    code: t.exposeString('code', { nullable: true, description: 'The code of the last failure of `item`.' }),
    cancelReason: t.expose('cancelReason', {
      type: CancelReason,
      nullable: true,
      description: 'Why the job was cancelled; null if it was not.',
    }),
  }),
});

function sightOf({ caller, engine }: Services): Sight {
  return {
    seesTypes: caller.permissions.has('list'),
    covered: async (ids) =>
      isUnscoped(caller) || ids.length === 0 ? new Set(ids) : coveredJobs(engine.database, caller, ids),
  };
}

const ofItems = createLoader((items: readonly Item[], context) =>
  itemStandstills(context.engine, sightOf(context), items),
);
const ofQueues = createLoader((queues: readonly QueueState[], context) =>
  queueStandstills(context.engine, sightOf(context), queues),
);
const ofJobs = createLoader(async (ids: readonly string[], context) => {
  const jobs = await readJobStandings(context.engine.database, { ids });
  return grouped(
    ids,
    groupBy(jobs, ({ id }) => id),
    context,
  );
});
const ofTrees = createLoader(async (rootIds: readonly string[], context) => {
  const jobs = await readJobStandings(context.engine.database, { rootIds });
  return grouped(
    rootIds,
    groupBy(jobs, ({ rootId }) => rootId),
    context,
  );
});

/** None for what was deleted meanwhile. */
const grouped = (ids: readonly string[], groups: ReadonlyMap<string, JobStanding[]>, context: Services) =>
  jobStandstills(
    context.engine,
    sightOf(context),
    ids.map((id) => groups.get(id) ?? []),
  );

const upTo = `up to ${mostReasons}, the one that most needs somebody to do something first`;
/** There are rarely more than a few. */
const complexity = { field: 10, multiplier: 3 };

builder.objectField(JobItem, 'standstills', (t) =>
  t.field({
    type: [Standstill],
    complexity,
    description: `Why it is not running: ${upTo}. Empty while it is.`,
    resolve: (item, _, context) => ofItems(context).load(item),
  }),
);

builder.objectField(Queue, 'standstills', (t) =>
  t.field({
    type: [Standstill],
    complexity,
    description: `Why pending items of the type are not running: ${upTo}. Empty if none is pending that does not run.`,
    resolve: (queue, _, context) => ofQueues(context).load(queue),
  }),
);

builder.prismaObjectFields('Job', (t) => ({
  standstills: t.field({
    type: [Standstill],
    complexity,
    description: `Why its pending items are not running, or why it is not complete: ${upTo}. Empty while all of them are.`,
    resolve: ({ id }, _, context) => ofJobs(context).load(id),
  }),
  treeStandstills: t.field({
    type: [Standstill],
    nullable: true,
    // Looks at all jobs of the tree.
    complexity: { field: 300, multiplier: 10 },
    description: `The same for its whole tree, added up by reason and type: ${upTo}. Null for callers whose scope does not include the whole tree.`,
    select: { rootId: true },
    resolve: async ({ rootId }, _, context) =>
      (await seesWhole(context, rootId)) ? ofTrees(context).load(rootId) : null,
  }),
}));
