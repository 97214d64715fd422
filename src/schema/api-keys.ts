import type { FieldRef } from '@pothos/core';
import { type ApiKey as ApiKeyState, findApiKey, listApiKeys } from '../domain/api-keys.ts';
import { maxBatch } from '../domain/limits.ts';
import { type CallerLimits, type Role as RoleName, roleMeanings, roles } from '../domain/rights.ts';
import { NotFoundError } from '../errors.ts';
import { builder } from './builder.ts';
import { encodeGlobalId, keyOf } from './global-id.ts';
import { checkFirst, firstComplexity } from './pages.ts';

export const Role = builder.enumType('Role', {
  description: 'What a caller is for. It may have several.',
  values: Object.fromEntries(
    roles.map((role) => [role.toUpperCase(), { value: role, description: roleMeanings[role] }]),
  ) as Record<Uppercase<RoleName>, { value: RoleName; description: string }>,
});

/** What each limit of a key is. */
export const limitMeanings = {
  requestsPerSecond: 'Operations a second, over HTTP and on sockets',
  costPerSecond: 'What its operations may cost a second, in values that their answers could have',
  connections: 'WebSockets and event streams at once',
  subscriptions: 'Subscriptions at once',
  storedItems:
    'Items that its tenant, or without one everybody, may have stored for it to add more; the limit of the tenant holds, too',
  storedBytes: 'The same for bytes of payloads, results and uploads',
} as const;

const ApiKeyLimits = builder.objectRef<Partial<CallerLimits>>('ApiKeyLimits').implement({
  description: 'What a key may have of each server. Null for what the settings of the server say.',
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
  description: 'A key by which a program shows who it is. The key itself is told once, when it is made.',
  fields: (t) => ({
    id: t.id({
      description: 'The id of the key, which is no secret: `ApiKey:` and a UUID.',
      resolve: ({ id }) => encodeGlobalId('ApiKey', id),
    }),
    name: t.exposeString('name', { description: 'What it is called, for people.' }),
    tenant: t.exposeString('tenant', {
      nullable: true,
      description:
        'The tenant that its callers belong to; null for callers that belong to none, and see all.',
    }),
    roles: t.field({
      type: [Role],
      description: 'What it is for: up to 4.',
      resolve: ({ roles }) => [...roles],
    }),
    types: t.stringList({
      nullable: true,
      description:
        'The types of jobs that it is for, up to 100: each a name, or the beginning of names with a `*` behind it. Null for all.',
      resolve: ({ types }) => (types.length === 0 ? null : types),
    }),
    rootIds: t.idList({
      nullable: true,
      description: 'The trees that it is for, by the ids of their roots: up to 100. Null for all.',
      resolve: ({ rootIds }) =>
        rootIds.length === 0 ? null : rootIds.map((id) => encodeGlobalId('Job', id)),
    }),
    limits: t.expose('limits', {
      type: ApiKeyLimits,
      description: 'What it may have, where that is not what the settings of the servers say.',
    }),
    createdAt: t.expose('createdAt', { type: 'DateTime', description: 'When it was made.' }),
    createdBy: t.exposeString('createdBy', { description: 'Who made it.' }),
    expiresAt: t.expose('expiresAt', {
      type: 'DateTime',
      nullable: true,
      description: 'When it is over; null for never.',
    }),
    lastUsedAt: t.expose('lastUsedAt', {
      type: 'DateTime',
      nullable: true,
      description: 'When it was last shown to a server, up to a minute behind; null if it never was.',
    }),
    previousUntil: t.expose('previousUntil', {
      type: 'DateTime',
      nullable: true,
      description: 'Until when the text that it had before it was rotated is good, too; null if it is not.',
    }),
    revokedAt: t.expose('revokedAt', {
      type: 'DateTime',
      nullable: true,
      description: 'Since when it is revoked; null if it is not.',
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
    description: 'The key, as the mutation left it, without its text.',
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
      'The keys of the API by name, also those that are revoked or over; for an admin of a tenant, its own. For more than 1,000 ask again behind the last one.',
    args: {
      first: t.arg.int({
        required: true,
        defaultValue: maxBatch,
        description: 'How many at most: 0 to 1,000. Default: 1,000.',
      }),
      after: t.arg.id({ description: 'Only keys behind the one with this id.' }),
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
