/** `jobtree queues`: all types that have settings, or of which anything waits or runs. `jobtree queue`: shows one, and sets it. */
import type { Queue, QueueSettings } from '../../client/index.ts';
import { type ApiOptions, withClient } from '../api-options.ts';
import { exitCodes } from '../exit-codes.ts';
import { count, counted, duration } from '../figures.ts';
import { oneLine, print, printError, printOutcome } from '../output.ts';
import { complaintOfUnknown, typesWithoutWorker } from '../standstills.ts';
import { type Cell, Table } from '../table.ts';

export async function listQueues(options: ApiOptions): Promise<number> {
  await withClient(options, async (client) => {
    const queues = await client.queues.list();
    if (options.json) {
      for (const queue of queues) print(`${JSON.stringify(queue)}\n`);
      return;
    }
    const waiting = queues.filter(({ ready }) => ready > 0).map(({ type }) => type);
    const withoutWorker = await typesWithoutWorker(client, waiting);
    const rows = queues.map((queue) => toCells(queue, withoutWorker.has(queue.type)));
    new Table(columns, 'There are no types with settings, items or recent work.').print(rows);
  });
  return exitCodes.success;
}

const statuses = ['ready', 'scheduled', 'retrying', 'waiting', 'blocked', 'running'] as const;

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
  const [found, complaint] = await withClient(options, async (client) => {
    const queue = await (isChange ? client.queues.set(type, settings) : client.queues.get(type));
    // Limits and defaults are often set before the first job. Nobody pauses what there is not.
    const isDoubtful = !isChange || options.pause === true || options.resume === true;
    return [queue, isDoubtful ? await complaintOfUnknown(client, type) : undefined] as const;
  });
  printOutcome(options.json, found, describe(found));
  if (complaint !== undefined) printError(`${complaint}\n`);
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
  { title: 'RETRYING', align: 'right', spare: true },
  { title: 'WAITING', align: 'right', spare: true },
  { title: 'BLOCKED', align: 'right', spare: true },
  { title: 'RUNNING', align: 'right' },
  { title: 'REMARKS' },
] as const;

function toCells(queue: Queue, isWithoutWorker: boolean): Cell[] {
  const figures = statuses.map((status) => count(queue[status]));
  const remarks = [...(isWithoutWorker ? ['no worker'] : []), ...limits(queue)];
  const colour = isWithoutWorker ? ('yellow' as const) : undefined;
  return [queue.type, ...figures, { text: remarks.join(', '), colour }];
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
  const defaults = [
    ['priority', queue.priority],
    ['failures per item', queue.maxFailuresPerItem],
    ['backoff', queue.backoffMs?.map(duration).join(', ')],
    ['backoff jitter', queue.backoffJitter],
    ['heartbeat', queue.heartbeatIntervalMs == null ? null : duration(queue.heartbeatIntervalMs)],
  ].filter(([, value]) => value != null);
  return [
    `${oneLine(type)}: ${statuses.map((status) => `${count(queue[status])} ${status}`).join(', ')}`,
    `limits: ${limits(queue).join(', ') || 'none'}`,
    ...(alert == null
      ? []
      : [
          `alert: ${alert.endpoint}, with ${counted(alert.count, 'dead letter')} in ${duration(alert.intervalMs)}`,
        ]),
    ...(alertedAt == null ? [] : [`alerting since ${alertedAt}`]),
    ...defaults.map(([name, value]) => `new jobs, ${name}: ${value === '' ? 'none' : value}`),
  ].join('\n');
}
