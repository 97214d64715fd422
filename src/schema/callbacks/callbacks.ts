/** Callback endpoints, and the deliveries to them. */
import type { FieldRef } from '@pothos/core';
import {
  type DeliveryAttempt,
  type CallbackDelivery as DeliveryState,
  listDeliveries,
  readDeliveries,
} from '../../domain/callbacks/deliveries.ts';
import {
  type CallbackEndpoint as EndpointState,
  listEndpoints,
  readEndpoints,
} from '../../domain/callbacks/endpoints.ts';
import { checkName, isId } from '../../domain/values/checks.ts';
import { JsonText } from '../../domain/values/json-text.ts';
import { maxBatch, maxNameLength } from '../../domain/values/limits.ts';
import { NotFoundError } from '../../errors.ts';
import { builder } from '../core/builder.ts';
import { encodeGlobalId, keyOf } from '../core/global-id.ts';
import { checkFirst, firstComplexity, type ListOrder, pageSize, readPage } from '../core/pages.ts';
import type { Services } from '../core/services.ts';

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
    'A URL to which callbacks are sent, and a secret that signs them. The secret is shown only once, when it is created.',
  fields: (t) => ({
    name: t.exposeString('name', { description: 'Its name, by which jobs and alerts refer to it.' }),
    url: t.exposeString('url', { description: 'The URL that is called.' }),
    createdAt: t.expose('createdAt', { type: 'DateTime', description: 'When it was created.' }),
    previousSecretUntil: t.expose('previousSecretUntil', {
      type: 'DateTime',
      nullable: true,
      description: 'Until when the previous secret signs, too; null if it no longer does.',
    }),
    goneAt: t.expose('goneAt', {
      type: 'DateTime',
      nullable: true,
      description:
        'Since when it is no longer called, because it answered 410 (Gone); deliveries to it fail. `putCallbackEndpoint` and `retryCallbackDelivery` reactivate it.',
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
    description: 'The endpoint after the mutation.',
    resolve: ({ name }) => name,
  });
}

builder.queryField('callbackEndpoints', (t) =>
  t.field({
    authScopes: { may: 'administer' },
    type: [CallbackEndpoint],
    complexity: firstComplexity,
    description:
      'The endpoints of callbacks, by name. If there are more than 1,000, query again after the last one.',
    args: {
      first: t.arg.int({
        required: true,
        defaultValue: maxBatch,
        description: 'The maximum number: 0 to 1,000. Default: 1,000.',
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
  description: 'What a message to an endpoint is about.',
  values: {
    TREE: { description: 'A tree is complete: `tree.completed`.' },
    JOB: { description: 'A job is complete: `job.completed`.' },
    DEAD_LETTERS: { description: 'Many items of a type failed for good: `dead_letters.alert`.' },
  } as const,
});

const CallbackDeliveryStatus = builder.enumType('CallbackDeliveryStatus', {
  description: 'The status of a delivery.',
  values: {
    PENDING: { description: 'It is waiting to be sent, or is being sent.' },
    DELIVERED: { description: 'The endpoint accepted it.' },
    FAILED: {
      description: 'It is no longer sent, unless somebody retries it: `retryCallbackDelivery`.',
    },
  } as const,
});

const Attempt = builder.objectRef<DeliveryAttempt>('CallbackAttempt').implement({
  description: 'The outcome of one attempt at a delivery.',
  fields: (t) => ({
    at: t.field({ type: 'DateTime', description: 'When it started.', resolve: ({ at }) => new Date(at) }),
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
        'What went wrong, with the beginning of the answer, up to 500 characters; null if it was delivered.',
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
    'A message to an endpoint. It is sent until the endpoint answers with a status from 200 to 299, for about a day, and kept for 30 days, even if its tree is not.',
  fields: (t) => ({
    messageId: t.exposeString('messageId', {
      description:
        'The id that the receiver gets with every attempt (`webhook-id`). For a completion it consists of the tree or job and its number of completions.',
    }),
    endpoint: t.exposeString('endpoint', { description: 'The name of the endpoint.' }),
    event: t.expose('event', { type: CallbackEvent, description: 'What the message is about.' }),
    status: t.field({
      type: CallbackDeliveryStatus,
      description: 'Its status.',
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
      description: 'The body that is sent.',
      resolve: ({ body }) => new JsonText(body),
    }),
    createdAt: t.expose('createdAt', { type: 'DateTime', description: 'When it was made.' }),
    dueAt: t.expose('dueAt', {
      type: 'DateTime',
      nullable: true,
      description:
        'When it is sent next; while a server is sending it, when another server would. Null once it is delivered or has failed.',
    }),
    deliveredAt: t.expose('deliveredAt', {
      type: 'DateTime',
      nullable: true,
      description: 'When the endpoint accepted it.',
    }),
    failedAt: t.expose('failedAt', {
      type: 'DateTime',
      nullable: true,
      description: 'When it failed for good.',
    }),
    attemptCount: t.exposeInt('attemptCount', { description: 'How many attempts to send it were started.' }),
    attempts: t.field({
      type: [Attempt],
      complexity: { multiplier: 20 },
      description: 'The outcomes of the last attempts, up to 20, the oldest first.',
      resolve: ({ attempts }) => [...attempts],
    }),
  }),
});

const CallbackDeliveryFilter = builder.inputType('CallbackDeliveryFilter', {
  description: 'Which deliveries to list; all conditions must be met.',
  fields: (t) => ({
    endpoint: t.string({ description: 'Only to the endpoint of this name.' }),
    rootId: t.id({ description: 'Only about the tree of this root.' }),
    status: t.field({ type: CallbackDeliveryStatus, description: 'Only with this status.' }),
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
      description: 'Messages that are or were sent to endpoints, the newest first.',
      args: { filter: t.arg({ type: CallbackDeliveryFilter, description: 'Which; all by default.' }) },
      resolve: (_, { filter, ...args }, context) => {
        const {
          engine,
          caller: { tenant },
        } = context;
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
