/** Whether the number of priorities in use affects how fast short items are processed. */
import { alternate, type Bench, type Jobtree, type Report, runChild, withJobtree } from '../bench.ts';
import { medianRun, type Run, ratio, whole } from '../figures.ts';
import { createJob, fillItems } from '../jobtree.ts';
import { payloads } from '../payload.ts';
import type { WorkerTask } from '../task.ts';
import { atMost } from '../verdicts.ts';

const items = 1_000;
const handlerMs = 1;
const concurrency = 5;
const limit = 1.3;
/** There are several, since its runs are short. */
const runsPerRound = 3;

export async function measurePriorities(bench: Bench): Promise<Report> {
  const runs = await withJobtree(bench, (jobtree) => {
    const over = (priorities: number) => (items: number) => work(bench, jobtree, items, priorities);
    return alternate({ rounds: bench.options.rounds * runsPerRound }, items, {
      1: over(1),
      2: over(2),
      32: over(32),
    });
  });
  const figures = Object.entries(runs).map(([priorities, runs]) => {
    const median = medianRun(runs);
    return { priorities, ms: (items / median.perSecond) * 1000, median, runs };
  });
  const times = figures.map(({ ms }) => ms);
  const spread = Math.max(...times) / Math.min(...times);
  return {
    tables: [
      {
        title: `priorities: ${whole(items)} items of ${handlerMs} ms, ${concurrency} at a time`,
        columns: ['priorities', 'ms', 'items per second'],
        rows: [
          ...figures.map(({ priorities, ms, median }) => [priorities, whole(ms), whole(median.perSecond)]),
          ['longest against shortest', ratio(spread), ''],
        ],
      },
    ],
    verdicts: [
      atMost({ name: '1, 2 and 32 priorities, longest time against shortest', limit, found: spread }),
    ],
    figures,
  };
}

/** The priorities alternate from item to item. */
async function work(bench: Bench, jobtree: Jobtree, items: number, priorities: number): Promise<Run> {
  const { database, server } = jobtree;
  const { id, type } = await createJob(server.url);
  await fillItems(database.pool, id, payloads(items), ({ number }) => ({ priority: number % priorities }));
  const task: WorkerTask = { url: server.url, target: type, items, batch: 1, concurrency, handlerMs };
  return runChild(bench, 'jobtree-worker', task, jobtree);
}
