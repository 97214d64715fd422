import { startOperation } from '../../domain/operations.ts';
import { InvalidInputError, NotFoundError } from '../../errors.ts';
import { builder } from '../builder.ts';
import { operationField } from '../operation.ts';
import { PendingItemFilter, toPendingFilter } from '../pending-items.ts';

const Payload = builder.objectRef<string>('CancelItemsPayload').implement({
  description: 'The items are being cancelled.',
  fields: (t) => ({ operation: operationField(t) }),
});

const Input = builder.inputType('CancelItemsInput', {
  description: 'What is cancelled.',
  fields: (t) => ({
    filter: t.field({ type: PendingItemFilter, required: true, description: 'Which items.' }),
  }),
});

builder.mutationField('cancelItems', (t) =>
  t.field({
    authScopes: { may: 'sweep' },
    type: Payload,
    description:
      'Cancels single items that are pending; their jobs go on. What waits leaves the queue, and of what a worker holds the worker learns it from its next heartbeat or report. A job of which items were cancelled completes as any other, and its outcome is as if nobody had: to end a job with all below it there is `cancelJob`. What is added while it is at it is left.',
    args: { input: t.arg({ type: Input, required: true, description: 'What is cancelled.' }) },
    errors: { types: [NotFoundError, InvalidInputError] },
    resolve: async (_, { input }, context) =>
      startOperation(context.engine, 'CANCEL', await toPendingFilter(input.filter, context)),
  }),
);
