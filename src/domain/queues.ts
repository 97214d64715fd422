/**
 * Queues: what holds for all items of a type, whoever works on them. A pause and limits say how much of it may run, defaults what
 * new jobs get, and a lifetime how long an item may wait for its first worker. Claims go by them in the database (lock_queues).
 */
import type { Queries } from '../db/database.ts';
import { checkInteger, checkText } from './checks.ts';
import { checkBackoff, checkShare } from './create-job.ts';
import type { Engine } from './engine.ts';
import {
  heartbeatIntervalMsRange,
  lifetimeMsRange,
  maxFailuresLimit,
  maxNameLength,
  priorityRange,
  queueLimitRange,
  rateIntervalMsRange,
} from './limits.ts';

export interface Rate {
  /** How many items may be claimed in any interval. */
  readonly limit: number;
  readonly intervalMs: number;
}

export interface QueueSettings {
  readonly paused: boolean;
  /** How many items workers may hold at a time. */
  readonly concurrency: number | null;
  readonly rate: Rate | null;
  readonly lifetimeMs: number | null;
  /** The rest is for new jobs that do not say it themselves. */
  readonly priority: number | null;
  readonly maxFailuresPerItem: number | null;
  readonly backoffMs: readonly number[] | null;
  readonly backoffJitter: number | null;
  readonly heartbeatIntervalMs: number | null;
}

/** What is undefined stays as it is, and null takes a setting away. */
export type QueueChange = { readonly [Name in keyof QueueSettings]?: QueueSettings[Name] | null | undefined };

/** A type with its settings, and how much of it waits and runs. */
export interface Queue extends QueueSettings {
  readonly type: string;
  readonly ready: number;
  /** Of jobs that wait for other jobs of their tree. */
  readonly waiting: number;
  readonly scheduled: number;
  /** Behind other items with their serialize key. */
  readonly blocked: number;
  readonly running: number;
}

export async function setQueue(engine: Engine, type: string, change: QueueChange): Promise<void> {
  checkText(type, 'type', maxNameLength);
  const settings = JSON.stringify({
    paused: change.paused,
    concurrency: check(change.concurrency, (value) => checkInteger(value, 'concurrency', ...queueLimitRange)),
    rate: check(change.rate, ({ limit, intervalMs }) => ({
      limit: checkInteger(limit, 'rate.limit', ...queueLimitRange),
      intervalMs: checkInteger(intervalMs, 'rate.intervalMs', ...rateIntervalMsRange),
    })),
    lifetimeMs: check(change.lifetimeMs, (value) => checkInteger(value, 'lifetimeMs', ...lifetimeMsRange)),
    priority: check(change.priority, (value) => checkInteger(value, 'priority', ...priorityRange)),
    maxFailuresPerItem: check(change.maxFailuresPerItem, (value) =>
      checkInteger(value, 'maxFailuresPerItem', 0, maxFailuresLimit),
    ),
    backoffMs: check(change.backoffMs, (steps) => checkBackoff(steps, 'backoffMs')),
    backoffJitter: check(change.backoffJitter, (value) => checkShare(value, 'backoffJitter')),
    heartbeatIntervalMs: check(change.heartbeatIntervalMs, (value) =>
      checkInteger(value, 'heartbeatIntervalMs', ...heartbeatIntervalMsRange),
    ),
  });
  await engine.database.call('set_queue', type, settings);
}

/** Undefined and null say something. */
function check<T, R>(value: T | null | undefined, check: (value: T) => R): R | null | undefined {
  return value == null ? (value as null | undefined) : check(value);
}

interface QueueRow extends Omit<Queue, 'rate'> {
  readonly rateLimit: number | null;
  readonly rateIntervalMs: number | null;
}

/** By name: the given types, or else those that have settings, or of which anything waits or runs, behind a type. */
export async function readQueues(
  database: Queries,
  types: readonly string[] | null,
  { after = null, take = null }: { after?: string | null; take?: number | null } = {},
): Promise<Queue[]> {
  const { rows } = await database.pool.query<QueueRow>({
    name: 'read_queues',
    text: `with waiting as (
             select q.type, coalesce(sum(q.count) filter (where q.run_at is null), 0)::bigint as ready,
               coalesce(sum(q.count) filter (where q.run_at < 'infinity'), 0)::bigint as scheduled,
               coalesce(sum(q.count) filter (where q.run_at = 'infinity'), 0)::bigint as waiting
             from jobtree.queue_entry q
             where ($1::text[] is null or q.type = any ($1)) and ($2::text is null or q.type > $2)
             group by q.type
           ), running as (
             select j.type, sum(h.items)::bigint as running
             from (
               select l.job_id, sum(bit_count(l.open)) as items from jobtree.lease l
               where l.deadline_at is not null
               group by l.job_id
             ) h
             join jobtree.job j on j.id = h.job_id
             where ($1::text[] is null or j.type = any ($1)) and ($2::text is null or j.type > $2)
             group by j.type
             having sum(h.items) > 0
           ), blocked as (
             select b.type, count(*) as blocked from jobtree.blocked_item b
             where ($1::text[] is null or b.type = any ($1)) and ($2::text is null or b.type > $2)
             group by b.type
           ), settings as (
             select q.* from jobtree.queue q
             where ($1::text[] is null or q.type = any ($1)) and ($2::text is null or q.type > $2)
           )
           select type, coalesce(w.ready, 0) as ready, coalesce(w.scheduled, 0) as scheduled, coalesce(w.waiting, 0) as waiting,
             coalesce(b.blocked, 0) as blocked, coalesce(r.running, 0) as running, coalesce(s.paused, false) as paused, s.concurrency,
             s.rate_limit as "rateLimit", s.rate_interval_ms as "rateIntervalMs", s.lifetime_ms as "lifetimeMs",
             s.priority, s.max_failures_per_item as "maxFailuresPerItem", s.backoff_ms as "backoffMs",
             s.backoff_jitter as "backoffJitter", s.heartbeat_interval_ms as "heartbeatIntervalMs"
           from waiting w full join running r using (type) full join blocked b using (type) full join settings s using (type)
           order by type
           limit $3`,
    values: [types, after, take],
  });
  return rows.map(({ rateLimit, rateIntervalMs, ...queue }) => ({
    ...queue,
    rate:
      rateLimit === null || rateIntervalMs === null ? null : { limit: rateLimit, intervalMs: rateIntervalMs },
  }));
}

/** One type, whether it has anything or not. */
export async function readQueue(database: Queries, type: string): Promise<Queue> {
  const [queue] = await readQueues(database, [checkText(type, 'type', maxNameLength)]);
  return queue ?? { ...unset, type, ready: 0, scheduled: 0, waiting: 0, blocked: 0, running: 0 };
}

const unset: QueueSettings = {
  paused: false,
  concurrency: null,
  rate: null,
  lifetimeMs: null,
  priority: null,
  maxFailuresPerItem: null,
  backoffMs: null,
  backoffJitter: null,
  heartbeatIntervalMs: null,
};

const expiryBatch = 100;

/** Fails what outlived the lifetime of its type, and forgets what rates no longer count; whether there is more. */
export async function tendQueues(engine: Engine): Promise<boolean> {
  const [row] = await engine.database.call<{
    expired: number;
    more: boolean;
    root_ids: string[] | null;
    ready: Record<string, number> | null;
  }>('expire_items', expiryBatch);
  if (row === undefined) throw new Error('expire_items returned no row');
  for (const rootId of row.root_ids ?? []) engine.effects.touched(rootId);
  if (row.ready !== null) engine.effects.ready(new Map(Object.entries(row.ready)));
  if (row.expired > 0)
    engine.logger.warn({ items: row.expired }, 'items outlived the lifetime of their type');
  if (row.more) return true;
  await engine.database.call('prune_rates');
  return false;
}
