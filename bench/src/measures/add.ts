/** Adding items: jobtree over HTTP with its client, beside graphile-worker's bulk addJobs straight into Postgres. */
import { alternate, type Bench, itemsFor, type Report, runChild, withJobtree } from '../bench.ts';
import { cpu, medianRun, ratio, whole } from '../figures.ts';
import { clearJobs } from '../graphile.ts';
import { checkAdded, createJob } from '../jobtree.ts';
import type { ProducerTask } from '../task.ts';

export async function measureAdd(bench: Bench): Promise<Report> {
  const { options, graphile } = bench;
  const rows: string[][] = [];
  const verdicts = [];
  const figures = [];
  for (const batch of options.batches) {
    const items = itemsFor(options.items, batch);
    const width = batch < 100 ? 8 : 4;
    const { ours, theirs } = await withJobtree(bench, (jobtree) =>
      alternate(
        options,
        { items, batch },
        {
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
        },
      ),
    );
    const [our, their] = [medianRun(ours), medianRun(theirs)];
    const times = our.perSecond / their.perSecond;
    rows.push([
      String(batch),
      whole(items),
      String(width),
      whole(our.perSecond),
      whole(their.perSecond),
      ratio(times),
      cpu(our),
      cpu(their),
    ]);
    figures.push({
      batch,
      items,
      callsInFlight: width,
      jobtree: { median: our, runs: ours },
      graphileWorker: { median: their, runs: theirs },
      ratio: times,
    });
    if (batch >= 100) {
      verdicts.push({
        target: `add, batches of ${batch}: at least 1.0 times graphile-worker`,
        found: ratio(times),
        met: times >= 1,
      });
    }
  }
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
        ],
        rows,
        note: 'CPU: microseconds per item of producer + server + Postgres. graphile-worker: addJobs, at batch 1 addJob.',
      },
    ],
    verdicts,
    figures,
  };
}
