import { isUnscoped } from '../../domain/access/rights.ts';
import { type AddEntry, addItems } from '../../domain/items/add-items.ts';
import {
  InvalidInputError,
  JobFedByParentError,
  JobSealedError,
  NotFoundError,
  StorageLimitError,
} from '../../errors.ts';
import { builder } from '../core/builder.ts';
import { EntryError, toEntryError } from '../core/errors.ts';
import { encodeGlobalId, keyOf } from '../core/global-id.ts';
import { jobField } from '../core/payload.ts';
import { checkJob } from '../core/scope.ts';
import { ItemInput, TraceContextInput } from '../jobs/inputs.ts';

const AddStatus = builder.enumType('AddStatus', {
  description: 'What happened to an entry.',
  values: {
    ADDED: { description: 'It was added as an item.' },
    DUPLICATE: { description: 'The job had an item with its dedupe key; nothing was added.' },
    INVALID: { description: 'It breaks a rule; nothing was added.' },
  } as const,
});

const Entry = builder.objectRef<{ index: number; entry: AddEntry }>('AddEntry').implement({
  description: 'The answer to one entry.',
  fields: (t) => ({
    index: t.exposeInt('index', { description: 'Which entry of the input, from 0.' }),
    status: t.field({
      type: AddStatus,
      description: 'What happened to it.',
      resolve: ({ entry }) => entry.status,
    }),
    itemId: t.id({
      nullable: true,
      description:
        'The item: the new one or, for a duplicate, the one that has its key. Null for an invalid entry.',
      resolve: ({ entry }) => (entry.status === 'INVALID' ? null : encodeGlobalId('JobItem', entry.itemId)),
    }),
    error: t.field({
      type: EntryError,
      nullable: true,
      description: 'What is wrong with an invalid entry.',
      resolve: ({ entry }) => (entry.status === 'INVALID' ? toEntryError(entry.error) : null),
    }),
  }),
});

const Payload = builder.objectRef<{ jobId: string; entries: AddEntry[] }>('AddItemsPayload').implement({
  description: 'What happened to the entries.',
  fields: (t) => ({
    job: jobField(t),
    entries: t.field({
      type: [Entry],
      description: 'An answer for each entry, in the same order: up to 1,000.',
      args: {
        all: t.arg.boolean({
          required: true,
          defaultValue: true,
          description:
            'Whether to answer for all entries. With false, only for those that are not ADDED, which is less work for both sides. Default: true.',
        }),
      },
      resolve: ({ entries }, { all }) => {
        const answers = entries.map((entry, index) => ({ index, entry }));
        return !all ? answers.filter(({ entry }) => entry.status !== 'ADDED') : answers;
      },
    }),
    ...Object.fromEntries(
      (['ADDED', 'DUPLICATE', 'INVALID'] as const).map((status) => [
        { ADDED: 'added', DUPLICATE: 'duplicates', INVALID: 'invalid' }[status],
        t.int({
          description: `How many entries are ${status}.`,
          resolve: ({ entries }) =>
            entries.reduce((count, entry) => count + (entry.status === status ? 1 : 0), 0),
        }),
      ]),
    ),
  }),
});

const Input = builder.inputType('AddItemsInput', {
  description: 'Items for one job.',
  fields: (t) => ({
    jobId: t.id({
      required: true,
      description:
        'The job. It must not be sealed, unless a call with `seal` is repeated, whose items it has by their dedupe keys.',
    }),
    items: t.field({ type: [ItemInput], required: true, description: 'The new items: 1 to 1,000.' }),
    seal: t.boolean({
      required: true,
      defaultValue: false,
      description: 'Whether these are the last items: seals the job in the same transaction. Default: false.',
    }),
    traceContext: t.field({
      type: TraceContextInput,
      description:
        'The trace that the new items belong to; workers get it with them. INVALID_INPUT if it is not valid. Default: none.',
    }),
  }),
});

builder.mutationField('addItems', (t) =>
  t.field({
    authScopes: { may: 'change' },
    type: Payload,
    description:
      'Adds items to a job, even while workers work on others. Each entry is checked separately: an invalid entry or a duplicate does not affect the others. Items of one call keep the order of its entries.',
    args: { input: t.arg({ type: Input, required: true, description: 'The job and its items.' }) },
    errors: {
      types: [NotFoundError, InvalidInputError, JobSealedError, JobFedByParentError, StorageLimitError],
    },
    resolve: async (_, { input }, context) => {
      const { engine } = context;
      const jobId = keyOf('Job', input.jobId, 'jobId');
      if (!isUnscoped(context.caller)) await checkJob(context, jobId, 'jobId');
      const { items, seal, traceContext } = input;
      return { jobId, entries: await addItems(engine, jobId, items, { seal, traceContext }) };
    },
  }),
);
