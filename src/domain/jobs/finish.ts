/**
 * Finishes what calls and folds have begun and left: cancellations of jobs with very many ranges of items, the release of jobs
 * that waited for others, deletions of large trees, and operations on many items. Each is a row in Postgres, so any server can
 * continue it, even after a crash.
 */
import { isOutage } from '../../db/sqlstate.ts';
import type { Engine } from '../engine/engine.ts';
import { runSome } from '../items/operations.ts';
import { foldProgress } from './fold-progress.ts';

/** Performs one step of each unfinished action, in turn. Resolves to whether there is more to do immediately. */
export async function finishSome(engine: Engine, signal: AbortSignal): Promise<boolean> {
  const { rows } = await engine.database.pool.query<{
    id: string;
    root_id: string;
    kind: keyof typeof steps;
  }>({
    name: 'read_unfinished',
    text: `(select j.id, j.root_id, 'cancel' as kind from jobtree.job j where j.cancelling order by j.id limit 1000)
           union all
           (select j.id, j.root_id, 'release' from jobtree.job j where j.releasing order by j.id limit 1000)
           union all
           (select d.root_id, d.root_id, 'delete' from jobtree.tree_deletion d where not d.reaped order by d.root_id limit 1000)
           union all
           (select o.id, o.id, 'operation' from jobtree.operation o where o.finished_at is null order by o.id limit 1000)`,
  });
  let more = false;
  for (const { id, root_id: rootId, kind } of rows) {
    if (signal.aborted) return false;
    try {
      if (await steps[kind](engine, id, rootId, signal)) more = true;
    } catch (error) {
      if (isOutage(error)) throw error;
      // For example, someone else's transaction holds a row of the tree. The others should not wait for it.
      engine.logger.warn({ err: error, id, kind }, 'finishing a call in the background failed; trying again');
    }
  }
  return more;
}

/** Each resolves to whether there is more to do immediately. */
const steps = {
  cancel: cancelSome,
  release: releaseSome,
  delete: async (engine: Engine, rootId: string) => (await deleteSome(engine, rootId)) === 'MORE',
  operation: async (engine: Engine, id: string) => (await runSome(engine, id)) === 'MORE',
};

/** A pass over the pending items of a cancelled job. Returns whether it moved anything and is not done. */
async function cancelSome(
  engine: Engine,
  jobId: string,
  rootId: string,
  signal: AbortSignal,
): Promise<boolean> {
  let from = 0;
  let cancelled = 0;
  do {
    const [row] = await engine.database.call<{ cancelled: number; next_from: number; done: boolean }>(
      'cancel_items',
      jobId,
      from,
    );
    if (row === undefined) throw new Error('cancel_items returned no row');
    if (row.cancelled > 0) engine.effects.touched(rootId);
    if (row.done) return false;
    cancelled += row.cancelled;
    from = row.next_from;
  } while (from > 0 && !signal.aborted);
  return cancelled > 0;
}

/** A pass over the entries of a job that no longer waits for others. Returns whether it moved anything and is not done. */
async function releaseSome(
  engine: Engine,
  jobId: string,
  _rootId: string,
  signal: AbortSignal,
): Promise<boolean> {
  let from = 0;
  let released = 0;
  do {
    const [row] = await engine.database.call<{
      type: string;
      entries: number;
      ready: number;
      next_from: number;
      done: boolean;
    }>('release_items', jobId, from);
    if (row === undefined) throw new Error('release_items returned no row');
    if (row.ready > 0) engine.effects.ready(new Map([[row.type, row.ready]]));
    if (row.done) return false;
    released += row.entries;
    from = row.next_from;
  } while (from > 0 && !signal.aborted);
  return released > 0;
}

/** Deletes one batch. WAITING: something in the tree is still being cancelled or counted. */
export async function deleteSome(engine: Engine, rootId: string): Promise<'GONE' | 'MORE' | 'WAITING'> {
  const [row] = await engine.database.call<{ delete_tree: boolean | null }>('delete_tree', rootId);
  if (row?.delete_tree === true) return 'GONE';
  if (row?.delete_tree === false) return 'MORE';
  const fold = await foldProgress(engine, rootId, 0);
  if (fold === undefined || fold.retry) return 'WAITING';
  const [again] = await engine.database.call<{ delete_tree: boolean | null }>('delete_tree', rootId);
  if (again?.delete_tree === true) return 'GONE';
  return again?.delete_tree === false ? 'MORE' : 'WAITING';
}
