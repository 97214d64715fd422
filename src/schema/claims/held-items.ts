import { type HeldItem as HeldItemState, readHeldItems } from '../../domain/claims/held-items.ts';
import { checkBatch, checkInstant, checkName } from '../../domain/values/checks.ts';
import { itemIdOf } from '../../domain/values/ids.ts';
import { maxNameLength } from '../../domain/values/limits.ts';
import { builder } from '../core/builder.ts';
import { encodeGlobalId, itemKeyOf } from '../core/global-id.ts';
import { checkFirst, firstComplexity, firstDescription } from '../core/pages.ts';
import { shownTypes } from '../core/scope.ts';
import { isSlow } from '../figures/figures.ts';
import { itemOrNull, JobItem } from '../items/job-item.ts';
import { checkTypes, typesDescription } from '../queues/queue.ts';
import { Assignment } from './assignment.ts';

const HeldItem = builder.objectRef<HeldItemState>('HeldItem').implement({
  description: 'An item that a worker holds.',
  fields: (t) => ({
    assignmentId: t.id({
      authScopes: { may: 'administer' },
      unauthorizedResolver: () => null,
      nullable: true,
      description: 'The id of the assignment, by which its item can be finished. Null for all but admins.',
      resolve: ({ assignmentId }) => encodeGlobalId('Assignment', assignmentId),
    }),
    itemId: t.id({
      description: 'The id of the item.',
      resolve: ({ item }) => encodeGlobalId('JobItem', itemIdOf(item)),
    }),
    item: t.field({
      type: JobItem,
      nullable: true,
      description: 'The item. Null if it was deleted meanwhile.',
      resolve: ({ item }, _, context) => itemOrNull(item, context),
    }),
    type: t.exposeString('type', { description: 'Its type.' }),
    worker: t.exposeString('worker', { description: 'Who holds it, by the name in the claim.' }),
    attempt: t.exposeInt('attempt', { description: 'Which attempt this is, from 1.' }),
    claimedAt: t.expose('claimedAt', { type: 'DateTime', description: 'When it was claimed.' }),
    heartbeatAt: t.expose('heartbeatAt', {
      type: 'DateTime',
      description: 'When the worker sent its last heartbeat; at first, when it was claimed.',
    }),
    heldMs: t.expose('heldMs', {
      type: 'Count',
      description: 'How long the worker has held it, in milliseconds.',
    }),
    slow: t.boolean({
      description: 'Whether the worker has held it for longer than `slowAfterMs` of its type.',
      resolve: ({ type, heldMs }, _, context) => isSlow(type, heldMs, context),
    }),
  }),
});

const HeldItemPlaceInput = builder.inputType('HeldItemPlaceInput', {
  description: 'A place in the list of held items: that of an item, which may have been finished since.',
  fields: (t) => ({
    claimedAt: t.field({ type: 'DateTime', required: true, description: 'When it was claimed.' }),
    itemId: t.id({ required: true, description: 'The id of the item.' }),
  }),
});

builder.queryField('heldItems', (t) =>
  t.field({
    authScopes: { may: 'list' },
    type: [HeldItem],
    complexity: firstComplexity,
    description:
      'Items that workers hold, those held longest first. If there are more than 1,000, query again after the last one.',
    args: {
      types: t.arg.stringList({ description: typesDescription }),
      workers: t.arg.stringList({ description: 'Only items that these workers hold: 1 to 1,000 names.' }),
      slowOnly: t.arg.boolean({
        required: true,
        defaultValue: false,
        description: 'Only slow items. Default: false.',
      }),
      after: t.arg({ type: HeldItemPlaceInput, description: 'Only items that come after this place.' }),
      first: t.arg.int({ required: true, defaultValue: 50, description: firstDescription }),
    },
    resolve: async (_, { types, workers, slowOnly, after, first }, context) => {
      const take = checkFirst({ first });
      if (workers != null) {
        checkBatch(workers.length, 'workers');
        for (const [i, worker] of workers.entries()) checkName(worker, `workers[${i}]`, maxNameLength);
      }
      return readHeldItems(
        context.engine,
        {
          types: await shownTypes(context, checkTypes(types)),
          workers: workers ?? null,
          slowOnly,
          after:
            after == null
              ? null
              : {
                  claimedAt: checkInstant(after.claimedAt, 'after.claimedAt'),
                  item: itemKeyOf(after.itemId, 'after.itemId'),
                },
        },
        take,
      );
    },
  }),
);

builder.objectField(Assignment, 'slow', (t) =>
  t.boolean({
    description:
      'Whether the worker has held the item for longer than `slowAfterMs` of its type, and still holds it.',
    resolve: ({ type, heldMs }, _, context) => isSlow(type, heldMs, context),
  }),
);
