/** How fast a worker is while something else is going on. */
import { setTimeout as delay } from 'node:timers/promises';
import type { Jobtree } from './bench.ts';
import { startChild } from './child.ts';
import { createJob, fillJob, keyOf } from './jobtree.ts';
import type { WorkerTask } from './task.ts';

/** How long the worker runs before the measurement. */
const warmUpMs = 5_000;
const pollMs = 10;

/** How many items of its own type a worker completes per second during each of `acts`; NaN if it ran out of items. */
export async function ratesDuring(
  { database, server }: Jobtree,
  items: number,
  batch: number,
  acts: readonly (() => Promise<void>)[],
): Promise<number[]> {
  const { id, type } = await createJob(server.url);
  await fillJob(database.pool, id, items);
  await database.settle();
  const done = async () => {
    const { rows } = await database.pool.query<{ count: string }>(
      'select succeeded as count from jobtree.job_progress where job_id = $1 order by version desc limit 1',
      [keyOf(id)],
    );
    return Number(rows[0]?.count);
  };
  const task: WorkerTask = { url: server.url, target: type, items, batch };
  const child = startChild('jobtree-worker', task);
  while ((await done()) === 0) await delay(pollMs);
  await delay(warmUpMs);
  const rates: number[] = [];
  for (const act of acts) {
    const [before, startedAt] = [await done(), performance.now()];
    await act();
    const [after, ms] = [await done(), performance.now() - startedAt];
    rates.push(after < items ? ((after - before) * 1_000) / ms : Number.NaN);
  }
  await child.outcome;
  return rates;
}
