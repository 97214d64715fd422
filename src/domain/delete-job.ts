/**
 * Deletes a whole tree. What still works in it is cancelled first, so that nothing is left that could report to it. A small tree is
 * gone when the call answers; of a large one the rest is left to whoever finishes such things (`finish.ts`).
 */
import { BusyError } from '../errors.ts';
import type { Engine } from './engine.ts';
import { deleteSome } from './finish.ts';

/** How long the call itself goes on deleting. */
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

/** The deletion has begun, whoever holds a row of the tree now. */
async function deleteUnlessBusy(engine: Engine, jobId: string) {
  try {
    return await deleteSome(engine, jobId);
  } catch (error) {
    if (!(error instanceof BusyError)) throw error;
    return 'WAITING';
  }
}
