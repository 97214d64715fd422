/** Refusals as graph types: the result of each mutation is a union of its payload and its possible refusals. */
import {
  errorCodes,
  InvalidInputError,
  ItemNotClaimableError,
  ItemNotUpdatableError,
  JobFedByParentError,
  JobSealedError,
  type JobtreeError,
  NotFoundError,
  notClaimableReasons,
  notUpdatableReasons,
  StorageLimitError,
} from '../../errors.ts';
import { builder } from './builder.ts';

const ErrorCode = builder.enumType('ErrorCode', {
  description:
    'Why something was refused. Errors outside of results have one of these in `extensions.code`, or a code that concerns a request as a whole; docs/errors.md lists all codes.',
  values: described(errorCodes),
});

const UserError = builder
  .interfaceRef<Pick<JobtreeError, 'code' | 'message' | 'field'>>('UserError')
  .implement({
    description: 'A refusal that a caller can expect, and that changed nothing.',
    fields: (t) => ({
      code: t.expose('code', { type: ErrorCode, description: 'The reason for the refusal, for programs.' }),
      message: t.exposeString('message', { description: 'What is wrong, for people.' }),
      field: t.exposeString('field', {
        nullable: true,
        description: 'The path of the input field that caused it, if any: `items[3].runAt`.',
      }),
    }),
  });

builder.objectType(NotFoundError, {
  name: 'NotFoundError',
  interfaces: [UserError],
  description: errorCodes.NOT_FOUND,
});
builder.objectType(InvalidInputError, {
  name: 'InvalidInputError',
  interfaces: [UserError],
  description: errorCodes.INVALID_INPUT,
});
builder.objectType(JobSealedError, {
  name: 'JobSealedError',
  interfaces: [UserError],
  description: errorCodes.JOB_SEALED,
});
builder.objectType(JobFedByParentError, {
  name: 'JobFedByParentError',
  interfaces: [UserError],
  description: errorCodes.JOB_FED_BY_PARENT,
});
builder.objectType(ItemNotClaimableError, {
  name: 'ItemNotClaimableError',
  interfaces: [UserError],
  description: errorCodes.ITEM_NOT_CLAIMABLE,
  fields: (t) => ({
    reason: t.expose('reason', {
      type: builder.enumType('NotClaimableReason', {
        description: "Why an item can't be claimed.",
        values: described(notClaimableReasons),
      }),
      description: "Why it can't be claimed.",
    }),
  }),
});

builder.objectType(ItemNotUpdatableError, {
  name: 'ItemNotUpdatableError',
  interfaces: [UserError],
  description: errorCodes.ITEM_NOT_UPDATABLE,
  fields: (t) => ({
    reason: t.expose('reason', {
      type: builder.enumType('NotUpdatableReason', {
        description: "Why an item can't be changed.",
        values: described(notUpdatableReasons),
      }),
      description: "Why it can't be changed.",
    }),
  }),
});

builder.objectType(StorageLimitError, {
  name: 'StorageLimitError',
  interfaces: [UserError],
  description: errorCodes.STORAGE_LIMIT,
  fields: (t) => ({
    limit: t.expose('limit', {
      type: builder.enumType('StorageLimit', {
        description: 'What is limited.',
        values: {
          ITEMS: { description: 'Items, pending and finished.' },
          BYTES: { description: 'Bytes of payloads and results as JSON text, and of uploads.' },
        } as const,
      }),
      description: 'Which limit would be exceeded.',
    }),
    maximum: t.expose('maximum', { type: 'Count', description: 'How much may be stored.' }),
    stored: t.expose('stored', {
      type: 'Count',
      description: 'How much is stored, as of some seconds ago.',
    }),
  }),
});

/** The error of one entry of a batch, in a separate object: GraphQL would treat the error itself as a fault. */
export const EntryError = builder
  .objectRef<Pick<JobtreeError, 'code' | 'message' | 'field'>>('EntryError')
  .implement({ interfaces: [UserError], description: 'What is wrong with one entry of a batch.' });

export function toEntryError({ code, message, field }: JobtreeError) {
  return { code, message, field };
}

/** The values of an enum, from their descriptions. */
function described<Name extends string>(
  descriptions: Readonly<Record<Name, string>>,
): Record<Name, { description: string }> {
  return Object.fromEntries(
    Object.entries(descriptions).map(([name, description]) => [name, { description }]),
  ) as Record<Name, { description: string }>;
}
