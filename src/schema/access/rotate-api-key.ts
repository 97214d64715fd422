import { rotateApiKey } from '../../domain/access/api-keys.ts';
import { InvalidInputError, NotFoundError } from '../../errors.ts';
import { builder } from '../core/builder.ts';
import { keyOf } from '../core/global-id.ts';
import { apiKeyField } from './api-keys.ts';

const Payload = builder.objectRef<{ id: string; key: string }>('RotateApiKeyPayload').implement({
  description: 'The key has a new text.',
  fields: (t) => ({
    apiKey: apiKeyField(t),
    key: t.exposeString('key', {
      authScopes: { may: 'administer' },
      description: 'The new text of the key. It is never shown again.',
    }),
  }),
});

const Input = builder.inputType('RotateApiKeyInput', {
  description: 'Which key gets a new text.',
  fields: (t) => ({
    id: t.id({ required: true, description: 'The id of the key.' }),
    keepPreviousMs: t.field({
      type: 'Count',
      required: true,
      defaultValue: 86_400_000,
      description:
        'How long the previous text remains valid, in milliseconds: 0 to 2,592,000,000 (30 days). Default: 86,400,000 (a day).',
    }),
  }),
});

builder.mutationField('rotateApiKey', (t) =>
  t.field({
    authScopes: { may: 'administer' },
    audited: ({ input }) => [input.id],
    type: Payload,
    description:
      'Gives a key a new text. For a while both are valid, so that programs can change over; older texts are no longer valid. NOT_FOUND for a revoked key.',
    args: { input: t.arg({ type: Input, required: true, description: 'Which key.' }) },
    errors: { types: [NotFoundError, InvalidInputError] },
    resolve: async (_, { input }, { engine, caller }) => {
      const id = keyOf('ApiKey', input.id, 'id');
      return { id, ...(await rotateApiKey(engine.database, id, input.keepPreviousMs, caller.tenant)) };
    },
  }),
);
