/** How items are read, each part in one query for all that are requested together. */
import type { Queries } from '../../db/database.ts';
import { assignmentIdOf, type ItemKey } from '../values/ids.ts';
import { JsonText } from '../values/json-text.ts';
import type { ItemStatus } from './item-state.ts';

/** An item, without the parts that may be large. */
export interface Item extends ItemKey {
  /** The item's own priority, or else its job's. */
  readonly priority: number;
  readonly runAt: Date | null;
  readonly dedupeKey: string | null;
  readonly serializeKey: string | null;
  /** For a fed item: the item of the parent job whose success created it. */
  readonly parent: ItemKey | null;
  /** While the item waits for its serialize key: the item that has the key. */
  readonly blockedBy: ItemKey | null;
  readonly createdAt: Date;
  readonly status: ItemStatus;
  readonly finishedAt: Date | null;
  /** When it is due, while it is SCHEDULED or RETRYING. */
  readonly retryAt: Date | null;
  /** The assignment of the worker that has it, or that succeeded. */
  readonly assignmentId: string | null;
  readonly failureCount: number;
  /** Parts that may be large: undefined if they were not read with the item. */
  readonly payload: JsonText | null | undefined;
  readonly result: JsonText | null | undefined;
}

/** The parts of an item that are read only on request. */
export interface WantedParts {
  /** Everything but key, payload and result. Without it, those fields have placeholder values. */
  readonly details: boolean;
  /** The status, if it is requested without the details. Without both, a pending item counts as READY. */
  readonly status?: boolean;
  readonly payload: boolean;
  readonly result: boolean;
}

interface ItemRow {
  /** Which of the keys, from 1. */
  readonly n: number;
  readonly status: ItemStatus;
  readonly priority?: number;
  readonly run_at?: Date | null;
  readonly dedupe_key?: string | null;
  readonly serialize_key?: string | null;
  readonly parent_id?: string | null;
  readonly parent_position?: number | null;
  readonly head_job_id?: string | null;
  readonly head_position?: number | null;
  readonly created_at?: Date;
  readonly finished_at?: Date | null;
  readonly retry_at?: Date | null;
  readonly lease_id?: string | null;
  readonly lease_position?: number | null;
  readonly failure_count?: number;
  readonly payload?: string | null;
  readonly result?: string | null;
}

/** The keys of `toValues`, as a table. */
export const requested = 'from unnest($1::uuid[], $2::bigint[]) with ordinality as u(job_id, position, n)';

/** Finds the entry or lease that has an item without an outcome: each has at most 128 items. */
const around = `job_id = i.job_id and position between i.position - 127 and i.position and position + count > i.position`;

/** The range of cancelled items that contains an item: no other range begins between its start and the item. */
export const cancellation = `left join lateral (
             select case when r.position + r.count > i.position then r.cancelled_at end as cancelled_at
             from jobtree.cancellation r
             where r.job_id = i.job_id and r.position <= i.position and o.job_id is null
             order by r.job_id desc, r.position desc
             limit 1
           ) c on true`;

export function toValues(keys: readonly ItemKey[]): [string[], number[]] {
  return [keys.map(({ jobId }) => jobId), keys.map(({ position }) => position)];
}

/** Where a pending item is: its queue entry, the line of its serialize key, or the lease that has it. */
const entryOrLine = `left join lateral (
             select run_at, attempt from jobtree.queue_entry
             where ${around} and o.job_id is null and j.cancelled_at is null
             limit 1
           ) q on true
           left join lateral (
             select key from jobtree.blocked_item
             where job_id = i.job_id and position = i.position
               and i.serialize_key is not null and o.job_id is null and j.cancelled_at is null
             limit 1
           ) b on true`;
const openLease = `select id, position from jobtree.lease
              where ${around} and o.job_id is null and j.cancelled_at is null
                -- Not "check_at is not null": the index of live leases would be read as a whole.
                and get_bit(open, (i.position - position)::int) = 1
              limit 1`;
const cancelledAt = 'coalesce(c.cancelled_at, j.cancelled_at)';
const whereabouts = `jobtree.status_of_item(
               o.failed, ${cancelledAt}, l.id is not null, b.key is not null, q.run_at, q.attempt
             ) as status, nullif(q.run_at, 'infinity') as retry_at, l.id as lease_id, l.position as lease_position`;

const status = {
  columns: whereabouts,
  joins: `${entryOrLine} left join lateral (${openLease}) l on true`,
};

const outcome = {
  columns: `jobtree.status_of_item(o.failed, ${cancelledAt}, false, false, null, null) as status`,
  joins: '',
};

const details = {
  columns: `coalesce(i.priority, j.priority) as priority, i.run_at, i.dedupe_key, i.serialize_key, j.parent_id, i.parent_position,
             h.job_id as head_job_id, h.position as head_position,
             i.created_at, coalesce(o.finished_at, ${cancelledAt}) as finished_at, ${whereabouts}, coalesce(f.count, 0) as failure_count`,
  joins: `left join lateral (
             select max(attempt) as count from jobtree.failure where job_id = i.job_id and position = i.position
           ) f on true
           ${entryOrLine}
           left join lateral (select * from jobtree.serialize_key where key = b.key limit 1) h on true
           left join lateral (
             select id, position from jobtree.lease where id = o.lease_id and not o.failed
             union all
             (${openLease})
           ) l on true`,
};

/**
 * The items of these keys, in their order; undefined for a key without an item. Each is looked up by its key: the limits keep the
 * planner from joining everything that a job has, which it did when it had no statistics about it.
 */
export async function readItems(
  database: Queries,
  keys: readonly ItemKey[],
  parts: WantedParts = { details: true, payload: false, result: false },
): Promise<(Item | undefined)[]> {
  const standing = parts.details ? details : parts.status ? status : outcome;
  const wanted = [
    standing.columns,
    parts.payload && 'i.payload::text as payload',
    parts.result && 'o.result::text as result',
  ].flatMap((columns) => columns || []);
  const { rows } = await database.pool.query<ItemRow>({
    name: `read_items/${Object.entries(parts).flatMap(([part, isWanted]) => (isWanted ? part : []))}`,
    text: `select ${['u.n::int', ...wanted].join(', ')}
           ${requested}
           cross join lateral (
             select * from jobtree.job_item where job_id = u.job_id and position = u.position limit 1
           ) i
           cross join lateral (select priority, cancelled_at, parent_id from jobtree.job where id = u.job_id limit 1) j
           left join lateral (
             select * from jobtree.outcome where job_id = u.job_id and position = u.position limit 1
           ) o on true
           ${cancellation}
           ${standing.joins}`,
    values: toValues(keys),
  });
  const items = new Array<Item | undefined>(keys.length).fill(undefined);
  for (const row of rows) {
    const key = keys[row.n - 1];
    if (key !== undefined) items[row.n - 1] = toItem(key, row);
  }
  return items;
}

const unread = new Date(0);

function toItem({ jobId, position }: ItemKey, row: ItemRow): Item {
  const { status, lease_id: leaseId } = row;
  return {
    jobId,
    position,
    priority: row.priority ?? 0,
    runAt: row.run_at ?? null,
    dedupeKey: row.dedupe_key ?? null,
    serializeKey: row.serialize_key ?? null,
    parent: toKey(row.parent_id, row.parent_position),
    blockedBy: toKey(row.head_job_id, row.head_position),
    createdAt: row.created_at ?? unread,
    status,
    finishedAt: row.finished_at ?? null,
    retryAt: row.retry_at ?? null,
    assignmentId: leaseId == null ? null : assignmentIdOf(leaseId, position - (row.lease_position ?? 0) + 1),
    failureCount: row.failure_count ?? 0,
    payload: asJson(row.payload),
    result: asJson(row.result),
  };
}

function toKey(jobId: string | null | undefined, position: number | null | undefined): ItemKey | null {
  return jobId == null || position == null ? null : { jobId, position };
}

/** The text is copied into the answer unparsed. */
export function asJson(text: string | null | undefined): JsonText | null | undefined {
  return text == null ? text : new JsonText(text);
}

/** One failed attempt. */
export interface ItemFailure {
  readonly attempt: number;
  readonly code: string;
  readonly message: string;
  /** Null if no worker had the item. */
  readonly worker: string | null;
  readonly at: Date;
}

/** The stored failures of each item, oldest first, in the order of the keys. */
export async function readFailures(
  database: Queries,
  keys: readonly ItemKey[],
): Promise<(readonly ItemFailure[])[]> {
  const { rows } = await database.pool.query<ItemFailure & { n: number }>({
    name: 'read_failures',
    text: `select u.n, f.attempt, f.code, f.message, f.worker, f.at ${requested}
           join jobtree.failure f on f.job_id = u.job_id and f.position = u.position
           order by u.n, f.attempt`,
    values: toValues(keys),
  });
  const lists = keys.map((): ItemFailure[] => []);
  for (const { n, ...failure } of rows) lists[n - 1]?.push(failure);
  return lists;
}

/** A failure of an item. */
export interface FailureKey extends ItemKey {
  readonly attempt: number;
}

const requestedFailures =
  'unnest($1::uuid[], $2::bigint[], $3::int[]) with ordinality as u(job_id, position, attempt, n)';

/** The stack of each of these failures, in the order of the keys; null if the worker sent none. */
export async function readStacks(database: Queries, keys: readonly FailureKey[]): Promise<(string | null)[]> {
  const { rows } = await database.pool.query<{ stack: string | null }>({
    name: 'read_stacks',
    text: `select f.stack from ${requestedFailures}
           left join jobtree.failure f on f.job_id = u.job_id and f.position = u.position and f.attempt = u.attempt
           order by u.n`,
    values: [...toValues(keys), keys.map(({ attempt }) => attempt)],
  });
  return rows.map(({ stack }) => stack);
}

/** These failures, in the order of the keys; undefined for one that is not kept. */
export async function readFailuresAt(
  database: Queries,
  keys: readonly FailureKey[],
): Promise<(ItemFailure | undefined)[]> {
  const { rows } = await database.pool.query<ItemFailure & { n: number }>({
    name: 'read_failures_at',
    text: `select u.n, f.* from ${requestedFailures}
           cross join lateral (
             select attempt, code, message, worker, at from jobtree.failure
             where job_id = u.job_id and position = u.position and attempt = u.attempt
             limit 1
           ) f`,
    values: [...toValues(keys), keys.map(({ attempt }) => attempt)],
  });
  const found = new Map(rows.map(({ n, ...failure }) => [n, failure]));
  return keys.map((_, i) => found.get(i + 1));
}
