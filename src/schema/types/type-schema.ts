import { coversType } from '../../domain/access/rights.ts';
import {
  readTypeSchemas,
  readTypesWithSchemas,
  type TypeSchema as TypeSchemaState,
} from '../../domain/types/put-type-schema.ts';
import { checkName } from '../../domain/values/checks.ts';
import { maxBatch, maxNameLength } from '../../domain/values/limits.ts';
import { builder } from '../core/builder.ts';
import { checkFirst, firstComplexity } from '../core/pages.ts';
import { checkTypeScope } from '../core/scope.ts';

export const TypeSchema = builder.objectRef<TypeSchemaState>('TypeSchema').implement({
  description:
    'Schemas for the payloads and results of a type, in one version. A payload is accepted if it matches any version that has a payload schema, a result if it matches any that has a result schema.',
  fields: (t) => ({
    type: t.exposeString('type', { description: 'The type.' }),
    version: t.exposeInt('version', { description: 'Which version, from 1.' }),
    payload: t.expose('payload', {
      type: 'JSON',
      nullable: true,
      description: 'The JSON Schema of payloads; null if any payload is accepted.',
    }),
    result: t.expose('result', {
      type: 'JSON',
      nullable: true,
      description: 'The JSON Schema of results; null if any result is accepted.',
    }),
    createdAt: t.expose('createdAt', { type: 'DateTime', description: 'When it was registered.' }),
  }),
});

builder.queryField('typeSchemas', (t) =>
  t.field({
    authScopes: { may: 'list' },
    type: [TypeSchema],
    complexity: { multiplier: 10 },
    description: 'All versions of a type, up to 10, the newest first. Empty if it has no schemas.',
    args: { type: t.arg.string({ required: true, description: 'The type: 1 to 200 characters.' }) },
    resolve: (_, { type }, context) => {
      checkName(type, 'type', maxNameLength);
      checkTypeScope(context, [type], 'type');
      return readTypeSchemas(context.engine.database, type);
    },
  }),
);

builder.queryField('typesWithSchemas', (t) =>
  t.stringList({
    authScopes: { may: 'list' },
    complexity: firstComplexity,
    description:
      'The names of the types that have schemas, in order. If there are more than 1,000, ask again with `after`.',
    args: {
      first: t.arg.int({
        required: true,
        defaultValue: maxBatch,
        description: 'The maximum number: 0 to 1,000. Default: 1,000.',
      }),
      after: t.arg.string({ description: 'Only types whose names come after this one.' }),
    },
    resolve: async (_, { first, after }, { engine, caller }) => {
      const take = checkFirst({ first });
      if (after != null) checkName(after, 'after', maxNameLength);
      const types = await readTypesWithSchemas(engine.database, {
        tenant: caller.tenant,
        after: after ?? null,
      });
      return types.filter((type) => coversType(caller, type)).slice(0, take);
    },
  }),
);
