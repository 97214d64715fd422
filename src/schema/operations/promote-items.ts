import { startOperation } from '../../domain/operations/operations.ts';
import { InvalidInputError, NotFoundError } from '../../errors.ts';
import { toConditions } from '../access/audit-subjects.ts';
import { builder } from '../core/builder.ts';
import { PendingItemFilter, toPendingFilter } from '../items/pending-items.ts';
import { operationField } from './operation.ts';

const Payload = builder.objectRef<string>('PromoteItemsPayload').implement({
  description: 'The items are being made ready.',
  fields: (t) => ({ operation: operationField(t) }),
});

const Input = builder.inputType('PromoteItemsInput', {
  description: 'What to make ready.',
  fields: (t) => ({
    filter: t.field({
      type: PendingItemFilter,
      required: true,
      description: 'Which items. Its `statuses` may be RETRYING, the default, and SCHEDULED.',
    }),
  }),
});

builder.mutationField('promoteItems', (t) =>
  t.field({
    authScopes: { may: 'sweep' },
    audited: ({ input }) => toConditions(input.filter),
    type: Payload,
    description:
      'Makes items ready now that would be due later: by default those that wait for their next attempt after a failure. They go behind what is ready, and keep their priorities, failures and attempts. Pauses and limits of their types apply. Items that fail again, or are changed, during the operation wait as usual. BUSY if counting them takes longer than 10 seconds.',
    args: { input: t.arg({ type: Input, required: true, description: 'What to make ready.' }) },
    errors: { types: [NotFoundError, InvalidInputError] },
    resolve: async (_, { input }, context) =>
      startOperation(context.engine, 'PROMOTE', await toPendingFilter(input.filter, context), {
        requestedBy: context.caller.name,
      }),
  }),
);
