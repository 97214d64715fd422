/**
 * Claiming and reporting, from the first claim to the last completion: jobtree's Worker over its WebSocket, the same with
 * nothing but fetch, and graphile-worker with its local queue. Only jobtree keeps the results.
 */
import {
  alternate,
  type Bench,
  itemsFor,
  type Jobtree,
  type Report,
  runChild,
  withJobtree,
} from '../bench.ts';
import { cpu, medianRun, ratio, whole } from '../figures.ts';
import { clearJobs, countJobs, fillJobs } from '../graphile.ts';
import { checkWorked, createJob, fillItems } from '../jobtree.ts';
import { inBatches } from '../payload.ts';
import type { WorkerTask } from '../task.ts';

/** What jobtree has to reach, as a multiple of graphile-worker. */
const targets = new Map([
  [100, 1],
  [500, 1.3],
]);

export async function measureWork(bench: Bench): Promise<Report> {
  const { options, graphile } = bench;
  const rows: string[][] = [];
  const verdicts = [];
  const figures = [];
  for (const batch of options.batches) {
    const items = itemsFor(options.items, batch);
    const ours = (child: string, jobtree: Jobtree) => async (items: number) => {
      const { database, server } = jobtree;
      const job = await createJob(server.url);
      await inBatches(items, (some) => fillItems(database.pool, job.id, some));
      const task: WorkerTask = { url: server.url, target: job.type, items, batch };
      const run = await runChild(bench, child, task, jobtree);
      await checkWorked(server.url, database.pool, job.id, items);
      return run;
    };
    const runs = await withJobtree(bench, (jobtree) =>
      alternate(
        options,
        { items, batch },
        {
          webSocket: ours('jobtree-worker', jobtree),
          theirs: async (items) => {
            await clearJobs(graphile.pool);
            await inBatches(items, (some) => fillJobs(graphile.pool, 'bench', some));
            const task: WorkerTask = { url: graphile.url, target: 'bench', items, batch };
            const run = await runChild(bench, 'graphile-worker', task, { database: graphile });
            const left = await countJobs(graphile.pool);
            if (left > 0) throw new Error(`graphile-worker left ${left} jobs.`);
            return run;
          },
          http: ours('jobtree-http-worker', jobtree),
        },
      ),
    );
    const our = medianRun(runs.webSocket);
    const their = medianRun(runs.theirs);
    const http = medianRun(runs.http);
    const times = our.perSecond / their.perSecond;
    rows.push([
      String(batch),
      whole(items),
      whole(our.perSecond),
      whole(http.perSecond),
      whole(their.perSecond),
      ratio(times),
      ratio(http.perSecond / their.perSecond),
      cpu(our),
      cpu(their),
    ]);
    figures.push({
      batch,
      items,
      jobtree: { median: our, runs: runs.webSocket },
      jobtreeHttp: { median: http, runs: runs.http },
      graphileWorker: { median: their, runs: runs.theirs },
      ratio: times,
    });
    const target = targets.get(batch);
    if (target !== undefined) {
      verdicts.push({
        target: `claim and report, batches of ${batch}: at least ${target.toFixed(1)} times graphile-worker`,
        found: ratio(times),
        met: times >= target,
      });
    }
  }
  return {
    tables: [
      {
        title: 'work: items claimed and completed per second',
        columns: [
          'batch',
          'items',
          'jobtree',
          'over HTTP',
          'graphile-worker',
          'ratio',
          'HTTP ratio',
          'CPU jobtree',
          'CPU graphile-worker',
        ],
        rows,
        note: 'CPU: microseconds per item of worker + server + Postgres.',
      },
    ],
    verdicts,
    figures,
  };
}
