import { putTypeSchema } from '../../domain/types/put-type-schema.ts';
import { InvalidInputError } from '../../errors.ts';
import { builder } from '../core/builder.ts';

const Payload = builder.objectRef<{ created: boolean }>('PutTypeSchemaPayload').implement({
  description: 'The version is in force.',
  fields: (t) => ({
    created: t.exposeBoolean('created', {
      description: 'False if it already existed with the same schemas.',
    }),
  }),
});

const Input = builder.inputType('PutTypeSchemaInput', {
  description: 'A version of a type: at least one of the two schemas.',
  fields: (t) => ({
    type: t.string({ required: true, description: 'The type: 1 to 200 characters.' }),
    version: t.int({
      required: true,
      description:
        'Which version: 1 to 1,000,000. A type has up to ten at a time. INVALID_INPUT if this version exists with other schemas.',
    }),
    payload: t.field({
      type: 'JSON',
      description:
        'The JSON Schema (draft 2020-12) for payloads, up to 50,000 bytes and 32 levels: an object, or true or false. References lead to its own `$defs` and not in circles, regular expressions have the syntax of RE2, and `format` checks nothing. Default: any payload is accepted.',
    }),
    result: t.field({
      type: 'JSON',
      description:
        'The JSON Schema for results, with the limits of that for payloads. Default: any result is accepted.',
    }),
  }),
});

builder.mutationField('putTypeSchema', (t) =>
  t.field({
    authScopes: { may: 'administer' },
    audited: ({ input }) => [`type ${input.type}`, `version ${input.version}`],
    type: Payload,
    description:
      'Registers schemas for the payloads and results of a type. This server uses them at once, others within two seconds. Existing items are not checked. Repeating it changes nothing.',
    args: {
      input: t.arg({ type: Input, required: true, description: 'The type, the version and its schemas.' }),
    },
    errors: { types: [InvalidInputError] },
    resolve: (_, { input }, { engine }) => putTypeSchema(engine, input),
  }),
);
