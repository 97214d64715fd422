import { startOperation } from '../../domain/operations/operations.ts';
import { InvalidInputError, NotFoundError } from '../../errors.ts';
import { toConditions } from '../access/audit-subjects.ts';
import { builder } from '../core/builder.ts';
import { PendingItemFilter, toPendingFilter } from '../items/pending-items.ts';
import { operationField } from './operation.ts';

const Payload = builder.objectRef<string>('CancelItemsPayload').implement({
  description: 'The items are being cancelled.',
  fields: (t) => ({ operation: operationField(t) }),
});

const Input = builder.inputType('CancelItemsInput', {
  description: 'What to cancel.',
  fields: (t) => ({
    filter: t.field({ type: PendingItemFilter, required: true, description: 'Which items.' }),
  }),
});

builder.mutationField('cancelItems', (t) =>
  t.field({
    authScopes: { may: 'sweep' },
    audited: ({ input }) => toConditions(input.filter),
    type: Payload,
    description:
      'Cancels single pending items; their jobs continue. Waiting items leave the queue, and workers learn of held ones from their next heartbeat or report. A job with cancelled items completes like any other, and its outcome does not change: to cancel a job with all jobs below it, use `cancelJob`. Items that are added during the operation are not cancelled. BUSY if counting them takes longer than 10 seconds.',
    args: { input: t.arg({ type: Input, required: true, description: 'What to cancel.' }) },
    errors: { types: [NotFoundError, InvalidInputError] },
    resolve: async (_, { input }, context) =>
      startOperation(context.engine, 'CANCEL', await toPendingFilter(input.filter, context), {
        requestedBy: context.caller.name,
      }),
  }),
);
