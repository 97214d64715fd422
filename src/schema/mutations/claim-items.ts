import { type Claimed, claim } from '../../domain/claim-items.ts';
import { maxBatch } from '../../domain/limits.ts';
import { InvalidInputError } from '../../errors.ts';
import { checkClaim, countClaimed } from '../answer-size.ts';
import { Assignment } from '../assignment.ts';
import { builder } from '../builder.ts';
import { checkTypeScope } from '../scope.ts';

const Payload = builder.objectRef<Claimed>('ClaimItemsPayload').implement({
  description: 'What the worker got.',
  fields: (t) => ({
    assignments: t.field({
      type: [Assignment],
      description:
        'The assignments, up to 1,000, none if there is no work. Of each type those of the highest priority first.',
      resolve: ({ assignments }) => assignments,
    }),
    limitedTypes: t.exposeStringList('limitedTypes', {
      description:
        'Types, up to 1,000, of which the end of an item may let another one go: their queue is paused, at its limit of concurrency or at its rate, or items that it got have serialize keys. Ask again with the report, and at hints.',
    }),
  }),
});

const ClaimRequest = builder.inputType('ClaimRequestInput', {
  description: 'How many items of a type a worker has room for.',
  fields: (t) => ({
    type: t.string({ required: true, description: 'The type.' }),
    limit: t.int({ required: true, description: 'At most so many: 1 to 1,000, over all types of a call.' }),
  }),
});

export const ClaimItemsInput = builder.inputType('ClaimItemsInput', {
  description: 'Who wants which work.',
  fields: (t) => ({
    worker: t.string({
      required: true,
      description:
        'A name for the worker, 1 to 200 characters; it stands in failures and helps to find who holds what.',
    }),
    claimId: t.string({
      description:
        'A UUID of version 7, new for each claim. A claim whose answer was lost can then be sent again: it gives the assignments that it got the first time, as far as they are not finished, or claims if it never arrived. No other worker can use it. Without it the items of a lost answer wait until their heartbeats run out.',
    }),
    requests: t.field({
      type: [ClaimRequest],
      required: true,
      description: 'The types that the worker can do, and its room for each.',
    }),
  }),
});

/** For the cost of a claim: how many assignments it can give. */
export function mostAssignments({ requests }: typeof ClaimItemsInput.$inferInput): number {
  const asked = requests.reduce((sum, { limit }) => sum + Math.max(limit, 0), 0);
  return Math.min(asked, maxBatch);
}

export const typesOf = ({ requests }: typeof ClaimItemsInput.$inferInput) => requests.map(({ type }) => type);

builder.mutationField('claimItems', (t) =>
  t.field({
    authScopes: { may: 'work' },
    type: Payload,
    complexity: ({ input }) => ({ multiplier: mostAssignments(input) }),
    description:
      'Gives ready items to a worker, each to one worker only: higher priority first, then in the order in which they became due. It gives fewer than asked for if their payloads have more than 32 MB together. Returns at once; an idle worker waits for `workAvailable` and polls slowly behind it.',
    args: { input: t.arg({ type: ClaimItemsInput, required: true, description: 'Who wants which work.' }) },
    errors: { types: [InvalidInputError] },
    resolve: async (_, { input }, context, info) => {
      checkClaim(mostAssignments(input), context, info);
      checkTypeScope(context, typesOf(input), 'requests');
      const { worker, requests, claimId } = input;
      const claimed = await claim(context.engine, worker, requests, claimId);
      countClaimed(claimed.assignments, context, info);
      return claimed;
    },
  }),
);
