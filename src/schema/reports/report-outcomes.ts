import { coversType } from '../../domain/access/rights.ts';
import { successField } from '../../domain/feeds/fed-payloads.ts';
import {
  type Report as GivenReport,
  type ReportAnswer,
  reportOutcomes,
} from '../../domain/reports/report-outcomes.ts';
import { maxBatch } from '../../domain/values/limits.ts';
import { InvalidInputError } from '../../errors.ts';
import { builder } from '../core/builder.ts';
import { EntryError, toEntryError } from '../core/errors.ts';
import { keyOrText } from '../core/global-id.ts';
import { coveredAssignments, outOfScope } from '../core/scope.ts';
import type { Services } from '../core/services.ts';

const ReportStatus = builder.enumType('ReportStatus', {
  description: 'What happened to a report.',
  values: {
    ACCEPTED: { description: 'It counts, and is durable.' },
    DUPLICATE: {
      description: 'This assignment has reported the same before, in an earlier call. Nothing changed.',
    },
    STALE: {
      description:
        'The assignment was lost, given back or cancelled, or ended otherwise. Nothing changed; drop the work.',
    },
    INVALID: { description: 'The report breaks a rule. Nothing changed, and the assignment is kept.' },
  } as const,
});

export interface Entry {
  readonly index: number;
  readonly assignmentId: string;
  readonly answer: ReportAnswer;
}
const Entry = builder.objectRef<Entry>('ReportEntry').implement({
  description: 'The answer to one report.',
  fields: (t) => ({
    index: t.exposeInt('index', { description: 'Which report of the input, from 0.' }),
    assignmentId: t.exposeID('assignmentId', { description: 'The assignment, as the report named it.' }),
    status: t.field({
      type: ReportStatus,
      description: 'What happened to it.',
      resolve: ({ answer }) => answer.status,
    }),
    retryAt: t.field({
      type: 'DateTime',
      nullable: true,
      description:
        'After an accepted failure or snooze, and after a duplicate of a failure: when the item is due again; null if it failed for good.',
      resolve: ({ answer }) => answer.retryAt ?? null,
    }),
    error: t.field({
      type: EntryError,
      nullable: true,
      description: 'What is wrong with an invalid report.',
      resolve: ({ answer }) => answer.error && toEntryError(answer.error),
    }),
  }),
});

export const ReportOutcomesPayload = builder
  .objectRef<{ entries: Entry[] }>('ReportOutcomesPayload')
  .implement({
    description: 'What happened to the reports.',
    fields: (t) => ({
      entries: t.field({
        type: [Entry],
        description: 'An answer for each report, in the same order: up to 1,000.',
        args: {
          all: t.arg.boolean({
            required: true,
            defaultValue: true,
            description:
              'Whether to answer for all reports. With false, only for those of which there is more to say than that they were ACCEPTED, and no retry follows; this is less work for both sides. Default: true.',
          }),
        },
        resolve: ({ entries }, { all }) =>
          all
            ? entries
            : entries.filter(({ answer }) => answer.status !== 'ACCEPTED' || answer.retryAt !== undefined),
      }),
    }),
  });

const Failure = builder.inputType('FailureInput', {
  description: 'What went wrong.',
  fields: (t) => ({
    code: t.string({
      required: true,
      description: 'What kind of failure, for grouping: 1 to 200 characters.',
    }),
    message: t.string({ required: true, description: 'What went wrong, in words: up to 10,000 characters.' }),
    permanent: t.boolean({
      required: true,
      defaultValue: false,
      description: 'Whether trying again is useless: the item has failed for good. Default: false.',
    }),
    retryAfterMs: t.int({
      description:
        "When to try again, in milliseconds from now, instead of after the job's backoff, and without jitter: 0 to 2,147,483,647 (24 days). It still counts as a failure, and no other attempt follows the last one. Not with `permanent`. Default: the backoff.",
    }),
    stack: t.string({
      description:
        "Where in the worker's code it came from, such as a stack trace: up to 4,096 characters. Default: none.",
    }),
  }),
});

const NewItem = builder.inputType('NewItemInput', {
  description: 'A new item for a child job that the job feeds.',
  fields: (t) => ({
    type: t.string({
      required: true,
      description: 'The type of the child, 1 to 200 characters; exactly one fed child must have it.',
    }),
    payload: t.field({
      type: 'JSON',
      description: 'The work to do: any JSON, up to 1 MB of text (a setting of the server). Default: null.',
    }),
    dedupeKey: t.string({
      description:
        'Unique among the items of the child, 1 to 500 characters: if the key already exists, no item is added. Default: none.',
    }),
    priority: t.int({
      description:
        'Items of a type with a higher priority are claimed first: -32,768 to 32,767. Default: the priority of the child.',
    }),
    runAt: t.field({
      type: 'DateTime',
      description: "The item can't be claimed before this time. Default: the `runAt` of the child.",
    }),
    serializeKey: t.string({
      description:
        'Items with the same key run one at a time, as with `serializeKey` of ItemInput: 1 to 255 characters. Default: none.',
    }),
  }),
});

const Success = builder.inputType('SuccessInput', {
  description: 'What a success returns.',
  fields: (t) => ({
    result: t.field({
      type: 'JSON',
      description: 'Any JSON, up to 1 MB of text (a setting of the server). Default: null.',
    }),
    newItems: t.field({
      type: [NewItem],
      description:
        'New items for fed child jobs, created in the same transaction. Up to 1,000, including those of mappings. Default: none.',
    }),
  }),
});

const Outcome = builder.inputType('OutcomeInput', {
  description: 'The outcome of an attempt.',
  isOneOf: true,
  fields: (t) => ({
    success: t.field({ type: Success, description: 'The item is done.' }),
    failure: t.field({ type: Failure, description: 'The attempt failed.' }),
    snoozeMs: t.int({
      description:
        'Neither done nor failed: the item is given back, to be tried again after this many milliseconds, 1,000 to 2,147,483,647 (24 days). It costs no attempt. A repeated snooze answers STALE.',
    }),
  }),
});

export const Report = builder.inputType('ReportInput', {
  description: 'The outcome of one attempt.',
  fields: (t) => ({
    assignmentId: t.id({ required: true, description: 'The assignment under which the work was done.' }),
    outcome: t.field({ type: Outcome, required: true, description: 'The outcome of the attempt.' }),
  }),
});

const Input = builder.inputType('ReportOutcomesInput', {
  description: 'Outcomes of attempts.',
  fields: (t) => ({
    reports: t.field({ type: [Report], required: true, description: 'The reports: 1 to 1,000.' }),
  }),
});

builder.mutationField('reportOutcomes', (t) =>
  t.field({
    authScopes: { may: 'work' },
    type: ReportOutcomesPayload,
    description:
      'Accepts results and failures, each checked separately. Repeating a call is safe: what was already done answers DUPLICATE. A late report counts as long as nobody took the item back.',
    args: { input: t.arg({ type: Input, required: true, description: 'The outcomes.' }) },
    errors: { types: [InvalidInputError] },
    resolve: async (_, { input }, context) => {
      const reports = input.reports.map(toReport);
      const refused = await refusedByScope(context, reports);
      const answers = await reportOutcomes(context.engine, reports, refused);
      return { entries: toEntries(input.reports, answers) };
    },
  }),
);

/**
 * The answers to reports that the caller may not make, by their positions: assignments of other callers count as unknown, and new
 * items must be of types that it may work on.
 */
export async function refusedByScope(
  context: Services,
  reports: readonly GivenReport[],
): Promise<ReadonlyMap<number, ReportAnswer>> {
  const refused = new Map<number, ReportAnswer>();
  if (context.caller.types === null || reports.length > maxBatch) return refused;
  const ids = reports.map(({ assignmentId }) => assignmentId);
  const covered = await coveredAssignments(context, ids);
  for (const [i, { newItems }] of reports.entries()) {
    const foreign = newItems?.find(({ type }) => !coversType(context.caller, type));
    if (!covered[i]) refused.set(i, { status: 'STALE' });
    else if (foreign !== undefined) {
      const error = new InvalidInputError(outOfScope(foreign.type), `${successField(i)}.newItems`);
      refused.set(i, { status: 'INVALID', error });
    }
  }
  return refused;
}

/** A report as it was sent, with its id decoded. */
export function toReport({ assignmentId, outcome }: typeof Report.$inferInput): GivenReport {
  const { success, failure, snoozeMs } = outcome;
  return {
    assignmentId: keyOrText('Assignment', assignmentId),
    ...(success == null
      ? { failure, snoozeMs }
      : { result: success.result ?? null, newItems: success.newItems }),
  };
}

export function toEntries(
  reports: readonly { readonly assignmentId: string }[],
  answers: readonly ReportAnswer[],
): Entry[] {
  return answers.map((answer, index) => ({
    index,
    assignmentId: reports[index]?.assignmentId ?? '',
    answer,
  }));
}
