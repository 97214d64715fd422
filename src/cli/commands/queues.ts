/** `jobtree queues`: all types that have settings, or of which anything waits or runs. `jobtree queue`: shows one, and sets it. */
import type { Queue, QueueSettings } from '../../client/index.ts';
import { type ApiOptions, withClient } from '../api-options.ts';
import { exitCodes } from '../exit-codes.ts';
import { count, counted, duration } from '../figures.ts';
import { oneLine, print } from '../output.ts';
import { Table } from '../table.ts';

export async function listQueues(options: ApiOptions): Promise<number> {
  const queues = await withClient(options, (client) => client.queues.list());
  if (options.json) for (const queue of queues) print(`${JSON.stringify(queue)}\n`);
  else new Table(columns).print(queues.map(toCells));
  return exitCodes.success;
}

export interface QueueOptions extends ApiOptions {
  readonly pause?: true;
  readonly resume?: true;
  readonly concurrency?: number | 'none';
  readonly rate?: NonNullable<QueueSettings['rate']> | 'none';
  readonly lifetime?: number | 'none';
  readonly alert?: NonNullable<QueueSettings['deadLetterAlert']> | 'none';
  readonly priority?: number | 'none';
  readonly maxFailures?: number | 'none';
  readonly backoff?: number[] | 'none';
  readonly backoffJitter?: number | 'none';
  readonly heartbeatInterval?: number | 'none';
}

export async function queue(type: string, options: QueueOptions): Promise<number> {
  const settings = toSettings(options);
  const isChange = Object.values(settings).some((value) => value !== undefined);
  const found = await withClient(options, ({ queues }) =>
    isChange ? queues.set(type, settings) : queues.get(type),
  );
  print(options.json ? `${JSON.stringify(found)}\n` : describe(found));
  return exitCodes.success;
}

function toSettings(options: QueueOptions): QueueSettings {
  return {
    paused: options.pause ?? (options.resume ? false : undefined),
    concurrency: orNull(options.concurrency),
    rate: orNull(options.rate),
    lifetimeMs: orNull(options.lifetime),
    deadLetterAlert: orNull(options.alert),
    priority: orNull(options.priority),
    maxFailuresPerItem: orNull(options.maxFailures),
    backoffMs: orNull(options.backoff),
    backoffJitter: orNull(options.backoffJitter),
    heartbeatIntervalMs: orNull(options.heartbeatInterval),
  };
}

const orNull = <T>(value: T | 'none' | undefined) => (value === 'none' ? null : value);

const columns = [
  { title: 'TYPE', cut: 'middle' },
  { title: 'READY', align: 'right' },
  { title: 'SCHEDULED', align: 'right', spare: true },
  { title: 'WAITING', align: 'right', spare: true },
  { title: 'BLOCKED', align: 'right', spare: true },
  { title: 'RUNNING', align: 'right' },
  { title: 'LIMITS' },
] as const;

function toCells(queue: Queue): string[] {
  const figures = [queue.ready, queue.scheduled, queue.waiting, queue.blocked, queue.running].map(count);
  return [queue.type, ...figures, limits(queue).join(', ')];
}

function limits({ paused, concurrency, rate, lifetimeMs }: Queue): string[] {
  return [
    ...(paused ? ['paused'] : []),
    ...(concurrency == null ? [] : [`${count(concurrency)} at once`]),
    ...(rate == null ? [] : [`${count(rate.limit)} in ${duration(rate.intervalMs)}`]),
    ...(lifetimeMs == null ? [] : [`expires after ${duration(lifetimeMs)}`]),
  ];
}

function describe(queue: Queue): string {
  const { type, deadLetterAlert: alert, alertedAt } = queue;
  const states = ['ready', 'scheduled', 'waiting', 'blocked', 'running'] as const;
  const defaults = [
    ['priority', queue.priority],
    ['failures per item', queue.maxFailuresPerItem],
    ['backoff', queue.backoffMs?.map(duration).join(', ')],
    ['backoff jitter', queue.backoffJitter],
    ['heartbeat', queue.heartbeatIntervalMs == null ? null : duration(queue.heartbeatIntervalMs)],
  ].filter(([, value]) => value != null);
  return [
    `${oneLine(type)}: ${states.map((state) => `${count(queue[state])} ${state}`).join(', ')}`,
    `limits: ${limits(queue).join(', ') || 'none'}`,
    ...(alert == null
      ? []
      : [
          `alert: ${alert.endpoint}, with ${counted(alert.count, 'dead letter')} in ${duration(alert.intervalMs)}`,
        ]),
    ...(alertedAt == null ? [] : [`alerting since ${alertedAt}`]),
    ...defaults.map(([name, value]) => `new jobs, ${name}: ${value === '' ? 'none' : value}`),
    '',
  ].join('\n');
}
