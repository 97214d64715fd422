/**
 * Deletes a whole tree. Its active jobs are cancelled first, so that no worker can report to it any more. A small tree is gone
 * when the call answers; servers delete the rest of a large one in the background (`finish.ts`).
 */
import { BusyError } from '../errors.ts';
import type { Engine } from './engine.ts';
import { deleteSome } from './finish.ts';

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
