import { deleteTypeSchema } from '../../domain/types/put-type-schema.ts';
import { InvalidInputError } from '../../errors.ts';
import { builder } from '../core/builder.ts';

const Payload = builder.objectRef<{ deleted: boolean }>('DeleteTypeSchemaPayload').implement({
  description: 'The version is no longer in force.',
  fields: (t) => ({
    deleted: t.exposeBoolean('deleted', { description: 'Whether the version existed.' }),
  }),
});

const Input = builder.inputType('DeleteTypeSchemaInput', {
  description: 'Which version of which type.',
  fields: (t) => ({
    type: t.string({ required: true, description: 'The type: 1 to 200 characters.' }),
    version: t.int({ required: true, description: 'Which version: 1 to 1,000,000.' }),
  }),
});

builder.mutationField('deleteTypeSchema', (t) =>
  t.field({
    authScopes: { may: 'administer' },
    audited: ({ input }) => [`type ${input.type}`, `version ${input.version}`],
    type: Payload,
    description:
      'Deletes a version of a type: values that match no other version are refused from now on; without any version the type accepts everything. Existing items stay as they are. Repeating it changes nothing.',
    args: { input: t.arg({ type: Input, required: true, description: 'The type and the version.' }) },
    errors: { types: [InvalidInputError] },
    resolve: (_, { input }, { engine }) => deleteTypeSchema(engine, input.type, input.version),
  }),
);
