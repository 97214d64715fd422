/** Where callbacks go, and what is or was sent there. */
import type { FieldRef } from '@pothos/core';
import {
  type DeliveryAttempt,
  type CallbackDelivery as DeliveryState,
  listDeliveries,
  readDeliveries,
} from '../domain/callback-deliveries.ts';
import {
  type CallbackEndpoint as EndpointState,
  listEndpoints,
  readEndpoints,
} from '../domain/callback-endpoints.ts';
import { checkName, isId } from '../domain/checks.ts';
import { maxBatch, maxNameLength } from '../domain/limits.ts';
import { NotFoundError } from '../errors.ts';
import { builder } from './builder.ts';
import { encodeGlobalId, keyOf } from './global-id.ts';
import { checkFirst, firstComplexity, type ListOrder, pageSize, readPage } from './pages.ts';
import type { Services } from './services.ts';

export const CallbackEndpoint = builder.loadableNodeRef('CallbackEndpoint', {
  id: {
    resolve: ({ name }: EndpointState) => name,
    description: 'The id of the endpoint: `CallbackEndpoint:` and its name.',
  },
  load: async (names: string[], { engine }: Services) => {
    const found = await readEndpoints(engine.database, names);
    const byName = new Map(found.map((endpoint) => [endpoint.name, endpoint]));
    return names.map(
      (name) => byName.get(name) ?? new NotFoundError(`There is no endpoint ${name}.`, 'name'),
    );
  },
});

builder.objectType(CallbackEndpoint, {
  description:
    'Where callbacks go: a URL, and a secret that signs what is sent there. The secret is told once, when it is made.',
  fields: (t) => ({
    name: t.exposeString('name', { description: 'Its name, by which jobs and alerts refer to it.' }),
    url: t.exposeString('url', { description: 'What is called.' }),
    createdAt: t.expose('createdAt', { type: 'DateTime', description: 'When it was created.' }),
    previousSecretUntil: t.expose('previousSecretUntil', {
      type: 'DateTime',
      nullable: true,
      description: 'Until when the secret before the present one signs, too; null if none does.',
    }),
    goneAt: t.expose('goneAt', {
      type: 'DateTime',
      nullable: true,
      description:
        'Since when it is not called any more, since it answered 410 (Gone): deliveries to it fail. `putCallbackEndpoint` and `retryCallbackDelivery` have it called again.',
    }),
  }),
});

type Types = typeof builder.$inferSchemaTypes;

/** The `endpoint` field of a payload. */
export function endpointField(
  t: PothosSchemaTypes.ObjectFieldBuilder<Types, { name: string }>,
): FieldRef<Types, unknown> {
  return t.field({
    type: CallbackEndpoint,
    description: 'The endpoint, as the mutation left it.',
    resolve: ({ name }) => name,
  });
}

builder.queryField('callbackEndpoints', (t) =>
  t.field({
    authScopes: { may: 'administer' },
    type: [CallbackEndpoint],
    complexity: firstComplexity,
    description: 'The endpoints of callbacks, by name. For more than 1,000 ask again behind the last one.',
    args: {
      first: t.arg.int({
        required: true,
        defaultValue: maxBatch,
        description: 'How many at most: 0 to 1,000. Default: 1,000.',
      }),
      after: t.arg.string({ description: 'Only endpoints whose names come after this one.' }),
    },
    resolve: (_, { first, after }, { engine, caller }) => {
      const take = checkFirst({ first });
      if (after != null) checkName(after, 'after', maxNameLength);
      return listEndpoints(engine.database, { tenant: caller.tenant, after: after ?? null, take });
    },
  }),
);

const CallbackEvent = builder.enumType('CallbackEvent', {
  description: 'What a message to an endpoint says.',
  values: {
    TREE: { description: 'A tree is complete: `tree.completed`.' },
    JOB: { description: 'A job is complete: `job.completed`.' },
    DEAD_LETTERS: { description: 'Much of a type fails for good: `dead_letters.alert`.' },
  } as const,
});

const CallbackDeliveryStatus = builder.enumType('CallbackDeliveryStatus', {
  description: 'Where a delivery stands.',
  values: {
    PENDING: { description: 'It will be sent (again), or is being sent.' },
    DELIVERED: { description: 'The endpoint took it.' },
    FAILED: {
      description: 'It is not sent any more, unless somebody retries it: `retryCallbackDelivery`.',
    },
  } as const,
});

const Attempt = builder.objectRef<DeliveryAttempt>('CallbackAttempt').implement({
  description: 'What came of one attempt at a delivery.',
  fields: (t) => ({
    at: t.field({ type: 'DateTime', description: 'When it began.', resolve: ({ at }) => new Date(at) }),
    tookMs: t.int({
      nullable: true,
      description: 'How long it took, in milliseconds; null if nothing was sent.',
      resolve: ({ tookMs }) => tookMs ?? null,
    }),
    statusCode: t.int({
      nullable: true,
      description: 'The status of the answer; null if there was none.',
      resolve: ({ statusCode }) => statusCode ?? null,
    }),
    error: t.string({
      nullable: true,
      description:
        'What went wrong, with the first words of the answer, up to 500 characters; null if it was delivered.',
      resolve: ({ error }) => error ?? null,
    }),
  }),
});

export const CallbackDelivery = builder.loadableNodeRef('CallbackDelivery', {
  id: {
    resolve: ({ id }: DeliveryState) => id,
    description: 'The id of the delivery: `CallbackDelivery:` and a UUID.',
  },
  load: async (ids: string[], { engine, caller }: Services) => {
    const found = await readDeliveries(engine.database, ids, caller.tenant);
    const byId = new Map(found.map((delivery) => [delivery.id, delivery]));
    return ids.map(
      (id) =>
        byId.get(id) ??
        new NotFoundError(`There is no delivery ${encodeGlobalId('CallbackDelivery', id)}.`, 'id'),
    );
  },
});

builder.objectType(CallbackDelivery, {
  description:
    'A message to an endpoint. It is sent until the endpoint answers with a status from 200 to 299, for about a day, and kept for 30 days, whether or not its tree is.',
  fields: (t) => ({
    messageId: t.exposeString('messageId', {
      description:
        'The id that the receiver gets with every attempt (`webhook-id`): of a completion it follows from the tree or job and how often that has been complete.',
    }),
    endpoint: t.exposeString('endpoint', { description: 'The name of the endpoint.' }),
    event: t.expose('event', { type: CallbackEvent, description: 'What it says.' }),
    status: t.field({
      type: CallbackDeliveryStatus,
      description: 'Where it stands.',
      resolve: ({ deliveredAt, failedAt }) =>
        deliveredAt !== null ? 'DELIVERED' : failedAt !== null ? 'FAILED' : 'PENDING',
    }),
    rootId: t.id({
      nullable: true,
      description: 'The root of the tree that it is about, which may be gone; null for an alert.',
      resolve: ({ rootId }) => rootId && encodeGlobalId('Job', rootId),
    }),
    body: t.field({
      type: 'JSON',
      description: 'What is sent.',
      resolve: ({ body }) => JSON.parse(body),
    }),
    createdAt: t.expose('createdAt', { type: 'DateTime', description: 'When it was made.' }),
    dueAt: t.expose('dueAt', {
      type: 'DateTime',
      nullable: true,
      description:
        'When it is sent (again); while a server is sending it, when another one would. Null once it is settled.',
    }),
    deliveredAt: t.expose('deliveredAt', {
      type: 'DateTime',
      nullable: true,
      description: 'When the endpoint took it.',
    }),
    failedAt: t.expose('failedAt', {
      type: 'DateTime',
      nullable: true,
      description: 'When it was given up.',
    }),
    attemptCount: t.exposeInt('attemptCount', { description: 'How often somebody has begun to send it.' }),
    attempts: t.field({
      type: [Attempt],
      complexity: { multiplier: 20 },
      description: 'What came of the last attempts, up to 20, the oldest first.',
      resolve: ({ attempts }) => [...attempts],
    }),
  }),
});

const CallbackDeliveryFilter = builder.inputType('CallbackDeliveryFilter', {
  description: 'Which deliveries a list shows; all conditions hold together.',
  fields: (t) => ({
    endpoint: t.string({ description: 'Only to the endpoint of this name.' }),
    rootId: t.id({ description: 'Only about the tree of this root.' }),
    status: t.field({ type: CallbackDeliveryStatus, description: 'Only of this status.' }),
  }),
});

const byId: ListOrder<{ id: string }, string> = {
  name: 'deliveries',
  keyOf: ({ id }) => id,
  parse: (text) => (isId(text) ? text : undefined),
};

builder.queryField('callbackDeliveries', (t) =>
  t.connection(
    {
      authScopes: { may: 'administer' },
      type: CallbackDelivery,
      complexity: (args) => ({ multiplier: pageSize(args) }),
      description: 'What is or was sent to endpoints, the newest first.',
      args: { filter: t.arg({ type: CallbackDeliveryFilter, description: 'Which; all by default.' }) },
      resolve: (_, { filter, ...args }, { engine, caller: { tenant } }) => {
        const rootId = filter?.rootId == null ? null : keyOf('Job', filter.rootId, 'filter.rootId');
        return readPage(
          byId,
          args,
          (range) => listDeliveries(engine.database, { tenant, ...filter, rootId }, range),
          (rows) => rows,
        );
      },
    },
    { name: 'CallbackDeliveryConnection', description: 'A page of deliveries.' },
    { name: 'CallbackDeliveryEdge', description: 'A delivery in a page.' },
  ),
);
