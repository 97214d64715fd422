/**
 * NOTIFY takes a lock over all of Postgres while its transaction commits. Measures how often others wait for it, with three
 * servers that get work at a steady pace, and how full the queue of notifications becomes.
 */
import { setTimeout as delay } from 'node:timers/promises';
import pg from 'pg';
import { createClient } from '../../../dist/client/index.js';
import type { Bench, Report } from '../bench.ts';
import { startChild } from '../child.ts';
import { type Cluster, withCluster } from '../cluster.ts';
import { whole } from '../figures.ts';
import { createJob } from '../jobtree.ts';
import { payloads } from '../payload.ts';
import type { WorkerTask } from '../task.ts';

const serverCount = 3;
const itemsPerSecond = 5_000;
const sampleEveryMs = 50;
const fillEveryMs = 100;
const batch = 100;
const mostShare = 0.05;

export async function measureNotify(bench: Bench): Promise<Report> {
  const seconds = Math.min(bench.options.seconds, 60);
  const figures = await withCluster(bench, serverCount, (cluster) => run(cluster, seconds));
  const { samples, withWaiters, mostWaiters, fullest, perSecond } = figures;
  const share = withWaiters / samples;
  const percent = `${(share * 100).toFixed(1)} %`;
  return {
    tables: [
      {
        title: `notify: the lock of NOTIFY, with ${serverCount} servers, in ${seconds} seconds`,
        columns: ['items per second', 'samples', 'with waiters', 'most waiters', 'queue at its fullest'],
        rows: [
          [whole(perSecond), whole(samples), percent, String(mostWaiters), `${(fullest * 100).toFixed(3)} %`],
        ],
      },
    ],
    verdicts: [
      {
        target: `notify: somebody waits in at most ${mostShare * 100} % of the samples`,
        found: percent,
        met: share <= mostShare,
      },
    ],
    figures,
  };
}

async function run({ database, servers }: Cluster, seconds: number) {
  const workers = [];
  const jobs: string[] = [];
  const done = servers.map(() => 0);
  for (const [i, { url }] of servers.entries()) {
    const { id, type } = await createJob(url);
    jobs.push(id);
    const task: WorkerTask = { url, target: type, batch };
    workers.push(startChild('jobtree-worker', task, { onDone: (count) => (done[i] = count) }));
  }
  const clients = servers.map(({ url }) => createClient({ url }));
  const sum = () => done.reduce((total, count) => total + count, 0);

  // A connection of its own, since it might have to wait for one of a pool.
  const observer = new pg.Client({ connectionString: database.url });
  await observer.connect();
  let samples = 0;
  let withWaiters = 0;
  let mostWaiters = 0;
  let fullest = 0;
  const startedAt = performance.now();
  const elapsed = () => (performance.now() - startedAt) / 1_000;
  const filling = (async () => {
    let added = 0;
    while (elapsed() < seconds) {
      const due = Math.floor(Math.min(seconds, elapsed()) * itemsPerSecond) - added;
      const part = Math.floor(due / jobs.length);
      const items = payloads(part, added).map((payload) => ({ payload }));
      if (part > 0) await Promise.all(clients.map((client, i) => client.addItems(jobs[i] as string, items)));
      added += part * jobs.length;
      await delay(fillEveryMs);
    }
  })();
  while (elapsed() < seconds) {
    const { rows } = await observer.query(
      `select count(*) filter (where wait_event_type = 'Lock' and wait_event = 'object')::int as waiters,
              pg_notification_queue_usage() as used from pg_stat_activity`,
    );
    samples++;
    if (rows[0].waiters > 0) withWaiters++;
    mostWaiters = Math.max(mostWaiters, rows[0].waiters);
    fullest = Math.max(fullest, rows[0].used);
    await delay(sampleEveryMs);
  }
  const perSecond = sum() / elapsed();
  await filling;
  await observer.end();
  await Promise.all(clients.map((client) => client.close()));
  await Promise.all(workers.map((worker) => worker.stop()));
  return { seconds, perSecond, samples, withWaiters, mostWaiters, fullest };
}
