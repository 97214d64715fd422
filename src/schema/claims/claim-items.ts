import { type Claimed, claim } from '../../domain/claims/claim-items.ts';
import { maxBatch } from '../../domain/values/limits.ts';
import { InvalidInputError } from '../../errors.ts';
import { checkClaim, countClaimed } from '../core/answer-size.ts';
import { builder } from '../core/builder.ts';
import { checkTypeScope } from '../core/scope.ts';
import { Assignment } from './assignment.ts';

const Payload = builder.objectRef<Claimed>('ClaimItemsPayload').implement({
  description: 'What the worker got.',
  fields: (t) => ({
    assignments: t.field({
      type: [Assignment],
      description:
        'The assignments, up to 1,000; empty if there is no work. For each type, those of the highest priority come first.',
      resolve: ({ assignments }) => assignments,
    }),
    limitedTypes: t.exposeStringList('limitedTypes', {
      description:
        'Types, up to 1,000, for which more items may become available when an item ends: their queue is paused or at a limit of concurrency or rate, or claimed items have serialize keys. Claim again with the report, and on hints.',
    }),
  }),
});

const ClaimRequest = builder.inputType('ClaimRequestInput', {
  description: 'How many items of a type a worker has room for.',
  fields: (t) => ({
    type: t.string({ required: true, description: 'The type: 1 to 200 characters.' }),
    limit: t.int({
      required: true,
      description: 'The maximum number of items: 1 to 1,000, over all types of a call.',
    }),
    starts: t.int({
      description:
        'How many of them the worker starts as soon as it has the answer, in its order: 0 to 1,000. Default: all. The others count as started from the first heartbeat that does not list them in `waitingIds`. If its heartbeats stop, what it has not started goes back without a failed attempt. A worker that sets this tells of items with `lostBefore` before it starts them.',
    }),
  }),
});

export const ClaimItemsInput = builder.inputType('ClaimItemsInput', {
  description: 'Which worker claims what.',
  fields: (t) => ({
    worker: t.string({
      required: true,
      description:
        'A name for the worker, 1 to 200 characters; it appears in failures and shows who holds what.',
    }),
    claimId: t.string({
      description:
        'A UUID of version 7, new for each claim. If the answer is lost, the claim can be sent again: it then returns the assignments of the first time that are not finished, or claims if the first call never arrived. No other worker can use it. Without it the items of a lost answer wait until their heartbeats run out.',
    }),
    waitMs: t.int({
      required: true,
      defaultValue: 0,
      description:
        'How long the claim waits at the server if there is nothing, in milliseconds: 0 to 30,000. Default: 0. It is answered as soon as it gets something, and with an empty list when the time is over, when the server stops, or at once if a caller has 10,000, or the server 20,000, that wait. If the caller leaves, what it was given meanwhile goes back. `exchange` does not wait, since the answers to its reports would wait with it.',
    }),
    requests: t.field({
      type: [ClaimRequest],
      required: true,
      description: 'The types that the worker handles, and how many items it has room for.',
    }),
  }),
});

/** For the cost of a claim: the most assignments that it can return. */
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
      'Gives ready items to a worker, each to one worker only: higher priority first, then in the order in which they became due. It returns fewer than requested if their payloads exceed 32 MB together. It returns at once, unless `waitMs` lets it wait for work.',
    args: {
      input: t.arg({ type: ClaimItemsInput, required: true, description: 'Which worker claims what.' }),
    },
    errors: { types: [InvalidInputError] },
    resolve: async (_, { input }, context, info) => {
      checkClaim(mostAssignments(input), context, info);
      checkTypeScope(context, typesOf(input), 'requests');
      const { worker, requests, claimId, waitMs } = input;
      const claimed = await claim(context.engine, worker, requests, claimId, { waitMs, park: context.park });
      countClaimed(claimed.assignments, context, info);
      return claimed;
    },
  }),
);
