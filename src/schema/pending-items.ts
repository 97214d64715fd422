import { countMatching, type PendingItemFilter as Filter } from '../domain/items/operations.ts';
import { builder } from './builder.ts';
import { itemFilterFields, toItemFilter } from './item-filter.ts';
import type { Services } from './services.ts';

const PendingState = builder.enumType('PendingState', {
  description:
    'The state of a pending item, in more detail than its `status`: READY, BLOCKED and WAITING items have the status WAITING, HELD ones RUNNING.',
  values: {
    WAITING: { description: 'Its job waits for other jobs of its tree.' },
    SCHEDULED: { description: 'It has not failed yet, and is due later: its `runAt` is in the future.' },
    RETRYING: { description: 'It has failed, and its next attempt is due later.' },
    READY: { description: 'It is due, and no worker holds it.' },
    BLOCKED: { description: 'It waits behind another item with its serialize key.' },
    HELD: { description: 'A worker holds it.' },
  } as const,
});

export const PendingItemFilter = builder.inputType('PendingItemFilter', {
  description:
    'Which pending items: those that meet all conditions; at least one must be set. Lists have 1 to 1,000 entries.',
  fields: (t) => ({
    ...itemFilterFields(t),
    states: t.field({ type: [PendingState], description: 'In one of these states.' }),
    addedFrom: t.field({ type: 'DateTime', description: 'That were added at this time or later.' }),
    addedUntil: t.field({ type: 'DateTime', description: 'That were added before this time.' }),
  }),
});

/** The filter in the form that operations take. */
export async function toPendingFilter(
  { states, addedFrom, addedUntil, ...filter }: typeof PendingItemFilter.$inferInput,
  context: Services,
): Promise<Filter> {
  return {
    ...(await toItemFilter(filter, context)),
    states: states ?? undefined,
    addedFrom: addedFrom ?? undefined,
    addedUntil: addedUntil ?? undefined,
  };
}

builder.queryField('pendingItemCount', (t) =>
  t.field({
    authScopes: { may: 'survey' },
    type: 'Count',
    description:
      'How many pending items match this filter: those that `cancelItems` would cancel or, in the states RETRYING and SCHEDULED, `promoteItems` would make ready. NOT_FOUND and INVALID_INPUT as for `cancelItems`.',
    args: { filter: t.arg({ type: PendingItemFilter, required: true, description: 'Which items.' }) },
    resolve: async (_, { filter }, context) =>
      countMatching(context.engine, 'CANCEL', await toPendingFilter(filter, context)),
  }),
);
