import type { Assignment as AssignmentState } from '../../domain/claims/assignment.ts';
import { claimItem } from '../../domain/claims/claim-item.ts';
import { InvalidInputError, ItemNotClaimableError, NotFoundError } from '../../errors.ts';
import { builder } from '../core/builder.ts';
import { itemKeyOf } from '../core/global-id.ts';
import { checkItem } from '../core/scope.ts';
import { Assignment } from './assignment.ts';

const Payload = builder.objectRef<{ assignment: AssignmentState }>('ClaimItemPayload').implement({
  description: 'What the worker got.',
  fields: (t) => ({
    assignment: t.field({
      type: Assignment,
      description: 'The assignment of the item.',
      resolve: ({ assignment }) => assignment,
    }),
  }),
});

const Input = builder.inputType('ClaimItemInput', {
  description: 'Which worker claims which item.',
  fields: (t) => ({
    itemId: t.id({ required: true, description: 'The item.' }),
    worker: t.string({ required: true, description: 'A name for the worker, 1 to 200 characters.' }),
  }),
});

builder.mutationField('claimItem', (t) =>
  t.field({
    authScopes: { may: 'work' },
    type: Payload,
    description: 'Gives one particular item to a worker, regardless of its place in the queue.',
    args: { input: t.arg({ type: Input, required: true, description: 'Which worker claims which item.' }) },
    errors: { types: [NotFoundError, InvalidInputError, ItemNotClaimableError] },
    resolve: async (_, { input }, context) => {
      const key = itemKeyOf(input.itemId, 'itemId');
      await checkItem(context, key, 'itemId');
      return { assignment: await claimItem(context.engine, key, input.worker) };
    },
  }),
);
