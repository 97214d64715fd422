import type { Engine } from '../engine/engine.ts';

/** Declares that a job gets no more items. Does nothing if it is sealed already. */
export async function sealJob(engine: Engine, jobId: string): Promise<void> {
  const [row] = await engine.database.call<{ seal_job: string }>('seal_job', jobId);
  if (row !== undefined) engine.effects.touched(row.seal_job);
}
