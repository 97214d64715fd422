import { deleteEndpoint } from '../../domain/callbacks/endpoints.ts';
import { InvalidInputError, NotFoundError } from '../../errors.ts';
import { builder } from '../core/builder.ts';

const Payload = builder.objectRef<{ name: string }>('DeleteCallbackEndpointPayload').implement({
  description: 'The endpoint was deleted.',
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
      'Deletes an endpoint. Deliveries that are still to be sent there fail, and so do later ones of trees and alerts that name it; once an endpoint with this name exists again, they can be retried.',
    args: { input: t.arg({ type: Input, required: true, description: 'Which endpoint to delete.' }) },
    errors: { types: [NotFoundError, InvalidInputError] },
    resolve: async (_, { input: { name } }, { engine }) => {
      await deleteEndpoint(engine, name);
      return { name };
    },
  }),
);
