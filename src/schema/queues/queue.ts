import { seesTenant } from '../../domain/access/rights.ts';
import { sumOf } from '../../domain/figures/figures.ts';
import {
  type DeadLetterAlert,
  type Depths,
  type Queue as QueueState,
  type Rate,
  readQueue,
  readQueues,
  readQueueTotal,
} from '../../domain/queues/queues.ts';
import { checkBatch, checkName, checkText } from '../../domain/values/checks.ts';
import { maxBatch, maxNameLength } from '../../domain/values/limits.ts';
import { builder } from '../core/builder.ts';
import { createGroupLoader } from '../core/loader.ts';
import { checkFirst, firstComplexity } from '../core/pages.ts';
import { checkTypeScope, shownTypes } from '../core/scope.ts';

const QueueRate = builder.objectRef<Rate>('QueueRate').implement({
  description: 'How many items may be claimed in any interval of time.',
  fields: (t) => ({
    limit: t.exposeInt('limit', { description: 'The maximum number of items.' }),
    intervalMs: t.exposeInt('intervalMs', { description: 'The interval, in milliseconds.' }),
  }),
});

const Alert = builder.objectRef<DeadLetterAlert>('DeadLetterAlert').implement({
  description: 'When an endpoint is told of dead letters.',
  fields: (t) => ({
    endpoint: t.exposeString('endpoint', { description: 'The name of the endpoint.' }),
    count: t.exposeInt('count', {
      description: 'How many dead letters within the interval raise the alert.',
    }),
    intervalMs: t.exposeInt('intervalMs', { description: 'The interval, in milliseconds.' }),
  }),
});

interface QueueTotalState extends Depths {
  readonly typeCount: number;
  /** What its figures are counted under. */
  readonly names: readonly string[];
}

export const Workload = builder.interfaceRef<QueueState | QueueTotalState>('Workload').implement({
  description: 'What there is to do, and what was done: of one type, or of several together.',
  fields: (t) => ({
    ready: t.expose('ready', {
      type: 'Count',
      description:
        'How many items wait for a worker, regardless of a pause and limits. Blocked items are not included.',
    }),
    scheduled: t.expose('scheduled', {
      type: 'Count',
      description: 'How many items have not failed, and wait for their `runAt` or for the end of a snooze.',
    }),
    retrying: t.expose('retrying', {
      type: 'Count',
      description: 'How many items have failed, and wait for their next attempt.',
    }),
    waiting: t.expose('waiting', {
      type: 'Count',
      description: 'How many items belong to jobs that wait for other jobs of their tree.',
    }),
    blocked: t.expose('blocked', {
      type: 'Count',
      description: 'How many items wait behind others with their serialize key.',
    }),
    running: t.expose('running', {
      type: 'Count',
      description: 'How many items workers hold.',
    }),
    oldestReadyMs: t.expose('oldestReadyMs', {
      type: 'Count',
      nullable: true,
      description:
        'How long the oldest ready item has waited for a worker, in milliseconds; null if none is ready.',
    }),
  }),
});

export const Queue = builder.objectRef<QueueState>('Queue').implement({
  interfaces: [Workload],
  description:
    'A type: how many of its items wait and run, from which you can derive the number of workers, and the settings for all its items. A setting that is null is not set.',
  fields: (t) => ({
    type: t.exposeString('type', { description: 'The type.' }),
    paused: t.exposeBoolean('paused', { description: 'Whether no item is given to a worker.' }),
    concurrency: t.exposeInt('concurrency', {
      nullable: true,
      description: 'How many items all workers together may hold at a time.',
    }),
    rate: t.expose('rate', {
      type: QueueRate,
      nullable: true,
      description: 'How many items may be claimed in any interval of time, including retries.',
    }),
    lifetimeMs: t.exposeInt('lifetimeMs', {
      nullable: true,
      description:
        'How long an item may wait for its first worker, in milliseconds; then it has failed for good, with the code `EXPIRED`.',
    }),
    deadLetterAlert: t.expose('deadLetterAlert', {
      type: Alert,
      nullable: true,
      description: 'When an endpoint is told that many items fail for good.',
    }),
    alertedAt: t.expose('alertedAt', {
      type: 'DateTime',
      nullable: true,
      description:
        'Since when enough items have failed for good to raise the alert; null while there are fewer.',
    }),
    priority: t.exposeInt('priority', {
      nullable: true,
      description: 'The priority of new jobs without their own.',
    }),
    maxFailuresPerItem: t.exposeInt('maxFailuresPerItem', {
      nullable: true,
      description: 'The `maxFailuresPerItem` of new jobs without their own.',
    }),
    backoffMs: t.exposeIntList('backoffMs', {
      nullable: true,
      description: 'The `backoffMs` of new jobs without their own: up to 100 steps.',
    }),
    backoffJitter: t.exposeFloat('backoffJitter', {
      nullable: true,
      description: 'The `backoffJitter` of new jobs without their own.',
    }),
    heartbeatIntervalMs: t.exposeInt('heartbeatIntervalMs', {
      nullable: true,
      description: 'The `heartbeatIntervalMs` of new jobs without their own.',
    }),
  }),
});

const QueueTotal = builder.objectRef<QueueTotalState>('QueueTotal').implement({
  interfaces: [Workload],
  description:
    'Several types together. For callers with a scope, and for types that were chosen, figures are those of the first 1,000 of them by name.',
  fields: (t) => ({
    typeCount: t.expose('typeCount', { type: 'Count', description: 'How many types there are.' }),
  }),
});

export const typesDescription = 'Only these types: 1 to 1,000; all by default.';

export function checkTypes(types: readonly string[] | null | undefined): readonly string[] | null {
  if (types == null) return null;
  checkBatch(types.length, 'types');
  for (const [i, type] of types.entries()) checkName(type, `types[${i}]`, maxNameLength);
  return types;
}

const nameContainsDescription =
  'Only types whose names contain this text, ignoring case: 1 to 200 characters.';

const checkNameContains = (text: string | null | undefined): string | null =>
  text == null ? null : checkText(text, 'nameContains', maxNameLength);

builder.queryField('queue', (t) =>
  t.field({
    authScopes: { may: 'list' },
    type: Queue,
    description: 'One type, even if it has no items.',
    args: { type: t.arg.string({ required: true, description: 'The type: 1 to 200 characters.' }) },
    resolve: (_, { type }, context) => {
      checkTypeScope(context, [type], 'type');
      return readQueue(context.engine, type);
    },
  }),
);

/** What is asked under many aliases is read once. */
const queueLists = createGroupLoader(
  (asked: { types: readonly string[] | null; after: string | null; take: number; search: string | null }) =>
    JSON.stringify(asked),
  async (asked, { engine, caller: { tenant } }) => {
    const [{ types, ...page }] = asked;
    const queues = await readQueues(engine, types, { ...page, tenant });
    return asked.map(() => queues);
  },
);

builder.queryField('queues', (t) =>
  t.field({
    authScopes: { may: 'list' },
    type: [Queue],
    complexity: ({ first, types }) => ({
      multiplier: Math.min(firstComplexity({ first }).multiplier, types?.length ?? maxBatch),
    }),
    description:
      'Types by name: those that have settings or waiting or running items, or were active in the last hour. If there are more than 1,000, query again after the last one. Lists of all types, or of more than 100, are read one at a time for each tenant; BUSY if that takes longer than 10 seconds.',
    args: {
      types: t.arg.stringList({ description: typesDescription }),
      first: t.arg.int({
        required: true,
        defaultValue: maxBatch,
        description: 'The maximum number: 0 to 1,000. Default: 1,000.',
      }),
      after: t.arg.string({ description: 'Only types whose names come after this one.' }),
      nameContains: t.arg.string({ description: nameContainsDescription }),
    },
    resolve: async (_, { types, first, after, nameContains }, context) => {
      const take = checkFirst({ first });
      if (after != null) checkName(after, 'after', maxNameLength);
      const search = checkNameContains(nameContains);
      const shown = await shownTypes(context, checkTypes(types));
      return queueLists(context).load({ types: shown, after: after ?? null, take, search });
    },
  }),
);

builder.queryField('queueTotal', (t) =>
  t.field({
    authScopes: { may: 'list' },
    type: QueueTotal,
    complexity: ({ types }) => ({ multiplier: Math.ceil((types?.length ?? 1) / 10) }),
    description:
      'All types that `queues` lists, in all its pages, together. Read one at a time for each tenant, as lists of all types are; BUSY if that takes longer than 10 seconds.',
    args: {
      types: t.arg.stringList({ description: typesDescription }),
      nameContains: t.arg.string({ description: nameContainsDescription }),
    },
    resolve: async (_, args, context) => {
      const { engine, caller } = context;
      const { tenant } = caller;
      const search = checkNameContains(args.nameContains);
      const asked = checkTypes(args.types);
      const shown = await shownTypes(context, asked);
      const { types, ...total } = await readQueueTotal(engine, shown, { search, tenant });
      const isAll = asked === null && search === null && seesTenant(caller);
      return { ...total, names: isAll ? [sumOf(tenant)] : types };
    },
  }),
);
