/**
 * Many small jobs: creating jobs of one item, singly and in bulk, until all is counted; and work in jobs of few items, from the first claim until
 * all jobs are complete: what a job costs beside its items.
 */
import { setTimeout as delay } from 'node:timers/promises';
import {
  alternate,
  type Bench,
  itemsFor,
  type Jobtree,
  type Report,
  runChild,
  startMeter,
  withJobtree,
} from '../bench.ts';
import { expect } from '../checks.ts';
import { startChild } from '../child.ts';
import { cpu, medianRun, type Run, ratio, toRun, whole } from '../figures.ts';
import { clearJobs } from '../graphile.ts';
import { inFlight } from '../in-flight.ts';
import { newType } from '../jobtree.ts';
import { payload } from '../payload.ts';
import type { Database } from '../postgres.ts';
import type { ProducerTask, WorkerTask } from '../task.ts';
import { atLeast, atMost, type Verdict } from '../verdicts.ts';

/** How many items a job has, and the most CPU of Postgres that an item may take, in microseconds. */
const sizes = [{ size: 1, limit: 60 }, { size: 10, limit: 30 }, { size: 100 }, { size: 1_000 }];
const concurrency = 100;
/** Jobs that one statement creates. */
const together = 50;
const pollMs = 10;
const patienceMs = 60_000;

/** How jobs of one item are created: one in each call beside graphile-worker's addJob, and many. */
const single = { batch: 1, width: 16, ratio: 1.5, cpu: { client: 150, server: 300, postgres: 350 } };
const bulk = { batch: 1_000, width: 2, perSecond: 15_000 };

export async function measureJobs(bench: Bench): Promise<Report> {
  const creation = await measureCreation(bench);
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
      creation.table,
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
    verdicts: creation.verdicts.concat(
      figures.flatMap(({ size, limit, median }) =>
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
    ),
    figures: { creation: creation.figures, work: figures },
  };
}

async function measureCreation(bench: Bench) {
  const { options, graphile } = bench;
  const few = itemsFor(options.items, single.batch);
  const { ours, theirs } = await withJobtree(bench, (jobtree) =>
    alternate(options, few, {
      ours: (items) => runCreation(bench, jobtree, { items, ...single }),
      theirs: async (items) => {
        await clearJobs(graphile.pool);
        const task: ProducerTask = {
          url: graphile.url,
          target: 'bench',
          items,
          batch: 1,
          width: single.width,
        };
        return runChild(bench, 'graphile-producer', task, { database: graphile });
      },
    }),
  );
  const many = itemsFor(options.items, bulk.batch);
  const { inBulk } = await withJobtree(bench, (jobtree) =>
    alternate(options, many, { inBulk: (items) => runCreation(bench, jobtree, { items, ...bulk }) }),
  );
  const [our, their, together] = [medianRun(ours), medianRun(theirs), medianRun(inBulk)];
  const rows: [string, number, Run][] = [
    ['one', few, our],
    ['1,000', many, together],
    ['addJob of graphile-worker', few, their],
  ];
  const ofCpu = (['client', 'server', 'postgres'] as const).map(
    (part): Verdict =>
      atMost({
        name: `creating jobs of 1, one in each call, CPU of ${part === 'postgres' ? 'Postgres' : `the ${part}`}`,
        limit: single.cpu[part],
        found: our.cpuPerItem[part] ?? Number.NaN,
        unit: ' µs',
        digits: 0,
      }),
  );
  return {
    table: {
      title: `jobs: jobs of one item created per second, by how many a call creates; ${single.width} and ${bulk.width} calls in flight`,
      columns: ['jobs in a call', 'jobs', 'per second', 'ratio', 'CPU', 'WAL'],
      rows: rows.map(([name, jobs, run]) => [
        name,
        whole(jobs),
        whole(run.perSecond),
        ratio(run.perSecond / their.perSecond),
        cpu(run),
        whole(run.walPerItem),
      ]),
      note: 'CPU: microseconds per job of client + server + Postgres, until all is counted. Ratio: to addJob. WAL: bytes per job.',
    },
    verdicts: [
      atLeast({
        name: 'creating jobs of 1, one in each call, against graphile-worker',
        limit: single.ratio,
        found: our.perSecond / their.perSecond,
      }),
      ...ofCpu,
      atLeast({
        name: 'creating jobs of 1, 1,000 in each call, jobs/s',
        limit: bulk.perSecond,
        found: together.perSecond,
        digits: 0,
      }),
    ],
    figures: { ours, theirs, inBulk },
  };
}

async function runCreation(
  { postgres }: Bench,
  { database, server }: Jobtree,
  { items, batch, width }: { items: number; batch: number; width: number },
): Promise<Run> {
  const target = newType();
  await database.settle();
  const used = await startMeter(postgres, server);
  const task: ProducerTask = { url: server.url, target, items, batch, width };
  const outcome = await startChild('jobtree-creator', task).outcome;
  await folded(database);
  const run = toRun(outcome, await used());
  const { rows } = await database.pool.query(
    `select count(*)::int as jobs, sum(p.item_count)::int as items
     from jobtree.job j join jobtree.job_progress p on p.job_id = j.id where j.type = $1 and j.sealed_at is not null`,
    [target],
  );
  expect({ jobs: items, items }, rows[0]);
  return run;
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
      text: 'select count(*) from jobtree.create_jobs($1)',
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
