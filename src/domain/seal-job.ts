import type { Engine } from './engine.ts';

/** Says that a job gets no more items. Sealing a sealed job changes nothing. */
export async function sealJob(engine: Engine, jobId: string): Promise<void> {
  const [row] = await engine.database.call<{ seal_job: string }>('seal_job', jobId);
  if (row !== undefined) engine.effects.touched(row.seal_job);
}
