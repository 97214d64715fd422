import { createApiKey } from '../../domain/api-keys.ts';
import { ForbiddenError, InvalidInputError } from '../../errors.ts';
import { apiKeyField, limitMeanings, Role } from '../api-keys.ts';
import { builder } from '../builder.ts';
import { keyOf } from '../global-id.ts';

const Payload = builder.objectRef<{ id: string; key: string }>('CreateApiKeyPayload').implement({
  description: 'There is a new key.',
  fields: (t) => ({
    apiKey: apiKeyField(t),
    key: t.exposeString('key', {
      authScopes: { may: 'administer' },
      description: 'The text of the key, for `Authorization: Bearer`. It is never told again.',
    }),
  }),
});

const Limits = builder.inputType('ApiKeyLimitsInput', {
  description:
    'What a key may have of each server: whole numbers from 1 to 1,000,000,000, of what is stored to 10^15.',
  fields: (t) => ({
    requestsPerSecond: t.int({ description: `${limitMeanings.requestsPerSecond}.` }),
    costPerSecond: t.int({ description: `${limitMeanings.costPerSecond}.` }),
    connections: t.int({ description: `${limitMeanings.connections}.` }),
    subscriptions: t.int({ description: `${limitMeanings.subscriptions}.` }),
    storedItems: t.field({ type: 'Count', description: `${limitMeanings.storedItems}.` }),
    storedBytes: t.field({ type: 'Count', description: `${limitMeanings.storedBytes}.` }),
  }),
});

const Input = builder.inputType('CreateApiKeyInput', {
  description: 'What a new key is for.',
  fields: (t) => ({
    name: t.string({ required: true, description: 'What it is called, for people: 1 to 200 characters.' }),
    roles: t.field({ type: [Role], required: true, description: 'What it is for: at least one role.' }),
    types: t.stringList({
      description:
        'Only jobs of these types, up to 100: each a name, or the beginning of names with a `*` behind it. Not with the role ADMIN. Default: all.',
    }),
    rootIds: t.idList({
      description: 'Only the trees of these roots, up to 100. Not with the role ADMIN. Default: all.',
    }),
    tenant: t.string({
      description:
        'The tenant that its callers belong to: 1 to 40 of the characters a to z, 0 to 9 and `-`. An admin of a tenant makes keys of that one alone, and FORBIDDEN is any other. Default: that of the caller.',
    }),
    expiresAt: t.field({ type: 'DateTime', description: 'When it is over. Default: never.' }),
    limits: t.field({
      type: Limits,
      description: 'Limits of its own. Default: what the settings of the servers say.',
    }),
  }),
});

builder.mutationField('createApiKey', (t) =>
  t.field({
    authScopes: { may: 'administer' },
    audited: ({ input: { name, roles, types, rootIds, tenant } }) => [
      `key ${name}`,
      ...roles.map((role) => `role ${role}`),
      ...(types ?? []).map((type) => `type ${type}`),
      ...(rootIds ?? []),
      ...(tenant == null ? [] : [`tenant ${tenant}`]),
    ],
    type: Payload,
    description: 'Makes a key of the API. Of its text the server keeps only the hash.',
    args: { input: t.arg({ type: Input, required: true, description: 'What the key is for.' }) },
    errors: { types: [InvalidInputError] },
    resolve: (_, { input }, { engine, caller }) => {
      const tenant = input.tenant ?? caller.tenant;
      if (caller.tenant !== null && tenant !== caller.tenant)
        throw new ForbiddenError('The key would belong to another tenant than yours.', 'tenant');
      const rootIds = input.rootIds?.map((id, i) => keyOf('Job', id, `rootIds[${i}]`));
      return createApiKey(engine.database, { ...input, rootIds, tenant }, caller.name);
    },
  }),
);
