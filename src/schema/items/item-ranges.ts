/** Jobs as pictures of their items: ranges of statuses, and what is still to be done. */
import {
  type ItemRange as ItemRangeState,
  type ItemRanges as ItemRangesState,
  mostRanges,
  readItemRanges,
} from '../../domain/items/item-ranges.ts';
import type { ItemStatus as ItemStatusName } from '../../domain/items/item-state.ts';
import {
  type PendingCounts as PendingCountsState,
  readPendingCounts,
  secondsLeft,
} from '../../domain/jobs/pending-counts.ts';
import { type ItemKey, itemIdOf } from '../../domain/values/ids.ts';
import { builder } from '../core/builder.ts';
import { encodeGlobalId, itemKeyOf } from '../core/global-id.ts';
import { createLoader } from '../core/loader.ts';
import { Job } from '../jobs/job.ts';
import { ItemStatus } from './job-item.ts';

const itemId = (key: ItemKey) => encodeGlobalId('JobItem', itemIdOf(key));

const ItemCount = builder
  .objectRef<{ readonly status: ItemStatusName; readonly count: number }>('ItemCount')
  .implement({
    description: 'How many items have a status.',
    fields: (t) => ({
      status: t.expose('status', { type: ItemStatus, description: 'The status.' }),
      count: t.expose('count', { type: 'Count', description: 'How many items have it.' }),
    }),
  });

const ItemRange = builder.objectRef<ItemRangeState>('ItemRange').implement({
  description: 'Items of a job that follow each other in the order in which they were added.',
  fields: (t) => ({
    firstId: t.id({ description: 'The id of the first item.', resolve: ({ first }) => itemId(first) }),
    lastId: t.id({ description: 'The id of the last item.', resolve: ({ last }) => itemId(last) }),
    counts: t.expose('counts', {
      type: [ItemCount],
      description:
        'How many of them have each status, up to 9: one status if all have the same, without those that none has.',
    }),
  }),
});

const ItemRanges = builder.objectRef<ItemRangesState>('ItemRanges').implement({
  description: 'The items of a job as ranges, as they were at one moment.',
  fields: (t) => ({
    ranges: t.expose('ranges', {
      type: [ItemRange],
      description: 'The ranges in their order, up to 2,000: every item that was read is in one of them.',
    }),
    nextFrom: t.id({
      nullable: true,
      description:
        'Where to go on, as `from`: one call reads up to 20,000 rows of each table, which hold up to 128 items each. Null if this was everything.',
      resolve: ({ next }) => (next === null ? null : itemId(next)),
    }),
  }),
});

const PendingCounts = builder.objectRef<PendingCountsState>('PendingCounts').implement({
  description: 'What the pending items of a job wait for.',
  fields: (t) => {
    const count = (status: Exclude<keyof PendingCountsState, 'perSecond'>, description: string) =>
      t.expose(status, { type: 'Count', description });
    return {
      waiting: count('waiting', 'How many wait, since the job waits for other jobs of its tree.'),
      blocked: count('blocked', 'How many wait behind another item with their serialize key.'),
      scheduled: count('scheduled', 'How many have not failed, and wait for their time.'),
      retrying: count('retrying', 'How many have failed, and wait for their next attempt.'),
      ready: count('ready', 'How many a worker can claim.'),
      running: count('running', 'How many workers hold.'),
      perSecond: t.exposeFloat('perSecond', {
        nullable: true,
        description:
          'How many items succeeded or failed for good per second, on the average of the last 50 to 60 seconds, or since the first item was claimed. Null before that, and once the job is complete.',
      }),
      secondsLeft: t.float({
        nullable: true,
        description:
          'An estimate of the seconds until these items have ended: their number divided by `perSecond`. Items that will be added, retries and times in the future are not taken into account. Null if no item has ended in the last minute, and while none is ready or running.',
        resolve: secondsLeft,
      }),
    };
  },
});

const pendingCounts = createLoader((jobIds: readonly string[], { engine }) =>
  readPendingCounts(engine.database, jobIds),
);

builder.objectFields(Job, (t) => ({
  itemRanges: t.field({
    type: ItemRanges,
    // A range with its counts weighs as much as a few items.
    complexity: ({ most }) => ({ field: 500, multiplier: Math.min(Math.max(most, 0), mostRanges) }),
    description:
      'Its items as ranges of statuses, for a picture of a job of any size. As long as there are not more ranges than `most`, each has one status; otherwise all have the same number of items, but the last. Read from ranges, not item by item. INVALID_INPUT for items of other jobs; BUSY if it takes longer than 10 seconds.',
    args: {
      from: t.arg.id({ description: 'The id of the first item. Default: the first one of the job.' }),
      to: t.arg.id({ description: 'The id of the last item. Default: the last one of the job.' }),
      most: t.arg.int({
        required: true,
        defaultValue: 500,
        description: 'The maximum number of ranges: 1 to 2,000. Default: 500.',
      }),
    },
    resolve: ({ id }, { from, to, most }, { engine }) =>
      readItemRanges(engine.database, id, {
        from: from == null ? undefined : itemKeyOf(from, 'from'),
        to: to == null ? undefined : itemKeyOf(to, 'to'),
        most,
      }),
  }),
  pendingCounts: t.field({
    type: PendingCounts,
    complexity: 100,
    description:
      'How many of its items wait for what, how fast items end, and how long the rest may take. The cost depends on the pending items alone. BUSY if it takes longer than 10 seconds.',
    resolve: ({ id }, _, context) => pendingCounts(context).load(id),
  }),
}));
