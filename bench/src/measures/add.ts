/** Adding items: jobtree over HTTP with its client, against graphile-worker's bulk addJobs directly into Postgres. */
import { alternate, type Bench, itemsFor, type Report, runChild, withJobtree } from '../bench.ts';
import { checkAdded } from '../checks.ts';
import { cpu, medianRun, ratio, whole } from '../figures.ts';
import { clearJobs } from '../graphile.ts';
import { createJob } from '../jobtree.ts';
import type { ProducerTask } from '../task.ts';
import { atLeast } from '../verdicts.ts';

/** What jobtree must reach, as a multiple of graphile-worker. */
const targets = new Map([
  [100, 1.5],
  [500, 1.6],
]);

export async function measureAdd(bench: Bench): Promise<Report> {
  const figures = [];
  for (const batch of bench.options.batches) figures.push(await runCourse(bench, batch));
  return {
    tables: [
      {
        title: 'add: items per second',
        columns: [
          'batch',
          'items',
          'in flight',
          'jobtree',
          'graphile-worker',
          'ratio',
          'CPU jobtree',
          'CPU graphile-worker',
          'WAL jobtree',
          'WAL graphile-worker',
        ],
        rows: figures.map(({ batch, items, callsInFlight, jobtree, graphileWorker, ...of }) => [
          String(batch),
          whole(items),
          String(callsInFlight),
          whole(jobtree.median.perSecond),
          whole(graphileWorker.median.perSecond),
          ratio(of.ratio),
          cpu(jobtree.median),
          cpu(graphileWorker.median),
          whole(jobtree.median.walPerItem),
          whole(graphileWorker.median.walPerItem),
        ]),
        note: 'CPU: microseconds per item of producer + server + Postgres. WAL: bytes per item. graphile-worker: addJobs, at batch 1 addJob.',
      },
    ],
    verdicts: figures.flatMap(({ batch, ratio }) => {
      const limit = targets.get(batch);
      if (limit === undefined) return [];
      return [atLeast({ name: `add, batches of ${batch}, against graphile-worker`, limit, found: ratio })];
    }),
    figures,
  };
}

async function runCourse(bench: Bench, batch: number) {
  const { options, graphile } = bench;
  const items = itemsFor(options.items, batch);
  const width = batch < 100 ? 8 : 4;
  const { ours, theirs } = await withJobtree(bench, (jobtree) =>
    alternate(options, items, {
      ours: async (items) => {
        const { server, database } = jobtree;
        const job = await createJob(server.url);
        const task: ProducerTask = { url: server.url, target: job.id, items, batch, width };
        const run = await runChild(bench, 'jobtree-producer', task, jobtree);
        await checkAdded(database.pool, job.id, items);
        return run;
      },
      theirs: async (items) => {
        await clearJobs(graphile.pool);
        const task: ProducerTask = { url: graphile.url, target: 'bench', items, batch, width };
        return runChild(bench, 'graphile-producer', task, { database: graphile });
      },
    }),
  );
  const [our, their] = [medianRun(ours), medianRun(theirs)];
  return {
    batch,
    items,
    callsInFlight: width,
    jobtree: { median: our, runs: ours },
    graphileWorker: { median: their, runs: theirs },
    ratio: our.perSecond / their.perSecond,
  };
}
