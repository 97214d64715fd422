/** Messages to endpoints: the fold and alerts add them, servers send them (`server/loops/callbacks.ts`), and people inspect them. */
import type { Queries } from '../../db/database.ts';
import { monthOld, type Old, prune } from '../../db/prune.ts';
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

interface LeasedRow extends Omit<LeasedDelivery, 'messageId' | 'sentAt'> {
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
  return rows.map(({ message_id: messageId, sent_at: sentAt, ...row }) => ({ ...row, messageId, sentAt }));
}

export async function noteDelivery(
  engine: CallbackEngine,
  { id, attempt, sentAt }: LeasedDelivery,
  answer: DeliveryAnswer & { readonly tookMs: number },
): Promise<void> {
  await engine.database.call('note_delivery', id, attempt, JSON.stringify({ at: sentAt, ...answer }));
}

export const oldDeliveries: Old = {
  table: 'callback_delivery',
  where: `${monthOld} and due_at is null`,
  orderBy: 'id',
};

/** Deletes a batch of deliveries that were settled long ago. Returns whether there may be more. */
export const pruneDeliveries = ({ database }: Pick<CallbackEngine, 'database'>): Promise<boolean> =>
  prune(database, oldDeliveries, 1_000);

/** Sends it immediately, and again with the waits of a new delivery. Affects only a delivery to an endpoint of `tenant`, unless that is null. */
export async function retryDelivery(
  engine: CallbackEngine,
  id: string,
  tenant: string | null = null,
): Promise<void> {
  await engine.database.call('retry_delivery', id, tenant);
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
