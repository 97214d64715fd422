import { type QueueChange, type Queue as QueueState, readQueue, setQueue } from '../../domain/queues.ts';
import { InvalidInputError } from '../../errors.ts';
import { toSettings } from '../audit-subjects.ts';
import { builder } from '../builder.ts';
import { Queue } from '../queue.ts';

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
    limit: t.int({ required: true, description: 'At most so many items: 1 to 1,000,000.' }),
    intervalMs: t.int({
      required: true,
      description: 'The interval, in milliseconds: 1 to 86,400,000, which is a day.',
    }),
  }),
});

const AlertInput = builder.inputType('DeadLetterAlertInput', {
  description: 'When an endpoint hears of dead letters.',
  fields: (t) => ({
    endpoint: t.string({
      required: true,
      description: 'The name of an endpoint: `putCallbackEndpoint`. INVALID_INPUT if there is none.',
    }),
    count: t.int({ required: true, description: 'With so many of an interval: 1 to 10,000.' }),
    intervalMs: t.int({
      required: true,
      description: 'The interval that is just over, in milliseconds: 1,000 to 86,400,000, which is a day.',
    }),
  }),
});

const Input = builder.inputRef<QueueChange & { readonly type: string }>('SetQueueInput');
Input.implement({
  description: 'What to change: a setting that is left out stays as it is, and null takes it away.',
  fields: (t) => ({
    type: t.string({
      required: true,
      description: 'The type: 1 to 200 characters. There need not be any of it.',
    }),
    paused: t.boolean({
      description: 'Whether no item is given to a worker. What workers hold goes on. Default: false.',
    }),
    concurrency: t.int({
      description:
        'How many items all workers together may hold at a time: 1 to 1,000,000. What they hold when it is lowered goes on. Default: no limit.',
    }),
    rate: t.field({
      type: RateInput,
      description:
        'How many items may be claimed in any interval of time; tries after a failure, a release or a lost heartbeat count like first ones. Default: no limit.',
    }),
    lifetimeMs: t.int({
      description:
        'How long an item may wait for its first worker, in milliseconds, 1 to 2,147,483,647: from when it was added, or from its `runAt` if that is later. Then it fails for good with the code `EXPIRED`. It holds for items that wait already. Default: for ever.',
    }),
    deadLetterAlert: t.field({
      type: AlertInput,
      description:
        'When an endpoint hears that much fails for good: once a spell, which is over when there was less for a whole interval. Default: never.',
    }),
    priority: t.int({
      description: 'The priority of new jobs that name none: -32,768 to 32,767. Default: 0.',
    }),
    maxFailuresPerItem: t.int({
      description: 'The `maxFailuresPerItem` of new jobs that name none: 0 to 1,000. Default: 3.',
    }),
    backoffMs: t.intList({
      description:
        'The `backoffMs` of new jobs that name none, up to 100 steps. Default: 30 s, 5 min, 30 min.',
    }),
    backoffJitter: t.float({
      description: 'The `backoffJitter` of new jobs that name none: 0 to 1. Default: 0.1.',
    }),
    heartbeatIntervalMs: t.int({
      description:
        'The `heartbeatIntervalMs` of new jobs that name none, in milliseconds: 1,000 to 86,400,000. Default: 60,000.',
    }),
  }),
});

builder.mutationField('setQueue', (t) =>
  t.field({
    authScopes: { may: 'administer' },
    audited: ({ input: { type, ...change } }) => [`type ${type}`, ...toSettings(change)],
    type: Payload,
    description:
      'Changes the settings of a type: a pause, limits, a lifetime, and defaults of new jobs. They hold on all servers for every claim that begins after the answer. Repeating it changes nothing.',
    args: { input: t.arg({ type: Input, required: true, description: 'The type, and what to change.' }) },
    errors: { types: [InvalidInputError] },
    resolve: async (_, { input: { type, ...change } }, { engine }) => {
      await setQueue(engine, type, change);
      return { queue: await readQueue(engine, type) };
    },
  }),
);
