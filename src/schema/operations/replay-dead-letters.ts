import { startOperation } from '../../domain/operations/operations.ts';
import { InvalidInputError, NotFoundError, StorageLimitError } from '../../errors.ts';
import { toConditions } from '../access/audit-subjects.ts';
import { builder } from '../core/builder.ts';
import { DeadLetterFilter, toFilter } from './dead-letters.ts';
import { operationField } from './operation.ts';

const Payload = builder.objectRef<string>('ReplayDeadLettersPayload').implement({
  description: 'The items are tried again.',
  fields: (t) => ({ operation: operationField(t) }),
});

const Input = builder.inputType('ReplayDeadLettersInput', {
  description: 'What to try again.',
  fields: (t) => ({
    filter: t.field({ type: DeadLetterFilter, required: true, description: 'Which items.' }),
    payload: t.field({
      type: 'JSON',
      description:
        'A corrected payload, if `filter.itemIds` names exactly one item: any JSON, up to 1 MB of text (a setting of the server). Default: its current payload.',
    }),
    payloadPatch: t.field({
      type: 'JSON',
      description:
        'Corrects the payload of each item: a JSON merge patch (RFC 7396), such as `{"currency": "EUR", "amount": null}`. Its keys replace those of the payload, also within objects; null removes a key. An object, up to 1 MB of text (a setting of the server), and not with `payload`. Items whose payloads are neither objects nor null, and those whose payloads would become too large or not match a schema of their type, stay dead letters: `Operation.skipped`.',
    }),
  }),
});

builder.mutationField('replayDeadLetters', (t) =>
  t.field({
    authScopes: { may: 'settle' },
    audited: ({ input }) => [
      ...toConditions(input.filter),
      ...(input.payload == null && input.payloadPatch == null ? [] : ['with a corrected payload']),
    ],
    type: Payload,
    description:
      'Tries failed items again. They go to the end of the queue, keep their failures, and may fail as often as new ones. Their jobs are reopened, with all jobs that these feed, and complete again, in a new generation. Items that fail again during the operation are not replayed again; items of cancelled jobs are skipped. BUSY if counting them takes longer than 10 seconds.',
    args: { input: t.arg({ type: Input, required: true, description: 'What to try again.' }) },
    errors: { types: [NotFoundError, InvalidInputError, StorageLimitError] },
    resolve: async (_, { input }, context) =>
      startOperation(context.engine, 'REPLAY', await toFilter(input.filter, context), {
        payload: input.payload ?? undefined,
        payloadPatch: input.payloadPatch ?? undefined,
        requestedBy: context.caller.name,
      }),
  }),
);
