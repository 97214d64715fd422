/** Refusals as graph types: each mutation's result is a union of its payload and the refusals that it can give. */
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
} from '../errors.ts';
import { builder } from './builder.ts';

const ErrorCode = builder.enumType('ErrorCode', {
  description: 'Every reason for which a request can be refused.',
  values: described(errorCodes),
});

const ErrorInterface = builder
  .interfaceRef<Pick<JobtreeError, 'code' | 'message' | 'field'>>('Error')
  .implement({
    description: 'A refusal that a caller can expect, and that changed nothing.',
    fields: (t) => ({
      code: t.expose('code', { type: ErrorCode, description: 'What kind of refusal, for programs.' }),
      message: t.exposeString('message', { description: 'What is wrong, for people.' }),
      field: t.exposeString('field', {
        nullable: true,
        description: 'The path of the input field that is to blame, if one is: `items[3].runAt`.',
      }),
    }),
  });

builder.objectType(NotFoundError, {
  name: 'NotFoundError',
  interfaces: [ErrorInterface],
  description: errorCodes.NOT_FOUND,
});
builder.objectType(InvalidInputError, {
  name: 'InvalidInputError',
  interfaces: [ErrorInterface],
  description: errorCodes.INVALID_INPUT,
});
builder.objectType(JobSealedError, {
  name: 'JobSealedError',
  interfaces: [ErrorInterface],
  description: errorCodes.JOB_SEALED,
});
builder.objectType(JobFedByParentError, {
  name: 'JobFedByParentError',
  interfaces: [ErrorInterface],
  description: errorCodes.JOB_FED_BY_PARENT,
});
builder.objectType(ItemNotClaimableError, {
  name: 'ItemNotClaimableError',
  interfaces: [ErrorInterface],
  description: errorCodes.ITEM_NOT_CLAIMABLE,
  fields: (t) => ({
    reason: t.expose('reason', {
      type: builder.enumType('NotClaimableReason', {
        description: 'Why an item is not waiting for a worker.',
        values: described(notClaimableReasons),
      }),
      description: 'Why it is not.',
    }),
  }),
});

builder.objectType(ItemNotUpdatableError, {
  name: 'ItemNotUpdatableError',
  interfaces: [ErrorInterface],
  description: errorCodes.ITEM_NOT_UPDATABLE,
  fields: (t) => ({
    reason: t.expose('reason', {
      type: builder.enumType('NotUpdatableReason', {
        description: "Why an item can't be changed.",
        values: described(notUpdatableReasons),
      }),
      description: "Why it can't.",
    }),
  }),
});

/** What is wrong with one entry of a batch. GraphQL would take the error itself, as a value, for a fault. */
export const EntryError = builder
  .objectRef<Pick<JobtreeError, 'code' | 'message' | 'field'>>('EntryError')
  .implement({ interfaces: [ErrorInterface], description: 'What is wrong with one entry of a batch.' });

export function toEntryError({ code, message, field }: InvalidInputError) {
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
