/** Three stages, each of which feeds its results to the next, against as many items of a single job. */
import {
  alternate,
  type Bench,
  itemsFor,
  type Jobtree,
  type Report,
  runChild,
  withJobtree,
} from '../bench.ts';
import { expect } from '../checks.ts';
import { cpu, medianRun, type Run, ratio, whole } from '../figures.ts';
import { fillJob, newType, withClient } from '../jobtree.ts';
import type { WorkerTask } from '../task.ts';
import { atMost } from '../verdicts.ts';
import { runWork } from '../worked.ts';

const batch = 100;
const stages = 3;
const limit = 2.5;

export async function measureFed(bench: Bench): Promise<Report> {
  const { options } = bench;
  const step = batch * stages;
  const items = Math.ceil(itemsFor(options.items, batch) / step) * step;
  const runs = await withJobtree(bench, (jobtree) =>
    alternate(options, items, {
      flat: (items) => runWork(bench, jobtree, { items, batch }),
      fed: (items) => runStages(bench, jobtree, items / stages),
    }),
  );
  const [flat, fed] = [medianRun(runs.flat), medianRun(runs.fed)];
  const times = (fed.cpuPerItem.postgres ?? Number.NaN) / (flat.cpuPerItem.postgres ?? Number.NaN);
  const row = (name: string, run: Run) => [name, whole(run.perSecond), cpu(run), whole(run.walPerItem)];
  return {
    tables: [
      {
        title: `fed: ${whole(items)} items completed, of one job and of ${stages} stages (batches of ${batch})`,
        columns: ['', 'items per second', 'CPU', 'WAL'],
        rows: [
          row('one job', flat),
          row(`${stages} stages`, fed),
          ['ratio of the CPU of Postgres', '', ratio(times), ''],
        ],
        note: 'Each stage counts its items. CPU: microseconds per item of worker + server + Postgres. WAL: bytes per item.',
      },
    ],
    verdicts: [
      atMost({
        name: `${stages} stages, CPU of Postgres per item against one job`,
        limit,
        found: times,
      }),
    ],
    figures: {
      items,
      flat: { median: flat, runs: runs.flat },
      fed: { median: fed, runs: runs.fed },
      ratio: times,
    },
  };
}

/** One worker for all stages, with as much concurrency for each as for a job of its own. */
async function runStages(bench: Bench, jobtree: Jobtree, itemsOfStage: number): Promise<Run> {
  const { database, server } = jobtree;
  const types = Array.from({ length: stages }, newType) as [string, ...string[]];
  const [target, ...laterTargets] = types;
  const children = laterTargets.reduceRight<{ type: string; feed: object }[]>(
    (below, type) => [{ type, feed: {}, children: below }],
    [],
  );
  const { id } = await withClient(server.url, (client) => client.createJob({ type: target, children }));
  await fillJob(database.pool, id, itemsOfStage);
  const items = itemsOfStage * stages;
  const task: WorkerTask = { url: server.url, target, laterTargets, items, batch };
  const run = await runChild(bench, 'jobtree-worker', task, jobtree);
  const { rows } = await database.pool.query(
    `select j.type, count(*)::int as items
     from jobtree.job j join jobtree.outcome o on o.job_id = j.id
     where j.type = any ($1) and not o.failed group by j.type`,
    [types],
  );
  const found = new Map(rows.map(({ type, items }) => [type, items]));
  expect(
    types.map(() => itemsOfStage),
    types.map((type) => found.get(type)),
  );
  return run;
}
