import type { PendingItemFilter as Filter } from '../../domain/operations/operations.ts';
import { builder } from '../core/builder.ts';
import type { Services } from '../core/services.ts';
import { countOf, inScopeOnly, itemFilterFields, toItemFilter } from './item-filter.ts';
import { ItemStatus } from './job-item.ts';

export const PendingItemFilter = builder.inputType('PendingItemFilter', {
  description:
    'Which pending items: those that meet all conditions; at least one must be set. Lists have 1 to 1,000 entries.',
  fields: (t) => ({
    ...itemFilterFields(t),
    statuses: t.field({
      type: [ItemStatus],
      description:
        'With one of these statuses. SUCCEEDED, FAILED and CANCELLED are refused with INVALID_INPUT.',
    }),
    addedFrom: t.field({ type: 'DateTime', description: 'That were added at this time or later.' }),
    addedUntil: t.field({ type: 'DateTime', description: 'That were added before this time.' }),
  }),
});

/** The filter in the form that operations take. */
export async function toPendingFilter(
  { statuses, addedFrom, addedUntil, ...filter }: typeof PendingItemFilter.$inferInput,
  context: Services,
): Promise<Filter> {
  const conditions = {
    ...(await toItemFilter(filter, context)),
    statuses: statuses ?? undefined,
    addedFrom: addedFrom ?? undefined,
    addedUntil: addedUntil ?? undefined,
  };
  return inScopeOnly(conditions, context);
}

builder.queryField('pendingItemCount', (t) =>
  t.field({
    authScopes: { may: 'list' },
    type: 'Count',
    description:
      'How many pending items match this filter: those that `cancelItems` would cancel or, with the statuses RETRYING and SCHEDULED, `promoteItems` would make ready. NOT_FOUND and INVALID_INPUT as for `cancelItems`; BUSY if counting takes longer than 10 seconds.',
    args: { filter: t.arg({ type: PendingItemFilter, required: true, description: 'Which items.' }) },
    resolve: async (_, { filter }, context) =>
      countOf(context).load({ kind: 'CANCEL', filter: await toPendingFilter(filter, context) }),
  }),
);
