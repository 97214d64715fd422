import {
  type QueueChange,
  type Queue as QueueState,
  readQueue,
  setQueue,
} from '../../domain/queues/queues.ts';
import { InvalidInputError } from '../../errors.ts';
import { toSettings } from '../access/audit-subjects.ts';
import { builder } from '../core/builder.ts';
import { Queue } from './queue.ts';

const Payload = builder.objectRef<{ queue: QueueState }>('SetQueuePayload').implement({
  description: 'The settings are in force.',
  fields: (t) => ({
    queue: t.field({
      type: Queue,
      description: 'The type with all its settings.',
      resolve: ({ queue }) => queue,
    }),
  }),
});

const RateInput = builder.inputType('QueueRateInput', {
  description: 'How many items may be claimed in any interval of time.',
  fields: (t) => ({
    limit: t.int({ required: true, description: 'The maximum number of items: 1 to 1,000,000.' }),
    intervalMs: t.int({
      required: true,
      description: 'The interval, in milliseconds: 1 to 86,400,000, which is a day.',
    }),
  }),
});

const AlertInput = builder.inputType('DeadLetterAlertInput', {
  description: 'When an endpoint is told of dead letters.',
  fields: (t) => ({
    endpoint: t.string({
      required: true,
      description: 'The name of an endpoint: `putCallbackEndpoint`. INVALID_INPUT if it does not exist.',
    }),
    count: t.int({
      required: true,
      description: 'How many dead letters within the interval raise the alert: 1 to 10,000.',
    }),
    intervalMs: t.int({
      required: true,
      description: 'The interval up to now, in milliseconds: 1,000 to 86,400,000, which is a day.',
    }),
  }),
});

const Input = builder.inputRef<QueueChange & { readonly type: string }>('SetQueueInput');
Input.implement({
  description: 'What to change: omitted settings stay as they are, and null removes a setting.',
  fields: (t) => ({
    type: t.string({
      required: true,
      description: 'The type: 1 to 200 characters. It need not have any items.',
    }),
    paused: t.boolean({
      description:
        'Whether no item is given to a worker. Workers continue with items that they hold. Default: false.',
    }),
    concurrency: t.int({
      description:
        'How many items all workers together may hold at a time: 1 to 1,000,000. If it is lowered, workers keep the items that they hold. Default: no limit.',
    }),
    rate: t.field({
      type: RateInput,
      description:
        'How many items may be claimed in any interval of time; retries, and items that were released or lost, count like first attempts. Default: no limit.',
    }),
    lifetimeMs: t.int({
      description:
        'How long an item may wait for its first worker, in milliseconds, 1 to 2,147,483,647: from when it was added, or from its `runAt` if that is later. Then it fails for good with the code `EXPIRED`. It also applies to items that are already waiting. Default: for ever.',
    }),
    deadLetterAlert: t.field({
      type: AlertInput,
      description:
        'When an endpoint is told that many items fail for good: once per incident, which ends when there were fewer for a whole interval. Default: never.',
    }),
    priority: t.int({
      description: 'The priority of new jobs without their own: -32,768 to 32,767. Default: 0.',
    }),
    maxFailuresPerItem: t.int({
      description: 'The `maxFailuresPerItem` of new jobs without their own: 0 to 1,000. Default: 3.',
    }),
    backoffMs: t.intList({
      description:
        'The `backoffMs` of new jobs without their own, up to 100 steps of 0 to 2,147,483,647 ms. Default: 30 s, 5 min, 30 min.',
    }),
    backoffJitter: t.float({
      description: 'The `backoffJitter` of new jobs without their own: 0 to 1. Default: 0.1.',
    }),
    heartbeatIntervalMs: t.int({
      description:
        'The `heartbeatIntervalMs` of new jobs without their own, in milliseconds: 1,000 to 86,400,000. Default: 60,000.',
    }),
  }),
});

builder.mutationField('setQueue', (t) =>
  t.field({
    authScopes: { may: 'administer' },
    audited: ({ input: { type, ...change } }) => [`type ${type}`, ...toSettings(change)],
    type: Payload,
    description:
      'Changes the settings of a type: a pause, limits, a lifetime, and defaults of new jobs. They apply on all servers to every claim that begins after the answer. Repeating it changes nothing.',
    args: { input: t.arg({ type: Input, required: true, description: 'The type, and what to change.' }) },
    errors: { types: [InvalidInputError] },
    resolve: async (_, { input: { type, ...change } }, { engine }) => {
      await setQueue(engine, type, change);
      return { queue: await readQueue(engine, type) };
    },
  }),
);
