import { putEndpoint } from '../../domain/callbacks/endpoints.ts';
import { InvalidInputError } from '../../errors.ts';
import { toHost } from '../access/audit-subjects.ts';
import { builder } from '../core/builder.ts';
import { endpointField } from './callbacks.ts';

const Payload = builder
  .objectRef<{ name: string; secret: string | null }>('PutCallbackEndpointPayload')
  .implement({
    description: 'The endpoint was saved.',
    fields: (t) => ({
      endpoint: endpointField(t),
      secret: t.exposeString('secret', {
        nullable: true,
        description:
          'The secret of a new endpoint, for its receiver: `whsec_` and base64. It is never shown again. Null if an endpoint with this name existed, which keeps its secret.',
      }),
    }),
  });

const Input = builder.inputType('PutCallbackEndpointInput', {
  description: 'An endpoint of callbacks.',
  fields: (t) => ({
    name: t.string({ required: true, description: 'Its name: 1 to 200 characters.' }),
    url: t.string({
      required: true,
      description:
        'The URL to call: http or https, up to 2,000 characters, without a user and a password. A host that is, or resolves to, an address that is not public is refused, unless a setting of the server allows its network.',
    }),
  }),
});

builder.mutationField('putCallbackEndpoint', (t) =>
  t.field({
    authScopes: { may: 'administer' },
    audited: ({ input: { name, url } }) => [`endpoint ${name}`, ...toHost(url)],
    type: Payload,
    description:
      'Creates an endpoint for callbacks, or changes the URL of the existing one with its name, also for callbacks that are already waiting. Repeating it changes nothing, except that an endpoint that had answered 410 is called again.',
    args: { input: t.arg({ type: Input, required: true, description: 'The endpoint.' }) },
    errors: { types: [InvalidInputError] },
    resolve: async (_, { input }, { engine }) => ({
      name: input.name,
      ...(await putEndpoint(engine, input)),
    }),
  }),
);
