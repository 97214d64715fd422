/** Deletes a whole tree. What still works in it is cancelled first, so that nothing is left that could report to it. */
import { setTimeout as delay } from 'node:timers/promises';

import { InvalidInputError, NotFoundError } from '../errors.ts';
import { cancelJob } from './cancel-job.ts';
import type { Engine } from './engine.ts';
import { foldProgress } from './fold-progress.ts';

export async function deleteJob(engine: Engine, jobId: string): Promise<void> {
  const root = await engine.database.pool.query<{ root_id: string }>({
    name: 'root_of',
    text: 'select root_id from jobtree.job where id = $1',
    values: [jobId],
  });
  if (root.rows[0] === undefined) throw new NotFoundError(`There is no job ${jobId}.`, 'jobId');
  if (root.rows[0].root_id !== jobId) {
    throw new InvalidInputError(`Job ${jobId} is not a root: only whole trees are deleted.`, 'jobId');
  }
  await cancelJob(engine, jobId);
  while ((await foldProgress(engine, jobId, 0)) === undefined) await delay(5);
  for (;;) {
    const [row] = await engine.database.call<{ delete_tree: boolean }>('delete_tree', jobId);
    if (row === undefined || row.delete_tree) return;
  }
}
