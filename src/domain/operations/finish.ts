/**
 * Finishes what calls and folds have begun and left: cancellations of jobs with very many ranges of items, the release of jobs
 * that waited for others, deletions of large trees, and operations on many items or trees. Each is a row in Postgres, so any server can
 * continue it, even after a crash.
 */
import { isOutage } from '../../db/sqlstate.ts';
import type { Engine } from '../engine/engine.ts';
import { deleteSome } from '../retention/delete-job.ts';
import { runCorrection } from './correct-payloads.ts';
import { runSome } from './run-operation.ts';
import { runOnTrees } from './tree-operations.ts';

/** How far the passes over jobs are: where each continues, and how much it has moved. */
export type Passes = Map<string, { from: number; moved: number }>;

/** How many operations of each tenant, or of each caller without one, are under way at a time: whoever requests very many waits for their own. */
const operationsEach = 10;

/**
 * Performs one batch of each unfinished action, in turn, so that none waits for all of another one. Releases come first, and again before
 * each batch of anything else: they are what workers wait for. Resolves to whether there is more to do immediately.
 */
export async function finishSome(
  engine: Engine,
  signal: AbortSignal,
  passes: Passes = new Map(),
): Promise<boolean> {
  const { rows } = await engine.database.pool.query<Unfinished>({
    name: 'read_unfinished',
    text: `(select j.id, j.root_id, 'cancel' as kind from jobtree.job j where j.cancelling order by j.id limit 1000)
           union all
           (select t.root_id, t.root_id, 'delete' from jobtree.tree t where t.deletion = 'REQUESTED' order by t.root_id limit 1000)
           union all
           (select o.id, o.id, case when o.conditions is not null then 'trees' when o.payload_patch is not null then 'correction' else 'operation' end
            from (
              select o.id, o.conditions, o.payload_patch, row_number() over (partition by o.tenant, case when o.tenant is null then o.requested_by end order by o.id) as n
              from jobtree.operation o where o.finished_at is null
            ) o
            where o.n <= $1 order by o.n, o.id limit 1000)`,
    values: [operationsEach],
  });
  let more = await releaseEach(engine, signal, passes);
  for (const row of rows) {
    if (signal.aborted) return false;
    if (await act(engine, row, passes)) more = true;
    if (await releaseEach(engine, signal, passes)) more = true;
  }
  return more;
}

interface Unfinished {
  readonly id: string;
  readonly root_id: string;
  readonly kind: keyof typeof steps;
}

async function releaseEach(engine: Engine, signal: AbortSignal, passes: Passes): Promise<boolean> {
  const { rows } = await engine.database.pool.query<Unfinished>({
    name: 'read_releasing',
    text: `select j.id, j.root_id, 'release' as kind from jobtree.job j where j.releasing order by j.id limit 1000`,
  });
  let more = false;
  for (const row of rows) {
    if (signal.aborted) return false;
    if (await act(engine, row, passes)) more = true;
  }
  return more;
}

async function act(
  engine: Engine,
  { id, root_id: rootId, kind }: Unfinished,
  passes: Passes,
): Promise<boolean> {
  try {
    return await steps[kind](engine, id, rootId, passes);
  } catch (error) {
    if (isOutage(error)) throw error;
    // For example, someone else's transaction holds a row of the tree. The others should not wait for it.
    engine.logger.warn({ err: error, id, kind }, 'finishing a call in the background failed; trying again');
    return false;
  }
}

/** Each resolves to whether there is more to do immediately. */
const steps = {
  cancel: cancelSome,
  release: releaseSome,
  delete: async (engine: Engine, rootId: string) => (await deleteSome(engine, rootId)) === 'MORE',
  // When one is finished, another of the same caller has its place.
  operation: async (engine: Engine, id: string) => (await runSome(engine, id)) !== 'WAITING',
  correction: async (engine: Engine, id: string) => (await runCorrection(engine, id)) !== 'WAITING',
  trees: async (engine: Engine, id: string) => (await runOnTrees(engine, id)) !== 'WAITING',
};

/** A batch of the pending items of a cancelled job. */
async function cancelSome(engine: Engine, jobId: string, rootId: string, passes: Passes): Promise<boolean> {
  const [row] = await engine.database.call<{ cancelled: number; next_from: number; done: boolean }>(
    'cancel_items',
    jobId,
    passes.get(jobId)?.from ?? 0,
  );
  if (row === undefined) throw new Error('cancel_items returned no row');
  if (row.cancelled > 0) engine.effects.touched(rootId);
  return goOn(passes, jobId, { done: row.done, next: row.next_from, moved: row.cancelled });
}

/** A batch of the entries of a job that no longer waits for others. */
async function releaseSome(engine: Engine, jobId: string, _: string, passes: Passes): Promise<boolean> {
  const [row] = await engine.database.call<{
    type: string;
    entries: number;
    ready: number;
    next_from: number;
    done: boolean;
  }>('release_items', jobId, passes.get(jobId)?.from ?? 0);
  if (row === undefined) throw new Error('release_items returned no row');
  if (row.ready > 0) engine.effects.ready(new Map([[row.type, row.ready]]));
  return goOn(passes, jobId, { done: row.done, next: row.next_from, moved: row.entries });
}

/** Whether to continue at once: not if the job is done, or a whole pass moved nothing, since all that is left is locked. */
function goOn(
  passes: Passes,
  jobId: string,
  { done, next, moved }: { readonly done: boolean; readonly next: number; readonly moved: number },
): boolean {
  const all = (passes.get(jobId)?.moved ?? 0) + moved;
  if (!done && next > 0) {
    passes.set(jobId, { from: next, moved: all });
    return true;
  }
  passes.delete(jobId);
  return !done && all > 0;
}
