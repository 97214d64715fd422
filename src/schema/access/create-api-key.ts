import { createApiKey } from '../../domain/access/api-keys.ts';
import { ForbiddenError, InvalidInputError } from '../../errors.ts';
import { builder } from '../core/builder.ts';
import { keyOf } from '../core/global-id.ts';
import { apiKeyField, limitMeanings, Role } from './api-keys.ts';

const Payload = builder.objectRef<{ id: string; key: string }>('CreateApiKeyPayload').implement({
  description: 'The key was created.',
  fields: (t) => ({
    apiKey: apiKeyField(t),
    key: t.exposeString('key', {
      authScopes: { may: 'administer' },
      description: 'The text of the key, for `Authorization: Bearer`. It is never shown again.',
    }),
  }),
});

const Limits = builder.inputType('ApiKeyLimitsInput', {
  description:
    'The limits of a key on each server: whole numbers from 1 to 1,000,000,000, for what is stored to 10^15. Those that are omitted are the settings of the servers.',
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
  description: 'The rights of a new key.',
  fields: (t) => ({
    name: t.string({ required: true, description: 'Its name, for people: 1 to 200 characters.' }),
    roles: t.field({ type: [Role], required: true, description: 'Its roles: at least one.' }),
    types: t.stringList({
      description:
        'Only jobs of these types, up to 100: names, or prefixes followed by `*`, which without a tenant does not reach into those of tenants (`docs/tenants.md`). Not with the role ADMIN. Default: all.',
    }),
    rootIds: t.idList({
      description: 'Only the trees of these roots, up to 100. Not with the role ADMIN. Default: all.',
    }),
    tenant: t.string({
      description:
        'The tenant of its callers: 1 to 40 characters from a to z, 0 to 9 and `-`. An admin of a tenant can only create keys of that tenant; any other is FORBIDDEN. Default: that of the caller.',
    }),
    expiresAt: t.field({ type: 'DateTime', description: 'When it expires. Default: never.' }),
    limits: t.field({
      type: Limits,
      description: 'Its own limits. Default: the settings of the servers.',
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
    description: 'Creates an API key. The server stores only the hash of its text.',
    args: { input: t.arg({ type: Input, required: true, description: 'The rights of the key.' }) },
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
