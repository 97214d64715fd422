import type { FieldRef } from '@pothos/core';
import { type ApiKey as ApiKeyState, findApiKey, listApiKeys } from '../../domain/access/api-keys.ts';
import { type CallerLimits, type Role as RoleName, roleMeanings, roles } from '../../domain/access/rights.ts';
import { maxBatch } from '../../domain/values/limits.ts';
import { NotFoundError } from '../../errors.ts';
import { builder } from '../core/builder.ts';
import { encodeGlobalId, keyOf } from '../core/global-id.ts';
import { checkFirst, firstComplexity } from '../core/pages.ts';

export const Role = builder.enumType('Role', {
  description: 'What a caller may do. It can have several roles.',
  values: Object.fromEntries(
    roles.map((role) => [role.toUpperCase(), { value: role, description: roleMeanings[role] }]),
  ) as Record<Uppercase<RoleName>, { value: RoleName; description: string }>,
});

/** The meaning of each limit of a key. */
export const limitMeanings = {
  requestsPerSecond: 'Operations per second, over HTTP and WebSocket',
  costPerSecond: 'The cost of its operations per second, in values that their answers could have',
  connections: 'Simultaneous WebSockets and event streams',
  subscriptions: 'Simultaneous subscriptions',
  storedItems:
    'How many items its tenant (or, without a tenant, everyone together) may have stored for the key to add more; the limit of the tenant applies, too',
  storedBytes:
    'How many bytes of payloads, results and uploads its tenant (or, without a tenant, everyone together) may have stored for the key to add more; the limit of the tenant applies, too',
} as const;

const ApiKeyLimits = builder.objectRef<Partial<CallerLimits>>('ApiKeyLimits').implement({
  description: 'The limits of a key on each server. Null for the settings of the server.',
  fields: (t) => ({
    requestsPerSecond: t.int({
      nullable: true,
      description: `${limitMeanings.requestsPerSecond}.`,
      resolve: ({ requestsPerSecond }) => requestsPerSecond ?? null,
    }),
    costPerSecond: t.int({
      nullable: true,
      description: `${limitMeanings.costPerSecond}.`,
      resolve: ({ costPerSecond }) => costPerSecond ?? null,
    }),
    connections: t.int({
      nullable: true,
      description: `${limitMeanings.connections}.`,
      resolve: ({ connections }) => connections ?? null,
    }),
    subscriptions: t.int({
      nullable: true,
      description: `${limitMeanings.subscriptions}.`,
      resolve: ({ subscriptions }) => subscriptions ?? null,
    }),
    storedItems: t.field({
      type: 'Count',
      nullable: true,
      description: `${limitMeanings.storedItems}.`,
      resolve: ({ storedItems }) => storedItems ?? null,
    }),
    storedBytes: t.field({
      type: 'Count',
      nullable: true,
      description: `${limitMeanings.storedBytes}.`,
      resolve: ({ storedBytes }) => storedBytes ?? null,
    }),
  }),
});

export const ApiKey = builder.objectRef<ApiKeyState>('ApiKey').implement({
  description:
    'A key by which a program authenticates. The key itself is shown only once, when it is created.',
  fields: (t) => ({
    id: t.id({
      description: 'The id of the key, which is not secret: `ApiKey:` and a UUID.',
      resolve: ({ id }) => encodeGlobalId('ApiKey', id),
    }),
    name: t.exposeString('name', { description: 'Its name, for people.' }),
    tenant: t.exposeString('tenant', {
      nullable: true,
      description: 'The tenant of its callers; null if they belong to none, and see all tenants.',
    }),
    roles: t.field({
      type: [Role],
      description: 'Its roles: up to 5.',
      resolve: ({ roles }) => [...roles],
    }),
    types: t.stringList({
      nullable: true,
      description:
        'The types of jobs that it has access to, up to 100: names, or prefixes followed by `*`, which without a tenant does not reach into those of tenants (`docs/tenants.md`). Null for all.',
      resolve: ({ types }) => (types.length === 0 ? null : types),
    }),
    rootIds: t.idList({
      nullable: true,
      description: 'The trees that it has access to, as ids of their roots: up to 100. Null for all.',
      resolve: ({ rootIds }) =>
        rootIds.length === 0 ? null : rootIds.map((id) => encodeGlobalId('Job', id)),
    }),
    limits: t.expose('limits', {
      type: ApiKeyLimits,
      description: 'Its own limits, which replace the settings of the servers.',
    }),
    createdAt: t.expose('createdAt', { type: 'DateTime', description: 'When it was made.' }),
    createdBy: t.exposeString('createdBy', { description: 'Who created it.' }),
    expiresAt: t.expose('expiresAt', {
      type: 'DateTime',
      nullable: true,
      description: 'When it expires; null for never.',
    }),
    lastUsedAt: t.expose('lastUsedAt', {
      type: 'DateTime',
      nullable: true,
      description: 'When it was last used, up to a minute behind; null if it never was.',
    }),
    previousUntil: t.expose('previousUntil', {
      type: 'DateTime',
      nullable: true,
      description:
        'Until when its previous text remains valid after a rotation; null if it is no longer valid.',
    }),
    revokedAt: t.expose('revokedAt', {
      type: 'DateTime',
      nullable: true,
      description: 'When it was revoked; null if it was not.',
    }),
  }),
});

type Types = typeof builder.$inferSchemaTypes;

/** The `apiKey` field of a payload. */
export function apiKeyField(
  t: PothosSchemaTypes.ObjectFieldBuilder<Types, { id: string }>,
): FieldRef<Types, unknown> {
  return t.field({
    type: ApiKey,
    description: 'The key after the mutation, without its text.',
    resolve: async ({ id }, _, { engine }) => {
      const key = await findApiKey(engine.database, id);
      if (key === undefined) throw new NotFoundError('There is no such key.', 'id');
      return key;
    },
  });
}

builder.queryField('apiKeys', (t) =>
  t.field({
    authScopes: { may: 'administer' },
    type: [ApiKey],
    complexity: firstComplexity,
    description:
      'The API keys by name, including revoked and expired ones; for an admin of a tenant, its own. If there are more than 1,000, query again after the last one.',
    args: {
      first: t.arg.int({
        required: true,
        defaultValue: maxBatch,
        description: 'The maximum number: 0 to 1,000. Default: 1,000.',
      }),
      after: t.arg.id({ description: 'Only keys after the one with this id.' }),
    },
    resolve: (_, { first, after }, { engine, caller }) => {
      const take = checkFirst({ first });
      return listApiKeys(engine.database, {
        tenant: caller.tenant,
        after: after == null ? null : keyOf('ApiKey', after, 'after'),
        take,
      });
    },
  }),
);
