import { revokeApiKey } from '../../domain/access/api-keys.ts';
import { InvalidInputError, NotFoundError } from '../../errors.ts';
import { builder } from '../core/builder.ts';
import { keyOf } from '../core/global-id.ts';
import { apiKeyField } from './api-keys.ts';

const Payload = builder.objectRef<{ id: string }>('RevokeApiKeyPayload').implement({
  description: 'The key is no longer valid.',
  fields: (t) => ({ apiKey: apiKeyField(t) }),
});

const Input = builder.inputType('RevokeApiKeyInput', {
  description: 'Which key to revoke.',
  fields: (t) => ({ id: t.id({ required: true, description: 'The id of the key.' }) }),
});

builder.mutationField('revokeApiKey', (t) =>
  t.field({
    authScopes: { may: 'administer' },
    audited: ({ input }) => [input.id],
    type: Payload,
    description:
      'Revokes a key for good. Within five seconds all servers refuse it, and end the WebSockets and streams that were opened with it. Revoking it twice changes nothing.',
    args: { input: t.arg({ type: Input, required: true, description: 'Which key.' }) },
    errors: { types: [NotFoundError, InvalidInputError] },
    resolve: async (_, { input }, { engine, caller }) => {
      const id = keyOf('ApiKey', input.id, 'id');
      await revokeApiKey(engine.database, id, caller.tenant);
      return { id };
    },
  }),
);
