/**
 * Operations replay or discard many dead letters at once, cancel pending items, or make scheduled ones ready. The call that starts one
 * runs it for a moment; servers finish the rest in the background (`finish.ts`), and the operation's row shows the progress. Those on trees
 * have their selection in `tree-operations.ts`.
 */
import type { Queries, Statement } from '../../db/database.ts';
import { monthOld, type Old, prune } from '../../db/prune.ts';
import { InvalidInputError, NotFoundError } from '../../errors.ts';
import { coversType, seesTenant, type TenantScope } from '../access/rights.ts';
import { coveredJobs, coveredTypes } from '../access/scoped-reads.ts';
import { checkRoom, type Engine } from '../engine/engine.ts';
import type { ItemStatus } from '../items/item-state.ts';
import { requirePayload } from '../items/update-item.ts';
import { checkBatch, checkInstant, checkName, checkText, toJsonText } from '../values/checks.ts';
import type { ItemKey } from '../values/ids.ts';
import { JsonText } from '../values/json-text.ts';
import { maxDedupeKeyLength, maxNameLength } from '../values/limits.ts';
import { firstUuid, lastUuid, type Range } from '../values/range.ts';
import { runCorrection } from './correct-payloads.ts';
import { runForAMoment, runSome } from './run-operation.ts';

export type OperationKind = 'REPLAY' | 'DISCARD' | 'CANCEL' | 'PROMOTE';
export type TreeOperationKind = 'CANCEL_TREES' | 'DELETE_TREES';

/** Selects items that meet all conditions that are set; at least one must be. */
export interface ItemFilter {
  /** Only items of this tenant, which then owns the operation. */
  readonly tenant?: string | undefined;
  /** Includes all jobs below it. */
  readonly jobId?: string | undefined;
  readonly types?: readonly string[] | undefined;
  /** Of the last failure. */
  readonly codes?: readonly string[] | undefined;
  readonly dedupeKeys?: readonly string[] | undefined;
  readonly items?: readonly ItemKey[] | undefined;
}

export interface DeadLetterFilter extends ItemFilter {
  readonly groupIds?: readonly string[] | undefined;
  readonly diedFrom?: Date | undefined;
  /** Exclusive. */
  readonly diedUntil?: Date | undefined;
}

export interface PendingItemFilter extends ItemFilter {
  /** Of pending items; to promote items, only RETRYING, which is the default, and SCHEDULED. */
  readonly statuses?: readonly ItemStatus[] | undefined;
  readonly addedFrom?: Date | undefined;
  /** Exclusive. */
  readonly addedUntil?: Date | undefined;
}

export type Filter<Kind extends OperationKind> = Kind extends 'CANCEL' | 'PROMOTE'
  ? PendingItemFilter
  : DeadLetterFilter;

export interface Operation {
  readonly id: string;
  readonly kind: OperationKind | TreeOperationKind;
  readonly requestedAt: Date;
  readonly total: number;
  readonly done: number;
  /** Left because of what their payloads would have become, and the problem of the first. */
  readonly skipped: number;
  readonly problem: string | null;
  readonly cancelledAt: Date | null;
  readonly finishedAt: Date | null;
  /** Who asked for it, for people; null if that is not known. */
  readonly requestedBy: string | null;
  readonly selection: OperationSelection;
}

/** What was asked for: the conditions of an operation, of which lists have the first `mostShown`. */
export interface OperationSelection {
  readonly jobId: string | null;
  readonly types: readonly string[] | null;
  readonly codes: readonly string[] | null;
  readonly groupIds: readonly string[] | null;
  readonly items: readonly ItemKey[] | null;
  readonly itemCount: number;
  readonly dedupeKeyCount: number;
  readonly statuses: readonly string[] | null;
  /** As JSON has times. */
  readonly from: string | null;
  readonly until: string | null;
  readonly hasPayload: boolean;
  /** Whether there are conditions beside these. */
  readonly hasMore: boolean;
}

interface OperationRow extends Operation {
  readonly types: readonly string[] | null;
}

export interface OperationOptions {
  /** Replaces that of the item, if exactly one is replayed. */
  readonly payload?: unknown;
  /** A JSON merge patch for the payload of each item that is replayed. */
  readonly payloadPatch?: unknown;
  /** The name of the caller. */
  readonly requestedBy?: string | undefined;
}

const everything: TenantScope = { tenant: null, types: null, rootIds: null };

/** Starts an operation and returns its id. */
export async function startOperation<Kind extends OperationKind>(
  engine: Engine,
  kind: Kind,
  filter: Filter<Kind>,
  { payload, payloadPatch, requestedBy }: OperationOptions = {},
): Promise<string> {
  checkFilter(filter);
  const text = payload === undefined ? null : toJsonText(payload, 'payload', engine.limits.maxJsonBytes);
  // If the filter does not name exactly one item, the database reports that.
  const [item] = filter.items ?? [];
  if (text !== null && item !== undefined && (await isOf(engine, filter.tenant, item.jobId)))
    await requirePayload(engine, item.jobId, payload, text);
  const patch = payloadPatch === undefined ? null : toPatchText(engine, payloadPatch, payload);
  const { operation, total } = await select(engine, kind, filter, text, requestedBy ?? null, patch);
  if (kind === 'REPLAY')
    await checkRoom(engine, { items: 0, bytes: (patch?.length ?? 0) * total + (text?.length ?? 0) });
  const [row] = await engine.database.call<{ id: string }>(insertOperation, operation);
  if (row === undefined) throw new Error('start_operation returned no row');
  if (total > 0) await runForAMoment(engine, row.id, patch === null ? runSome : runCorrection);
  return row.id;
}

/** What equal calls that waited have selected together makes an operation for each. */
const insertOperation: Statement = {
  name: 'start_operation',
  text: `insert into jobtree.operation
    select o.* from jsonb_populate_record($1::jobtree.operation, jsonb_build_object('id', jobtree.new_id())) o
    returning id`,
};

/** The row of an operation that begins now, as text, and how many items it selects. */
async function select(
  engine: Engine,
  kind: OperationKind,
  filter: ItemFilter,
  ...more: readonly (string | null)[]
): Promise<{ readonly operation: string; readonly total: number }> {
  const { rows } = await engine.database.surveys.query<{ operation: string; total: number }>({
    name: 'select_items',
    text: 'select o::text as operation, o.total from jobtree.operation_of($1, $2, $3, $4, $5) o',
    values: [kind, JSON.stringify(filter), ...more],
  });
  const [row] = rows;
  if (row === undefined) throw new Error('operation_of returned no row');
  return row;
}

function toPatchText({ limits }: Engine, patch: unknown, payload: unknown): string {
  if (payload !== undefined)
    throw new InvalidInputError('Give either payload or payloadPatch.', 'payloadPatch');
  if (typeof patch !== 'object' || patch === null || Array.isArray(patch) || patch instanceof JsonText)
    throw new InvalidInputError(
      'payloadPatch must be an object: its keys replace those of each payload.',
      'payloadPatch',
    );
  return toJsonText(patch, 'payloadPatch', limits.maxJsonBytes);
}

/** Whether a job belongs to the tenant; without a tenant, every job does. */
async function isOf({ database }: Engine, tenant: string | undefined, jobId: string): Promise<boolean> {
  if (tenant === undefined) return true;
  return (await coveredJobs(database, { tenant, types: null, rootIds: null }, [jobId])).size > 0;
}

/** How many items an operation with this filter would affect. */
export async function countMatching<Kind extends OperationKind>(
  engine: Engine,
  kind: Kind,
  filter: Filter<Kind>,
): Promise<number> {
  checkFilter(filter);
  return (await select(engine, kind, filter, null, null, null)).total;
}

const cancelOne: Statement = {
  name: 'cancel_operation',
  text: `update jobtree.operation set cancelled_at = coalesce(cancelled_at, clock_timestamp()), finished_at = clock_timestamp(), selected_job_ids = null
    where id = $1 and finished_at is null
    returning id`,
};

/** Items that were not processed yet stay as they are. Does nothing if the operation has finished. */
export async function cancelOperation(
  engine: Engine,
  id: string,
  viewer: TenantScope = everything,
): Promise<void> {
  if ((await readOperations(engine.database, [id], viewer)).length === 0)
    throw new NotFoundError(`There is no operation ${id}.`, 'operationId');
  await engine.database.call(cancelOne, id);
}

export const oldOperations: Old = {
  table: 'operation',
  where: `${monthOld} and finished_at is not null`,
  orderBy: 'id',
};

/** Removes a batch of those that finished and were requested more than a month ago. Returns whether there may be more. */
export const pruneOperations = (database: Pick<Queries, 'call'>): Promise<boolean> =>
  prune(database, oldOperations, 1_000);

/** How many of the names, codes and ids that an operation is about are shown. */
const mostShown = 20;
const first = (column: string) => `${column}[1:${mostShown}]`;
/** Conditions on trees that a selection has; those that make them conditions on trees; and the scope. */
const told = `'{types,statuses,createdFrom,createdUntil,rootsOnly,wholeTrees,isScoped}'::text[]`;

const columns = `id, kind, requested_at as "requestedAt", total, done, skipped, problem, cancelled_at as "cancelledAt", finished_at as "finishedAt",
  requested_by as "requestedBy", types, jsonb_build_object(
    'jobId', job_id, 'types', ${first('types')}, 'codes', ${first('codes')}, 'groupIds', ${first('fingerprints')},
    'items', (select jsonb_agg(jsonb_build_object('jobId', u.job_id, 'position', u.position))
              from unnest(${first('item_job_ids')}, ${first('item_positions')}) u(job_id, position)),
    'itemCount', coalesce(cardinality(item_positions), 0), 'dedupeKeyCount', coalesce(cardinality(dedupe_keys), 0),
    'statuses', coalesce(to_jsonb(${first('statuses')}), conditions::jsonb -> 'statuses'),
    'from', coalesce(to_jsonb(coalesce(died_from, added_from)), conditions::jsonb -> 'createdFrom'),
    'until', coalesce(to_jsonb(coalesce(died_until, added_until)), conditions::jsonb -> 'createdUntil'),
    'hasPayload', payload is not null or payload_patch is not null,
    'hasMore', exists (select from jsonb_each(conditions::jsonb - ${told}) c where c.value <> 'null')
  ) as selection`;

/** The operations with these ids that the viewer sees, in any order: with a scope, those that are limited to types within it. */
export async function readOperations(
  database: Queries,
  ids: readonly string[],
  viewer: TenantScope = everything,
): Promise<Operation[]> {
  const { rows } = await database.pool.query<OperationRow>({
    name: 'read_operations',
    text: `select ${columns} from jobtree.operation where id = any ($1) and ($2::text is null or tenant = $2)`,
    values: [ids, viewer.tenant],
  });
  if (seesTenant(viewer)) return rows;
  return rows.filter(({ types }) => types?.every((type) => coversType(viewer, type)));
}

/** A page of operations that the viewer sees, newest first; from the end if `backwards`. */
export async function listOperations(
  database: Queries,
  viewer: TenantScope,
  { after = lastUuid, before = firstUuid, take, backwards }: Range<string>,
): Promise<Operation[]> {
  const { tenant } = viewer;
  const types = seesTenant(viewer) ? null : await coveredTypes(database, viewer, null);
  const direction = backwards ? 'asc' : 'desc';
  const conditions = [
    'id < $1 and id > $2',
    ...(tenant === null ? [] : ['tenant = $4']),
    ...(types === null ? [] : [`types <@ $${tenant === null ? 4 : 5}`]),
  ];
  const { rows } = await database.pool.query<Operation>({
    name: `list_operations/${tenant === null ? 'any' : 'tenant'}/${types === null ? 'all' : 'types'}/${direction}`,
    text: `select ${columns} from jobtree.operation where ${conditions.join(' and ')} order by id ${direction} limit $3`,
    values: [after, before, take, ...(tenant === null ? [] : [tenant]), ...(types === null ? [] : [types])],
  });
  return rows;
}

function checkFilter(filter: DeadLetterFilter & PendingItemFilter): void {
  for (const [field, entries] of [
    ['types', filter.types],
    ['codes', filter.codes],
    ['groupIds', filter.groupIds],
    ['dedupeKeys', filter.dedupeKeys],
    ['itemIds', filter.items],
    ['statuses', filter.statuses],
  ] as const)
    if (entries !== undefined) checkBatch(entries.length, `filter.${field}`);
  for (const [i, type] of (filter.types ?? []).entries())
    checkName(type, `filter.types[${i}]`, maxNameLength);
  for (const [i, code] of (filter.codes ?? []).entries())
    checkText(code, `filter.codes[${i}]`, maxNameLength);
  for (const [i, key] of (filter.dedupeKeys ?? []).entries())
    checkText(key, `filter.dedupeKeys[${i}]`, maxDedupeKeyLength);
  for (const field of ['diedFrom', 'diedUntil', 'addedFrom', 'addedUntil'] as const) {
    const instant = filter[field];
    if (instant !== undefined) checkInstant(instant, `filter.${field}`);
  }
}
