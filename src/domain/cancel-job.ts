/** Cancels a job and all below it: first the mark, which keeps new items out, then the pending items in batches. */
import { setTimeout as delay } from 'node:timers/promises';
import type { Engine } from './engine.ts';

export async function cancelJob(engine: Engine, jobId: string): Promise<{ cancelledItems: number }> {
  const [row] = await engine.database.call<{ root_id: string; job_ids: string[] }>('cancel_job', jobId);
  if (row === undefined) throw new Error('cancel_job returned no row');
  let cancelledItems = 0;
  for (const id of row.job_ids) cancelledItems += await cancelItems(engine, id);
  engine.effects.touched(row.root_id);
  return { cancelledItems };
}

/**
 * Passes over the job's items until one finds nothing pending: an item may change hands while a pass looks at it. With a
 * signal it can be stopped between two batches.
 */
export async function cancelItems(engine: Engine, jobId: string, signal?: AbortSignal): Promise<number> {
  let total = 0;
  for (;;) {
    let pending = 0;
    let from: number | null = 0;
    while (from !== null) {
      if (signal?.aborted) return total;
      const rows: CancelRow[] = await engine.database.call<CancelRow>('cancel_items', jobId, from);
      const row = rows[0];
      total += row?.cancelled ?? 0;
      pending += row?.missed ?? 0;
      from = row?.next_from ?? null;
    }
    if (pending === 0) return total;
    await delay(5);
  }
}

interface CancelRow {
  cancelled: number;
  missed: number;
  next_from: number | null;
}
