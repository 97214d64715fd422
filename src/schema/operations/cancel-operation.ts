import { cancelOperation } from '../../domain/operations/operations.ts';
import { InvalidInputError, NotFoundError } from '../../errors.ts';
import { builder } from '../core/builder.ts';
import { keyOf } from '../core/global-id.ts';
import { operationField } from './operation.ts';

const Payload = builder.objectRef<string>('CancelOperationPayload').implement({
  description: 'The operation has stopped.',
  fields: (t) => ({ operation: operationField(t) }),
});

const Input = builder.inputType('CancelOperationInput', {
  description: 'Which operation to cancel.',
  fields: (t) => ({ operationId: t.id({ required: true, description: 'The operation.' }) }),
});

builder.mutationField('cancelOperation', (t) =>
  t.field({
    authScopes: { may: 'sweep' },
    audited: ({ input }) => [input.operationId],
    type: Payload,
    description:
      'Stops an operation. What it has done remains; cancelling a finished operation changes nothing.',
    args: { input: t.arg({ type: Input, required: true, description: 'Which operation to cancel.' }) },
    errors: { types: [NotFoundError, InvalidInputError] },
    resolve: async (_, { input }, { engine, caller }) => {
      const id = keyOf('Operation', input.operationId, 'operationId');
      await cancelOperation(engine, id, caller);
      return id;
    },
  }),
);
