/** The memory of a server after its start, after it accepted items, and after it handed them out. */
import { type Bench, itemsFor, type Report, runChild, withJobtree } from '../bench.ts';
import { checkWorked } from '../checks.ts';
import { createJob } from '../jobtree.ts';
import type { ProducerTask, WorkerTask } from '../task.ts';
import { memory } from '../usage.ts';

const limit = 250;
const addBatch = 500;
const workBatch = 100;

export async function measureMemory(bench: Bench): Promise<Report> {
  const items = itemsFor(bench.options.items, addBatch);
  const { atStart, added, worked } = await withJobtree(bench, async (jobtree) => {
    const { database, server } = jobtree;
    const job = await createJob(server.url);
    const atStart = memory(server.pid);
    const add: ProducerTask = { url: server.url, target: job.id, items, batch: addBatch, width: 4 };
    await runChild(bench, 'jobtree-producer', add, jobtree);
    const added = memory(server.pid);
    const work: WorkerTask = { url: server.url, target: job.type, items, batch: workBatch };
    await runChild(bench, 'jobtree-worker', work, jobtree);
    const worked = memory(server.pid);
    await checkWorked(server.url, database.pool, job.id, items);
    return { atStart, added, worked };
  });

  const figures = { items, atStart, added, worked };
  const row = (name: string, at: typeof worked) => [
    name,
    at ? at.now.toFixed(0) : '–',
    at ? at.peak.toFixed(0) : '–',
  ];
  const peak = worked?.peak ?? Number.NaN;
  return {
    tables: [
      {
        title: `memory of the server, in MB, with ${items.toLocaleString('en')} items (batches of ${addBatch} in, of ${workBatch} out)`,
        columns: ['when', 'resident', 'highest'],
        rows: [row('started', atStart), row('added', added), row('worked', worked)],
        note: worked === undefined ? 'Read from /proc, which only Linux has.' : undefined,
      },
    ],
    verdicts: [
      {
        target: `server after ${items.toLocaleString('en')} items: at most ${limit} MB resident`,
        found: `${peak.toFixed(0)} MB at its highest`,
        met: peak < limit,
      },
    ],
    figures,
  };
}
