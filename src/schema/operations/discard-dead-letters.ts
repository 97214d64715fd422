import { startOperation } from '../../domain/operations/operations.ts';
import { InvalidInputError, NotFoundError } from '../../errors.ts';
import { toConditions } from '../access/audit-subjects.ts';
import { builder } from '../core/builder.ts';
import { DeadLetterFilter, toFilter } from './dead-letters.ts';
import { operationField } from './operation.ts';

const Payload = builder.objectRef<string>('DiscardDeadLettersPayload').implement({
  description: 'The dead letters are being discarded.',
  fields: (t) => ({ operation: operationField(t) }),
});

const Input = builder.inputType('DiscardDeadLettersInput', {
  description: 'What to discard.',
  fields: (t) => ({
    filter: t.field({ type: DeadLetterFilter, required: true, description: 'Which items.' }),
  }),
});

builder.mutationField('discardDeadLetters', (t) =>
  t.field({
    authScopes: { may: 'settle' },
    audited: ({ input }) => toConditions(input.filter),
    type: Payload,
    description:
      'Settles dead letters that nobody will try again: the items remain failed, with their failures, and leave the groups. BUSY if counting them takes longer than 10 seconds.',
    args: { input: t.arg({ type: Input, required: true, description: 'What to discard.' }) },
    errors: { types: [NotFoundError, InvalidInputError] },
    resolve: async (_, { input }, context) =>
      startOperation(context.engine, 'DISCARD', await toFilter(input.filter, context), {
        requestedBy: context.caller.name,
      }),
  }),
);
