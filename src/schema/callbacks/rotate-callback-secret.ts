import { rotateSecret } from '../../domain/callbacks/endpoints.ts';
import { InvalidInputError, NotFoundError } from '../../errors.ts';
import { builder } from '../core/builder.ts';
import { endpointField } from './callbacks.ts';

const Payload = builder.objectRef<{ name: string; secret: string }>('RotateCallbackSecretPayload').implement({
  description: 'The endpoint has a new secret.',
  fields: (t) => ({
    endpoint: endpointField(t),
    secret: t.exposeString('secret', {
      description: 'The new secret, for its receiver. It is never shown again.',
    }),
  }),
});

const Input = builder.inputType('RotateCallbackSecretInput', {
  description: 'Which endpoint gets a new secret.',
  fields: (t) => ({
    name: t.string({ required: true, description: 'The name of the endpoint.' }),
    keepPreviousMs: t.field({
      type: 'Count',
      required: true,
      defaultValue: 86_400_000,
      description:
        'How long the previous secret also signs, in milliseconds: 0 to 2,592,000,000 (30 days). Default: 86,400,000 (a day).',
    }),
  }),
});

builder.mutationField('rotateCallbackSecret', (t) =>
  t.field({
    authScopes: { may: 'administer' },
    audited: ({ input }) => [`endpoint ${input.name}`],
    type: Payload,
    description:
      'Gives an endpoint a new secret. For a while both sign, so that receivers can change theirs; older secrets no longer sign.',
    args: { input: t.arg({ type: Input, required: true, description: 'Which endpoint.' }) },
    errors: { types: [NotFoundError, InvalidInputError] },
    resolve: async (_, { input: { name, keepPreviousMs } }, { engine }) => ({
      name,
      ...(await rotateSecret(engine, name, keepPreviousMs)),
    }),
  }),
);
