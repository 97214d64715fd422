/** How long it takes to cancel a job whose items are all waiting. */
import { setTimeout as delay } from 'node:timers/promises';
import { type Bench, type Report, withJobtree } from '../bench.ts';
import { whole } from '../figures.ts';
import { createJob, fillJob, withClient } from '../jobtree.ts';
import { atMost } from '../verdicts.ts';

const waitingPerItem = 10;
const pollMs = 10;
const patienceMs = 60_000;
const limitMs = 2_000;

export async function measureCancel(bench: Bench): Promise<Report> {
  const items = bench.options.items * waitingPerItem;
  const { answerMs, completeMs } = await withJobtree(bench, async ({ database, server }) => {
    const { id } = await createJob(server.url);
    await fillJob(database.pool, id, items);
    return withClient(server.url, async (client) => {
      const until = async (isSo: (progress: Progress) => boolean) => {
        const patience = performance.now() + patienceMs;
        while (!isSo((await client.job(id)).progress)) {
          if (performance.now() > patience) throw new Error('The progress of the job stands still.');
          await delay(pollMs);
        }
      };
      type Progress = Awaited<ReturnType<typeof client.job>>['progress'];
      await until(({ itemCount }) => itemCount === items);
      await database.settle();
      const start = performance.now();
      await client.cancelJob(id);
      const answerMs = performance.now() - start;
      await until(({ completedAt, cancelled }) => completedAt !== null && cancelled === items);
      return { answerMs, completeMs: performance.now() - start };
    });
  });
  return {
    tables: [
      {
        title: 'cancel: a job whose items all wait',
        columns: ['items', 'until the answer, ms', 'until complete, ms'],
        rows: [[whole(items), whole(answerMs), whole(completeMs)]],
        note: 'complete: the progress of the job says that all of them are cancelled.',
      },
    ],
    verdicts: [
      atMost({
        name: `cancel ${whole(items)} waiting items, until the job is complete`,
        limit: limitMs,
        found: completeMs,
        unit: ' ms',
        digits: 0,
      }),
    ],
    figures: { items, answerMs, completeMs },
  };
}
