import { deleteEndpoint } from '../../domain/callback-endpoints.ts';
import { InvalidInputError, NotFoundError } from '../../errors.ts';
import { builder } from '../builder.ts';

const Payload = builder.objectRef<{ name: string }>('DeleteCallbackEndpointPayload').implement({
  description: 'The endpoint is gone.',
  fields: (t) => ({ name: t.exposeString('name', { description: 'The name that it had.' }) }),
});

const Input = builder.inputType('DeleteCallbackEndpointInput', {
  description: 'Which endpoint to delete.',
  fields: (t) => ({ name: t.string({ required: true, description: 'The name of the endpoint.' }) }),
});

builder.mutationField('deleteCallbackEndpoint', (t) =>
  t.field({
    authScopes: { may: 'administer' },
    audited: ({ input }) => [`endpoint ${input.name}`],
    type: Payload,
    description:
      'Deletes an endpoint. What is still to be sent there fails, also what trees and alerts that name it send later; once there is an endpoint of the name again, it can be retried.',
    args: { input: t.arg({ type: Input, required: true, description: 'Which endpoint to delete.' }) },
    errors: { types: [NotFoundError, InvalidInputError] },
    resolve: async (_, { input: { name } }, { engine }) => {
      await deleteEndpoint(engine, name);
      return { name };
    },
  }),
);
