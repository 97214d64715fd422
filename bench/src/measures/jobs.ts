/** Work in jobs of few items, from the first claim until all jobs are complete: what a job costs beside its items. */
import { setTimeout as delay } from 'node:timers/promises';
import {
  alternate,
  type Bench,
  itemsFor,
  type Jobtree,
  type Report,
  startMeter,
  withJobtree,
} from '../bench.ts';
import { expect } from '../checks.ts';
import { startChild } from '../child.ts';
import { cpu, medianRun, type Run, toRun, whole } from '../figures.ts';
import { inFlight } from '../in-flight.ts';
import { newType } from '../jobtree.ts';
import { payload } from '../payload.ts';
import type { Database } from '../postgres.ts';
import type { WorkerTask } from '../task.ts';
import { atMost } from '../verdicts.ts';

/** How many items a job has, and the most CPU of Postgres that an item may take, in microseconds. */
const sizes = [{ size: 1, limit: 60 }, { size: 10, limit: 30 }, { size: 100 }, { size: 1_000 }];
const concurrency = 100;
/** Jobs that one statement creates. */
const together = 50;
const pollMs = 10;
const patienceMs = 60_000;

export async function measureJobs(bench: Bench): Promise<Report> {
  const figures: { size: number; limit?: number; items: number; runs: Run[]; median: Run }[] = [];
  for (const of of sizes) {
    const items = itemsFor(bench.options.items, of.size);
    const { runs } = await withJobtree(bench, (jobtree) =>
      alternate(bench.options, items, { runs: (items) => runJobs(bench, jobtree, items, of.size) }),
    );
    figures.push({ ...of, items, runs, median: medianRun(runs) });
  }
  return {
    tables: [
      {
        title: 'jobs: items completed per second, by the number of items of each job',
        columns: ['items of a job', 'items', 'per second', 'CPU', 'WAL'],
        rows: figures.map(({ size, items, median }) => [
          whole(size),
          whole(items),
          whole(median.perSecond),
          cpu(median),
          whole(median.walPerItem),
        ]),
        note: 'CPU: microseconds per item of worker + server + Postgres, until all jobs are complete. WAL: bytes per item.',
      },
    ],
    verdicts: figures.flatMap(({ size, limit, median }) =>
      limit === undefined
        ? []
        : [
            atMost({
              name: `work, jobs of ${size}, CPU of Postgres per item`,
              limit,
              found: median.cpuPerItem.postgres ?? Number.NaN,
              unit: ' µs',
              digits: 1,
            }),
          ],
    ),
    figures,
  };
}

async function runJobs(
  { postgres }: Bench,
  { database, server }: Jobtree,
  items: number,
  size: number,
): Promise<Run> {
  const target = newType();
  const jobs = items / size;
  const tree = {
    type: target,
    sealed: true,
    items: Array.from({ length: size }, (_, i) => ({ payload: payload(i) })),
  };
  await inFlight(Math.ceil(jobs / together), 4, (i) =>
    database.pool.query({
      name: 'create',
      text: 'select count(*) from json_array_elements($1) t, lateral jobtree.create_job(t)',
      values: [JSON.stringify(Array(Math.min(together, jobs - i * together)).fill(tree))],
    }),
  );
  await folded(database);
  await database.settle();
  const used = await startMeter(postgres, server);
  const task: WorkerTask = { url: server.url, target, items, batch: concurrency };
  const outcome = await startChild('jobtree-worker', task).outcome;
  await folded(database);
  const run = toRun(outcome, await used());
  const { rows } = await database.pool.query(
    `select count(*)::int as jobs, sum(p.succeeded)::int as items
     from jobtree.job j join jobtree.job_progress p on p.job_id = j.id
     where j.type = $1 and p.tree_outcome = 'SUCCEEDED' and p.open_jobs = 0`,
    [target],
  );
  expect({ jobs, items }, rows[0]);
  return run;
}

/** Waits until everything is counted. */
async function folded({ pool }: Database): Promise<void> {
  const patience = performance.now() + patienceMs;
  while (true) {
    const { rowCount } = await pool.query('select from jobtree.progress_delta limit 1');
    if (rowCount === 0) return;
    if (performance.now() > patience) throw new Error('The folds do not get on.');
    await delay(pollMs);
  }
}
