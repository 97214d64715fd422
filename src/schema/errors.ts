/** Refusals as graph types: each mutation's result is a union of its payload and the refusals that it can give. */
import {
  errorCodes,
  InvalidInputError,
  ItemNotClaimableError,
  JobFedByParentError,
  JobSealedError,
  type JobtreeError,
  NotFoundError,
  notClaimableReasons,
} from '../errors.ts';
import { builder } from './builder.ts';

const ErrorCode = builder.enumType('ErrorCode', {
  description: 'Every reason for which a request can be refused.',
  values: Object.fromEntries(
    errorCodes.map((code) => [
      code,
      {
        description: {
          NOT_FOUND: 'What the id names does not exist (any more).',
          INVALID_INPUT: 'The input breaks a rule; `field` says where.',
          JOB_SEALED: 'The job is sealed or cancelled, and takes no more items.',
          JOB_FED_BY_PARENT:
            "The job is fed by its parent, whose completion seals it; it can't be sealed by hand.",
          ITEM_NOT_CLAIMABLE: 'The item is not waiting for a worker.',
        }[code],
      },
    ]),
  ) as Record<(typeof errorCodes)[number], { description: string }>,
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
  description: 'What the id names does not exist (any more).',
});
builder.objectType(InvalidInputError, {
  name: 'InvalidInputError',
  interfaces: [ErrorInterface],
  description: 'The input breaks a rule; `field` says where.',
});

/** What is wrong with one entry of a batch. GraphQL would take the error itself, as a value, for a fault. */
export const EntryError = builder
  .objectRef<Pick<JobtreeError, 'code' | 'message' | 'field'>>('EntryError')
  .implement({ interfaces: [ErrorInterface], description: 'What is wrong with one entry of a batch.' });

export function toEntryError({ code, message, field }: InvalidInputError) {
  return { code, message, field };
}

builder.objectType(JobSealedError, {
  name: 'JobSealedError',
  interfaces: [ErrorInterface],
  description: 'The job is sealed or cancelled, and takes no more items.',
});
builder.objectType(JobFedByParentError, {
  name: 'JobFedByParentError',
  interfaces: [ErrorInterface],
  description: "The job is fed by its parent, whose completion seals it; it can't be sealed by hand.",
});

const NotClaimableReason = builder.enumType('NotClaimableReason', {
  description: 'Why an item is not waiting for a worker.',
  values: Object.fromEntries(
    notClaimableReasons.map((reason) => [
      reason,
      {
        description: {
          HELD: 'A worker holds it.',
          SCHEDULED: 'It is due later: its `runAt`, or the backoff after a failure, lies ahead.',
          SUCCEEDED: 'It has its result.',
          FAILED: 'It failed for good.',
          CANCELLED: 'It was cancelled.',
        }[reason],
      },
    ]),
  ) as Record<(typeof notClaimableReasons)[number], { description: string }>,
});

builder.objectType(ItemNotClaimableError, {
  name: 'ItemNotClaimableError',
  interfaces: [ErrorInterface],
  description: 'The item is not waiting for a worker.',
  fields: (t) => ({
    reason: t.expose('reason', { type: NotClaimableReason, description: 'Why it is not.' }),
  }),
});
