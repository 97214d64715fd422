/** The items of a job, and the results of its tree, page by page. */
import {
  type ItemsRequest,
  type ResultsRequest,
  readItemKeys,
  readResultKeys,
  statusesOf,
} from '../../domain/items/item-pages.ts';
import { type ItemStatus as ItemStatusName, pendingStatuses } from '../../domain/items/item-state.ts';
import { itemProgress, type JobProgress as JobProgressState } from '../../domain/progress/progress.ts';
import { type ItemKey, itemIdOf, parseItemId, parsePosition } from '../../domain/values/ids.ts';
import { NotFoundError } from '../../errors.ts';
import { builder } from '../core/builder.ts';
import { createGroupLoader } from '../core/loader.ts';
import { type ListOrder, pageSize, readPage } from '../core/pages.ts';
import { seesTree } from '../core/scope.ts';
import { progressOf } from '../jobs/read-jobs.ts';
import { ItemStatus, JobItem } from './job-item.ts';
import { loadItems } from './read-items.ts';

const itemKeys = createGroupLoader(
  ({ statuses, range }: ItemsRequest & { statuses: readonly ItemStatusName[] }) =>
    `${statuses}/${range.backwards}`,
  (pages, { engine }) => readItemKeys(engine.database, pages[0].statuses, pages[0].range.backwards, pages),
);

const resultKeys = createGroupLoader(
  ({ range }: ResultsRequest) => range.backwards,
  (pages, { engine }) => readResultKeys(engine.database, pages[0].range.backwards, pages),
);

builder.prismaObjectFields('Job', (t) => ({
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
          resolve: async ({ job, statuses }, _, context) => countOf(await progressOf(job, context), statuses),
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
          (range) => resultKeys(context).load({ rootId, range }),
          (keys) => loadItems(keys, context, info),
        );
      },
    },
    { name: 'JobResultsConnection', description: 'A page of the results of a tree.' },
    { name: 'JobResultsEdge', description: 'An item in a page.' },
  ),
}));

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
