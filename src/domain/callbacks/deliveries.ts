/** Messages to endpoints: the fold and alerts add them, servers send them (`server/loops/callbacks.ts`), and people inspect them. */
import type { Queries, Statement } from '../../db/database.ts';
import { monthOld, type Old, prune } from '../../db/prune.ts';
import { NotFoundError } from '../../errors.ts';
import { checkName } from '../values/checks.ts';
import { maxNameLength } from '../values/limits.ts';
import { firstUuid, lastUuid, type Range } from '../values/range.ts';
import { beginningOf, namesOf } from '../values/tenants.ts';
import type { CallbackEngine } from './endpoints.ts';

export type CallbackEvent = 'TREE' | 'JOB' | 'DEAD_LETTERS';
export type DeliveryStatus = 'PENDING' | 'DELIVERED' | 'FAILED';

/** The result of one attempt at a delivery. */
export interface DeliveryAttempt {
  readonly at: string;
  readonly tookMs?: number;
  readonly statusCode?: number;
  readonly error?: string;
}

export interface CallbackDelivery {
  readonly id: string;
  readonly messageId: string;
  readonly endpoint: string;
  readonly event: CallbackEvent;
  readonly rootId: string | null;
  readonly body: string;
  readonly createdAt: Date;
  readonly dueAt: Date | null;
  readonly attemptCount: number;
  readonly deliveredAt: Date | null;
  readonly failedAt: Date | null;
  readonly attempts: readonly DeliveryAttempt[];
}

/** A delivery that a server is to send, and that no other server takes until the lease ends. */
export interface LeasedDelivery {
  readonly id: string;
  readonly messageId: string;
  readonly endpoint: string;
  readonly url: string;
  readonly host: string;
  readonly secrets: readonly string[];
  readonly body: string;
  readonly attempt: number;
  readonly sentAt: Date;
}

/** The result of sending it: delivered, unless there is an error. */
export interface DeliveryAnswer {
  readonly statusCode?: number;
  readonly error?: string;
  /** When the receiver asks to be called again. */
  readonly retryAfterMs?: number;
  readonly retryAt?: Date;
}

interface LeasedRow extends Omit<LeasedDelivery, 'messageId' | 'host' | 'sentAt'> {
  readonly message_id: string;
  readonly sent_at: Date;
}

/** How much longer a lease is than an attempt can take. */
const leaseBeyondMs = 15_000;

export async function leaseDeliveries(
  engine: CallbackEngine,
  options: { limit: number; hostLimit: number; timeoutMs: number; busyHosts: readonly string[] },
): Promise<LeasedDelivery[]> {
  const { limit, hostLimit, timeoutMs, busyHosts } = options;
  const rows = await engine.database.call<LeasedRow>(
    'lease_deliveries',
    timeoutMs + leaseBeyondMs,
    limit,
    hostLimit,
    busyHosts,
  );
  return rows.map(({ message_id: messageId, sent_at: sentAt, ...row }) => ({
    ...row,
    messageId,
    sentAt,
    host: new URL(row.url).hostname,
  }));
}

const minuteMs = 60_000;
const hourMs = 60 * minuteMs;
/** About a day in all; after one more attempt the delivery has failed. */
const waitsMs = [
  5_000,
  minuteMs,
  5 * minuteMs,
  30 * minuteMs,
  hourMs,
  2 * hourMs,
  4 * hourMs,
  8 * hourMs,
  8 * hourMs,
];
/** How much longer than these waits some are, so that deliveries which failed together don't come together again. */
const waitJitter = 0.2;
const maxAskedMs = 24 * hourMs;
const maxErrorLength = 500;

/**
 * Settles the attempt `$2`, or has the delivery wait for that of `$4` which is next; without a wait it has failed. Once its lease is over and
 * another attempt has begun, only success counts. `$6`: the URL, if it
 * answered 410: the endpoint `$7` is gone if it still has it.
 */
const settle: Statement = {
  name: 'note_delivery',
  first: `settled as (
    update jobtree.callback_delivery d
    set due_at = clock_timestamp() + w.waits[greatest(1, $2 - d.attempts_before)] * interval '1 millisecond',
      delivered_at = case when $5 then clock_timestamp() end,
      failed_at = case when not $5 and w.waits[greatest(1, $2 - d.attempts_before)] is null then clock_timestamp() end,
      history = case when jsonb_array_length(d.history) >= 20 then d.history - 0 else d.history end || $3::jsonb
    from (
      select case when not exists (select from jobtree.callback_endpoint e where e.name = $7 and e.url = $6) then $4::float8[] end as waits
    ) w
    where d.id = $1 and d.due_at is not null and ($5 or d.attempts = $2)
    returning d.endpoint
  )`,
  text: `update jobtree.callback_endpoint e set gone_at = clock_timestamp() from settled s where e.name = s.endpoint and e.url = $6 and e.gone_at is null`,
};

export async function recordDelivery(
  engine: CallbackEngine,
  { id, endpoint, url, attempt, sentAt }: LeasedDelivery,
  answer: DeliveryAnswer & { readonly tookMs: number },
): Promise<void> {
  const { tookMs, statusCode, error, retryAfterMs, retryAt } = answer;
  // By the clock of Postgres, which said when it was sent.
  const untilMs = retryAt === undefined ? 0 : retryAt.getTime() - sentAt.getTime() - tookMs;
  const askedMs = Math.min(retryAfterMs ?? untilMs, maxAskedMs);
  const waits =
    error === undefined ? [] : waitsMs.map((ms) => Math.max(ms * (1 + waitJitter * Math.random()), askedMs));
  const shown = error === undefined ? undefined : [...error].slice(0, maxErrorLength).join('');
  await engine.database.call(
    settle,
    id,
    attempt,
    JSON.stringify([{ at: sentAt, tookMs, statusCode, error: shown }]),
    waits,
    error === undefined,
    statusCode === 410 ? url : null,
    endpoint,
  );
}

export const oldDeliveries: Old = {
  table: 'callback_delivery',
  where: `${monthOld} and due_at is null`,
  orderBy: 'id',
};

/** Deletes a batch of deliveries that were settled long ago. Returns whether there may be more. */
export const pruneDeliveries = ({ database }: Pick<CallbackEngine, 'database'>): Promise<boolean> =>
  prune(database, oldDeliveries, 1_000);

/** An endpoint that had answered 410 is called again. */
const retry: Statement = {
  name: 'retry_delivery',
  first: `retried as (
    update jobtree.callback_delivery d
    set due_at = clock_timestamp(), attempts_before = d.attempts, delivered_at = null, failed_at = null
    where d.id = $1 and ($2::text is null or starts_with(d.endpoint, $2))
    returning d.endpoint
  ), called as (
    update jobtree.callback_endpoint e set gone_at = null from retried r where e.name = r.endpoint
  )`,
  text: 'select r.endpoint from retried r',
};

/** Sends it immediately, and again with the waits of a new delivery. Affects only a delivery to an endpoint of `tenant`, unless that is null. */
export async function retryDelivery(
  engine: CallbackEngine,
  id: string,
  tenant: string | null = null,
): Promise<void> {
  const [row] = await engine.database.call(retry, id, tenant === null ? null : beginningOf(tenant));
  if (row === undefined) throw new NotFoundError(`There is no delivery ${id}.`, 'deliveryId');
}

const columns = `d.id, d.message_id as "messageId", d.endpoint, d.event, d.root_id as "rootId", d.body, d.created_at as "createdAt",
  d.due_at as "dueAt", d.attempts as "attemptCount", d.delivered_at as "deliveredAt", d.failed_at as "failedAt", d.history as attempts`;

/** The deliveries with these ids, in any order; only those of `tenant`, unless that is null. */
export async function readDeliveries(
  database: Queries,
  ids: readonly string[],
  tenant: string | null,
): Promise<CallbackDelivery[]> {
  const { from, until } = namesOf(tenant);
  const { rows } = await database.pool.query<CallbackDelivery>({
    name: 'read_deliveries',
    text: `select ${columns} from jobtree.callback_delivery d where d.id = any ($1) and ($2::text is null or d.endpoint > $2 and d.endpoint < $3)`,
    values: [ids, from, until],
  });
  return rows;
}

export interface DeliveryFilter {
  /** Only to endpoints of this tenant. */
  readonly tenant?: string | null;
  readonly endpoint?: string | null | undefined;
  readonly rootId?: string | null | undefined;
  readonly status?: DeliveryStatus | null | undefined;
}

const tenantOfDelivery = "substring(d.endpoint from '^[a-z0-9-]{1,40}//')";

const conditions: Readonly<Record<DeliveryStatus, string>> = {
  PENDING: 'd.due_at is not null',
  DELIVERED: 'd.delivered_at is not null',
  FAILED: 'd.failed_at is not null',
};

/** A page of deliveries, newest first; from the end if `backwards`. */
export async function listDeliveries(
  database: Queries,
  { tenant = null, endpoint, rootId, status }: DeliveryFilter,
  { after, before, take, backwards }: Range<string>,
): Promise<CallbackDelivery[]> {
  if (endpoint != null) checkName(endpoint, 'filter.endpoint', maxNameLength);
  const values: unknown[] = [after ?? lastUuid, before ?? firstUuid, take];
  // All columns of the index that has this order, so that the planner finds no other index as good.
  const key =
    rootId != null
      ? ['d.root_id', 'd.id']
      : endpoint != null
        ? ['d.endpoint', 'd.id']
        : tenant !== null
          ? [tenantOfDelivery, 'd.id']
          : ['d.id'];
  const ofTenant = tenant === null ? null : beginningOf(tenant);
  const of = rootId ?? endpoint ?? ofTenant;
  const place = of == null ? '' : `$${values.push(of)}, `;
  const also = [
    ...(rootId != null && endpoint != null ? [`d.endpoint = $${values.push(endpoint)}`] : []),
    // Written as in the index on this expression.
    ...(rootId != null && ofTenant !== null ? [`${tenantOfDelivery} = $${values.push(ofTenant)}`] : []),
    // Which the planner does not conclude from a comparison of rows.
    ...(key[0] === tenantOfDelivery ? [`${tenantOfDelivery} is not null`] : []),
    ...(status == null ? [] : [conditions[status]]),
  ];
  const direction = backwards ? 'asc' : 'desc';
  const { rows } = await database.pool.query<CallbackDelivery>({
    name: `list_deliveries/${tenant === null}/${endpoint == null}/${rootId == null}/${status}/${direction}`,
    text: `select ${columns} from jobtree.callback_delivery d
           where (${key.join(', ')}) < (${place}$1::uuid) and (${key.join(', ')}) > (${place}$2::uuid)
             ${also.map((condition) => `and ${condition}`).join(' ')}
           order by ${key.map((column) => `${column} ${direction}`).join(', ')} limit $3`,
    values,
  });
  return rows;
}

export interface Callback {
  readonly endpoint: string;
  readonly on: 'TREE' | 'JOB';
}

/** The callbacks of these trees, by root. */
export async function readCallbacks(
  database: Queries,
  rootIds: readonly string[],
): Promise<Map<string, Callback[]>> {
  const { rows } = await database.pool.query<Callback & { root_id: string }>({
    name: 'read_callbacks',
    text: `select root_id, endpoint, event as on from jobtree.callback where root_id = any ($1) order by root_id, endpoint, event`,
    values: [rootIds],
  });
  const found = new Map<string, Callback[]>();
  for (const { root_id: rootId, ...callback } of rows)
    found.set(rootId, [...(found.get(rootId) ?? []), callback]);
  return found;
}

/** Sends alerts to endpoints about types of which many items fail for good. */
export async function raiseAlerts(engine: CallbackEngine): Promise<void> {
  const [row] = await engine.database.call<{ raise_alerts: number }>('raise_alerts');
  if ((row?.raise_alerts ?? 0) > 0)
    engine.logger.warn({ alerts: row?.raise_alerts }, 'many items fail for good');
}
