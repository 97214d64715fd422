/** Why attempts of items failed. */
import {
  type FailureKey,
  type ItemFailure as ItemFailureRow,
  readFailures,
  readFailuresAt,
  readStacks,
} from '../../domain/items/read-items.ts';
import { type ItemKey, itemIdOf } from '../../domain/values/ids.ts';
import { takesPart } from '../core/answer-size.ts';
import { builder } from '../core/builder.ts';
import { createLoader } from '../core/loader.ts';
import { JobItem } from './job-item.ts';

const failures = createLoader(async (keys: readonly ItemKey[], context) =>
  (await takesPart(keys, 'failures', context))
    ? readFailures(context.engine.database, keys)
    : keys.map(() => []),
);
const lastFailures = createLoader(async (keys: readonly FailureKey[], context) =>
  (await takesPart(keys, 'lastFailure', context))
    ? (await readFailuresAt(context.engine.database, keys)).map((failure) => failure ?? null)
    : keys.map(() => null),
);

const stacks = createLoader(async (keys: readonly FailureKey[], context) => {
  const items = new Map(keys.map((key) => [itemIdOf(key), key]));
  return (await takesPart([...items.values()], 'stacks', context))
    ? readStacks(context.engine.database, keys)
    : keys.map(() => null);
});

const ItemFailure = builder.objectRef<ItemFailureRow & FailureKey>('ItemFailure').implement({
  description: 'One failed attempt.',
  fields: (t) => ({
    attempt: t.exposeInt('attempt', { seenBy: 'ITEMS', description: 'Which attempt failed, from 1.' }),
    code: t.exposeString('code', {
      seenBy: 'ITEMS',
      description:
        'The kind of failure, as the worker named it; `HEARTBEAT_LOST` if the worker sent no heartbeats, `EXPIRED` if no worker started the item within the lifetime of its type.',
    }),
    message: t.exposeString('message', { description: 'What went wrong, in words.' }),
    worker: t.exposeString('worker', {
      nullable: true,
      description: 'The worker that held the item; null if none did.',
    }),
    at: t.expose('at', { seenBy: 'ITEMS', type: 'DateTime', description: 'When it was reported.' }),
    stack: t.string({
      nullable: true,
      description:
        "Where in the worker's code it came from: a stack trace, up to 4,096 characters. Null if the worker sent none.",
      resolve: (failure, _, context) => stacks(context).load(failure),
    }),
  }),
});

builder.objectFields(JobItem, (t) => ({
  failures: t.field({
    seenBy: 'ITEMS',
    type: [ItemFailure],
    complexity: { multiplier: 5 },
    description:
      'The failed attempts, up to 40, the first one first: if there are more than 40, the first 20 and the last 20.',
    resolve: async (item, _, context) => {
      const { jobId, position, failureCount } = item;
      const all = failureCount === 0 ? [] : await failures(context).load(item);
      return all.map((failure) => ({ jobId, position, ...failure }));
    },
  }),
  lastFailure: t.field({
    type: ItemFailure,
    nullable: true,
    description:
      'The last failed attempt of an item that is FAILED or RETRYING: why it is. Null for any other.',
    resolve: async ({ jobId, position, failureCount, status }, _, context) => {
      if (failureCount === 0 || (status !== 'FAILED' && status !== 'RETRYING')) return null;
      const key = { jobId, position, attempt: failureCount };
      const failure = await lastFailures(context).load(key);
      return failure && { ...key, ...failure };
    },
  }),
}));
