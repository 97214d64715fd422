/**
 * Cancels a job and everything below it. The call itself marks the jobs and cancels what it can at once; servers finish the rest
 * in the background (`finish.ts`), and the job's progress tells how far that is.
 */
import type { Engine } from '../engine/engine.ts';

export async function cancelJob(engine: Engine, jobId: string): Promise<void> {
  const [row] = await engine.database.call<{ root_id: string; cancelling: string[] }>('cancel_job', jobId);
  if (row === undefined) throw new Error('cancel_job returned no row');
  engine.effects.touched(row.root_id);
  if (row.cancelling.length > 0) engine.effects.unfinished();
}
