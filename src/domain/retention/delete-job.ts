/**
 * Deletes a whole tree. Its active jobs are cancelled first, so that no worker can report to it any more. A small tree is gone
 * when the call answers; servers delete the rest of a large one in the background (`finish.ts`).
 */
import type { Queries } from '../../db/database.ts';
import { BusyError } from '../../errors.ts';
import type { Engine } from '../engine/engine.ts';
import { foldProgress } from '../progress/fold-progress.ts';

/** How long the call itself keeps deleting. */
const atOnceMs = 500;

export async function deleteJob(engine: Engine, jobId: string): Promise<{ deleted: boolean }> {
  await engine.database.call<{ delete_job: string[] }>('delete_job', jobId);
  const endAt = performance.now() + atOnceMs;
  for (
    let state = await deleteUnlessBusy(engine, jobId);
    state !== 'GONE';
    state = await deleteUnlessBusy(engine, jobId)
  ) {
    if (state === 'WAITING' || performance.now() > endAt) {
      engine.effects.unfinished();
      return { deleted: false };
    }
  }
  return { deleted: true };
}

/** A lock on a row of the tree is no error: the deletion has begun and will be continued. */
async function deleteUnlessBusy(engine: Engine, jobId: string) {
  try {
    return await deleteSome(engine, jobId);
  } catch (error) {
    if (!(error instanceof BusyError)) throw error;
    return 'WAITING';
  }
}

/** Deletes one batch. WAITING: something in the tree is still being cancelled or counted. */
export async function deleteSome(engine: Engine, rootId: string): Promise<'GONE' | 'MORE' | 'WAITING'> {
  const deleted = async () =>
    (await engine.database.call<{ delete_trees: boolean | null }>('delete_trees', [rootId]))[0]?.delete_trees;
  let gone = await deleted();
  if (gone == null) {
    const fold = await foldProgress(engine, rootId, 0);
    if (fold === undefined || fold.retry) return 'WAITING';
    gone = await deleted();
  }
  return gone == null ? 'WAITING' : gone ? 'GONE' : 'MORE';
}

/** The progress of the deletion of a tree. */
export interface TreeDeletion {
  readonly rootId: string;
  readonly requestedAt: Date;
  readonly itemCount: number;
  readonly deletedItems: number;
  /** Its retention has ended: nobody requested the deletion. */
  readonly reaped: boolean;
}

/** The deletions of these trees, in any order; none for a tree that is not being deleted. */
export async function readDeletions(database: Queries, rootIds: readonly string[]): Promise<TreeDeletion[]> {
  const { rows } = await database.pool.query<TreeDeletion>({
    name: 'read_deletions',
    text: `select root_id as "rootId", deletion_requested_at as "requestedAt", item_count as "itemCount",
             deleted_items as "deletedItems", deletion = 'REAPED' as reaped
           from jobtree.tree where root_id = any ($1) and deletion is not null`,
    values: [rootIds],
  });
  return rows;
}
