/**
 * Queues: the settings of all items of a type, whichever worker handles them. A pause and limits control how many may run,
 * defaults apply to new jobs, and a lifetime limits how long an item may wait for its first worker. Claims obey them in the
 * database (lock_queues).
 */
import type { Statement } from '../../db/database.ts';
import type { Engine } from '../engine/engine.ts';
import type { FailedItems } from '../engine/failure-log.ts';
import { sumOf } from '../figures/figures.ts';
import { checkName, checkStorable, toCheckedText } from '../values/checks.ts';
import { maxBatch, maxNameLength } from '../values/limits.ts';

export interface Rate {
  /** How many items may be claimed in any interval. */
  readonly limit: number;
  readonly intervalMs: number;
}

/** When people are alerted about dead letters. */
export interface DeadLetterAlert {
  /** The endpoint that is called. */
  readonly endpoint: string;
  /** The number of dead letters in an interval that raises the alert. */
  readonly count: number;
  readonly intervalMs: number;
}

export interface QueueSettings {
  readonly paused: boolean;
  /** How many items workers may hold at a time. */
  readonly concurrency: number | null;
  readonly rate: Rate | null;
  readonly lifetimeMs: number | null;
  readonly deadLetterAlert: DeadLetterAlert | null;
  /** The rest are defaults for new jobs that don't set their own. */
  readonly priority: number | null;
  readonly maxFailuresPerItem: number | null;
  readonly backoffMs: readonly number[] | null;
  readonly backoffJitter: number | null;
  readonly heartbeatIntervalMs: number | null;
}

/** Undefined keeps a setting, and null removes it. */
export type QueueChange = { readonly [Name in keyof QueueSettings]?: QueueSettings[Name] | null | undefined };

/** How many items wait and run. */
export interface Depths {
  readonly ready: number;
  /** Items of jobs that wait for other jobs of their tree. */
  readonly waiting: number;
  readonly scheduled: number;
  readonly retrying: number;
  /** Behind other items with their serialize key. */
  readonly blocked: number;
  readonly running: number;
  /** How long the item that has been ready for longest had waited at the time of reading. */
  readonly oldestReadyMs: number | null;
}

/** A type with its settings, and how many of its items wait and run. */
export interface Queue extends QueueSettings, Depths {
  readonly type: string;
  /** When the number of dead letters last rose so high that the alert was raised. */
  readonly alertedAt: Date | null;
}

/** Several types together. */
export interface QueueTotal extends Depths {
  readonly typeCount: number;
  /** The first of them, by name. */
  readonly types: readonly string[];
}

export async function setQueue(engine: Engine, type: string, change: QueueChange): Promise<void> {
  checkStorable(type, 'type');
  await engine.database.call('set_queue', type, toCheckedText(change));
}

interface QueueRow extends Omit<Queue, 'rate'> {
  readonly rateLimit: number | null;
  readonly rateIntervalMs: number | null;
}

/** More types than these take as long as all of them. */
const fewTypes = 100;

export interface QueuePage {
  /** Only types whose names come after this one. */
  readonly after?: string | null;
  readonly take?: number | null;
  /** Only types whose names contain this, as their tenant knows them, ignoring case. */
  readonly search?: string | null;
  readonly tenant?: string | null;
}

type QueueSource = Pick<Engine, 'database' | 'figures'>;

/** Runs a query about `queues`: of the given types, or else of those that have settings, waiting or running items, or work done in the last hour. */
async function queryQueues<Row extends object>(
  { database, figures }: QueueSource,
  types: readonly string[] | null,
  { after = null, take = null, search = null, tenant = null }: QueuePage,
  { name, text }: { name: string; text: string },
): Promise<Row[]> {
  const worked = figures.unsaved.flatMap(({ dirty, saving, tallies }) =>
    dirty || saving ? [...tallies.keys()] : [],
  );
  const isAsked = (table: string) => (types === null ? 'true' : `${table}.type = any ($1)`);
  const isSurvey = types === null || types.length > fewTypes;
  const { rows } = await (isSurvey ? database.surveys : database.pool).query<Row>({
    name: `${name}/${types === null ? 'any' : 'types'}`,
    text: `with recursive depths as (
             select * from jobtree.queue_depths($1, $2)
           ), known(type) as (
             -- One probe for each type that has figures.
             (select f.type from jobtree.figure f where $1::text[] is null and f.type > coalesce($2::text, '') order by f.type limit 1)
             union all
             select (select f.type from jobtree.figure f where f.type > k.type order by f.type limit 1) from known k where k.type is not null
           ), worked as (
             -- A type that is done as fast as it comes is seen all the same.
             select w.type from (
               select k.type from (
                 select k.type from known k
                 union all
                 select u.type from unnest($1) u(type) where $2 is null or u.type > $2
               ) k
               -- Under the beginning of its names stand the figures of a whole tenant.
               where k.type <> jobtree.tenant_beginning(k.type) and (
                 select f.minute from jobtree.figure f where f.type = k.type order by f.minute desc limit 1
               ) >= clock_timestamp() - interval '1 hour'
               union
               select u.type from unnest($4::text[]) u(type)
               where u.type > coalesce($2::text, '') and ${isAsked('u')}
             ) w
             where ${isFound('w')}
             order by w.type
             limit $3
           ), settings as (
             select q.* from jobtree.queue q
             where ${isAsked('q')} and ($2::text is null or q.type > $2)
           ), queues as (
             select type, coalesce(d.ready, 0) as ready, coalesce(d.scheduled, 0) as scheduled, coalesce(d.retrying, 0) as retrying,
               coalesce(d.waiting, 0) as waiting, coalesce(d.blocked, 0) as blocked, coalesce(d.running, 0) as running, d.oldest_ready_ms as "oldestReadyMs",
               coalesce(s.paused, false) as paused, s.concurrency,
               s.rate_limit as "rateLimit", s.rate_interval_ms as "rateIntervalMs", s.lifetime_ms as "lifetimeMs",
               s.priority, s.max_failures_per_item as "maxFailuresPerItem", s.backoff_ms as "backoffMs",
               s.backoff_jitter as "backoffJitter", s.heartbeat_interval_ms as "heartbeatIntervalMs", s.alert_spell_at as "alertedAt",
               case when s.alert_count is not null then
                 json_build_object('endpoint', s.alert_endpoint, 'count', s.alert_count, 'intervalMs', s.alert_interval_ms)
               end as "deadLetterAlert"
             from depths d full join worked w using (type) full join settings s using (type)
           )
           ${text}`,
    values: [types, after, take, worked, search, sumOf(tenant).length + 1],
  });
  return rows;
}

const isFound = (table: string) =>
  `($5::text is null or strpos(lower(substr(${table}.type, $6::integer)), lower($5)) > 0)`;

/** Reads queues by name. */
export async function readQueues(
  source: QueueSource,
  types: readonly string[] | null,
  page: QueuePage = {},
): Promise<Queue[]> {
  const rows = await queryQueues<QueueRow>(source, types, page, {
    name: 'read_queues',
    text: `select q.* from queues q where ${isFound('q')} order by q.type limit $3`,
  });
  return rows.map(({ rateLimit, rateIntervalMs, ...queue }) => ({
    ...queue,
    rate:
      rateLimit === null || rateIntervalMs === null ? null : { limit: rateLimit, intervalMs: rateIntervalMs },
  }));
}

const depths = ['ready', 'scheduled', 'retrying', 'waiting', 'blocked', 'running'] as const;

/** All queues that `readQueues` reads, in pages, together. */
export async function readQueueTotal(
  source: QueueSource,
  types: readonly string[] | null,
  page: Pick<QueuePage, 'search' | 'tenant'>,
): Promise<QueueTotal> {
  const sum = (column: string) => `coalesce(sum(q.${column}), 0)::bigint as ${column}`;
  const [total] = await queryQueues<QueueTotal>(source, types, page, {
    name: 'read_queue_total',
    text: `select count(*) as "typeCount", ${depths.map(sum).join(', ')},
             max(q."oldestReadyMs") as "oldestReadyMs", coalesce((array_agg(q.type order by q.type))[1:${maxBatch}], '{}') as types
           from queues q
           where ${isFound('q')}`,
  });
  if (total === undefined) throw new Error('read_queue_total returned no row');
  return total;
}

/** One type, whether it has anything or not. */
export async function readQueue(engine: Engine, type: string): Promise<Queue> {
  const [queue] = await readQueues(engine, [checkName(type, 'type', maxNameLength)]);
  return queue ?? { ...unset, ...empty, type };
}

const empty = {
  ready: 0,
  scheduled: 0,
  retrying: 0,
  waiting: 0,
  blocked: 0,
  running: 0,
  oldestReadyMs: null,
  alertedAt: null,
};

const unset: QueueSettings = {
  paused: false,
  concurrency: null,
  rate: null,
  lifetimeMs: null,
  deadLetterAlert: null,
  priority: null,
  maxFailuresPerItem: null,
  backoffMs: null,
  backoffJitter: null,
  heartbeatIntervalMs: null,
};

const expiryBatch = 100;

/** Slices that no longer count towards a rate. */
export const pruneRates: Statement = {
  name: 'prune_rates',
  text: `delete from jobtree.rate_slice s
    using jobtree.queue q
    where q.rate_limit is not null and s.type = q.type and s.ends_at < now() - q.rate_interval_ms * interval '1 millisecond' - interval '1 second'`,
};

/** Fails items that exceeded the lifetime of their type, and deletes records that rates no longer count. Returns whether there is more. */
export async function tendQueues(engine: Engine): Promise<boolean> {
  const [row] = await engine.database.call<{
    expired: number;
    more: boolean;
    root_ids: string[] | null;
    ready: Record<string, number> | null;
    types: Record<string, number> | null;
    failed: FailedItems[] | null;
  }>('expire_items', expiryBatch);
  if (row === undefined) throw new Error('expire_items returned no row');
  for (const rootId of row.root_ids ?? []) engine.effects.touched(rootId);
  if (row.ready !== null) engine.effects.ready(new Map(Object.entries(row.ready)));
  if (row.types !== null) engine.figures.expired(new Map(Object.entries(row.types)));
  engine.failureLog.note(row.failed);
  if (row.more) return true;
  await engine.database.call(pruneRates);
  return false;
}

/** Corrects what the concurrency limits count, by the leases. Returns the types of which the count was wrong, and by how much. */
export const correctHeld = (engine: Engine): Promise<{ type: string; items: number }[]> =>
  engine.database.call('correct_held');
