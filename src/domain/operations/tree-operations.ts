/**
 * Operations on trees: all that meet the conditions of a list are cancelled, or deleted. What meets them is decided tree by tree, just before its
 * turn, among the trees that existed when the operation was requested: one that no longer does is left alone.
 */
import type { Queries, Statement } from '../../db/database.ts';
import type { TenantScope } from '../access/rights.ts';
import { coveredTrees } from '../access/scoped-reads.ts';
import type { Engine } from '../engine/engine.ts';
import type { JobConditions } from '../jobs/job-conditions.ts';
import { countJobs, readJobIds } from '../jobs/job-pages.ts';
import type { TreeOperationKind } from './operations.ts';
import { runForAMoment, type Step, stateAfter } from './run-operation.ts';

/** A batch is one transaction, with a subtransaction for each tree: up to 64 of them cost others nothing. */
const batchSize = 50;
/** A batch looks at so many trees first: usually most of them match. */
const fewLookedAt = 10 * batchSize;

/** The trees that the operation would change. */
export function conditionsOf(kind: TreeOperationKind, conditions: JobConditions): JobConditions {
  const ofTrees = { ...conditions, rootsOnly: true, wholeTrees: true };
  if (kind === 'DELETE_TREES') return ofTrees;
  const { statuses } = conditions;
  return {
    ...ofTrees,
    statuses: (['WAITING', 'RUNNING'] as const).filter((status) => statuses?.includes(status) ?? true),
  };
}

/** Callers with a scope also see the operation by the types of its conditions. */
export const insertTreeOperation: Statement = {
  name: 'start_tree_operation',
  text: `insert into jobtree.operation (id, kind, requested_at, types, before_position, total, tenant, scope, requested_by, conditions)
    select jobtree.new_id(), $1, clock_timestamp(),
      case jsonb_typeof($2::jsonb -> 'types') when 'array' then array(select jsonb_array_elements_text($2::jsonb -> 'types')) end,
      0, $3, $4, $5, $6, $2
    returning id`,
};

/** Starts an operation and returns its id. The caller's scope applies for as long as it takes. */
export async function startOnTrees(
  engine: Engine,
  kind: TreeOperationKind,
  given: JobConditions,
  { tenant, types }: TenantScope,
  requestedBy?: string,
): Promise<string> {
  const conditions = conditionsOf(kind, given);
  const { count } = await countJobs(engine.database, conditions, 0);
  const [row] = await engine.database.call<{ id: string }>(
    insertTreeOperation,
    kind,
    JSON.stringify(conditions),
    count,
    tenant,
    types,
    requestedBy ?? null,
  );
  if (row === undefined) throw new Error('start_tree_operation returned no row');
  await runForAMoment(engine, row.id, runOnTrees);
  return row.id;
}

/** Runs one batch. */
export const runOnTrees: Step = async (engine, id) => {
  const startedAt = performance.now();
  const operation = await readOperation(engine.database, id);
  if (operation === undefined) return 'FINISHED';
  const { kind, step } = operation;
  const { rootIds, next } = await nextTrees(engine.database, id, operation);
  const [row] = await engine.database.call<{
    finished: boolean;
    more: boolean;
    root_ids: string[] | null;
    unfinished: boolean;
  }>('run_tree_operation', id, step, rootIds, next);
  if (row === undefined) return 'WAITING';
  for (const rootId of row.root_ids ?? []) if (kind === 'CANCEL_TREES') engine.effects.touched(rootId);
  if (row.unfinished) engine.effects.unfinished();
  return stateAfter(row, startedAt);
};

interface TreeOperation {
  readonly kind: TreeOperationKind;
  readonly conditions: JobConditions;
  readonly scope: readonly string[] | null;
  readonly after: string;
  /** How many batches there were. */
  readonly step: number;
}

const times = ['createdFrom', 'createdUntil', 'completedFrom', 'completedUntil', 'idleSince'] as const;

/** Undefined if it is finished. */
async function readOperation({ pool }: Queries, id: string): Promise<TreeOperation | undefined> {
  const { rows } = await pool.query<TreeOperation>({
    name: 'read_tree_operation',
    text: `select kind, conditions, scope, next_job_id as after, next_position as step
           from jobtree.operation where id = $1 and finished_at is null`,
    values: [id],
  });
  const [operation] = rows;
  if (operation === undefined) return undefined;
  const { conditions } = operation;
  const instants = times.map((name) => [name, conditions[name] && new Date(conditions[name])]);
  return { ...operation, conditions: { ...conditions, ...Object.fromEntries(instants) } };
}

/** The next trees that meet the conditions and that the scope covers completely, and after which tree the batch after that begins: null at the end. */
async function nextTrees(
  database: Queries,
  id: string,
  { conditions, scope, after }: TreeOperation,
): Promise<{ rootIds: readonly string[]; next: string | null }> {
  // Ids grow with time: what is created later has a greater one than the operation.
  const range = { after, before: id, take: batchSize, backwards: false };
  let page = await readJobIds(database, conditions, range, fewLookedAt);
  if (page.ids.length < batchSize && page.end !== null) page = await readJobIds(database, conditions, range);
  const next = page.ids.length === batchSize ? (page.ids.at(-1) ?? null) : page.end;
  if (scope === null) return { rootIds: page.ids, next };
  const covered = await coveredTrees(database, { types: scope, rootIds: null }, page.ids);
  return { rootIds: page.ids.filter((rootId) => covered.has(rootId)), next };
}
