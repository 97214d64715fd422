import { coversType } from '../../domain/access/rights.ts';
import type { Assignment as AssignmentState } from '../../domain/claims/assignment.ts';
import { exchange } from '../../domain/claims/exchange.ts';
import { reportOutcomes } from '../../domain/reports/report-outcomes.ts';
import { InvalidInputError } from '../../errors.ts';
import { checkClaim, countClaimed } from '../core/answer-size.ts';
import { builder } from '../core/builder.ts';
import { EntryError, toEntryError } from '../core/errors.ts';
import { outOfScope } from '../core/scope.ts';
import {
  type Entry,
  Report,
  ReportOutcomesPayload,
  refusedByScope,
  toEntries,
  toReport,
} from '../reports/report-outcomes.ts';
import { Assignment } from './assignment.ts';
import { ClaimItemsInput, mostAssignments, typesOf } from './claim-items.ts';

interface State {
  readonly entries: Entry[];
  readonly assignments: readonly AssignmentState[];
  readonly limitedTypes: readonly string[];
  readonly claimError: InvalidInputError | undefined;
}

const Payload = builder.objectRef<State>('ExchangePayload').implement({
  description: 'What happened to the reports, and the new work.',
  fields: (t) => ({
    reported: t.field({
      type: ReportOutcomesPayload,
      description: 'What happened to the reports.',
      resolve: (state) => state,
    }),
    assignments: t.field({
      type: [Assignment],
      description: 'The assignments, as for `claimItems`, up to 1,000; empty if the claim was refused.',
      resolve: ({ assignments }) => assignments,
    }),
    limitedTypes: t.exposeStringList('limitedTypes', {
      description:
        'Types, up to 1,000, for which more items may become available when an item ends, as in the answer of `claimItems`.',
    }),
    claimError: t.field({
      type: EntryError,
      nullable: true,
      description:
        'Why the claim was refused, for example for a `claimId` that another worker has used. The reports still count.',
      resolve: ({ claimError }) => claimError && toEntryError(claimError),
    }),
  }),
});

const Input = builder.inputType('ExchangeInput', {
  description: 'Outcomes of attempts, and a claim for new work.',
  fields: (t) => ({
    reports: t.field({ type: [Report], required: true, description: 'The reports: 1 to 1,000.' }),
    claim: t.field({ type: ClaimItemsInput, required: true, description: 'Which worker claims what.' }),
  }),
});

builder.mutationField('exchange', (t) =>
  t.field({
    authScopes: { may: 'work' },
    type: Payload,
    complexity: ({ input }) => ({ multiplier: mostAssignments(input.claim) }),
    description:
      'Reports outcomes and claims new work in one transaction, for about half the cost of `reportOutcomes` and `claimItems`. It is as safe to repeat as those two.',
    args: { input: t.arg({ type: Input, required: true, description: 'The outcomes, and the claim.' }) },
    errors: { types: [InvalidInputError] },
    resolve: async (_, { input: { reports, claim } }, context, info) => {
      checkClaim(mostAssignments(claim), context, info);
      if (claim.waitMs !== 0)
        throw new InvalidInputError('claim.waitMs must be 0: an exchange does not wait.', 'claim.waitMs');
      const given = reports.map(toReport);
      const refused = await refusedByScope(context, given);
      const type = typesOf(claim).find((type) => !coversType(context.caller, type));
      if (type !== undefined) {
        // The refused claim does not keep the reports from counting.
        const claimError = new InvalidInputError(outOfScope(type), 'claim.requests');
        const answers = await reportOutcomes(context.engine, given, refused);
        return { entries: toEntries(reports, answers), assignments: [], limitedTypes: [], claimError };
      }
      const { answers, ...claimed } = await exchange(context.engine, given, claim, refused);
      countClaimed(claimed.assignments, context, info);
      return { entries: toEntries(reports, answers), ...claimed };
    },
  }),
);
