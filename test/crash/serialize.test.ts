/**
 * Sixteen workers on two servers work on items with serialize keys, some of which fail, while servers and workers are killed: of each
 * key one item runs at a time, in the order in which they were added, and none is forgotten.
 *
 *     SERIALIZE_ITEMS  how many items, for each count of keys (100)
 *     SERIALIZE_KEYS   over how many keys: counts, each a round of its own (1,50)
 *     SERIALIZE_KILLS  how often a server or the workers of a process are killed in a round (2)
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { type Client, createClient } from '../../src/client/index.ts';
import { freePort } from '../support/ports.ts';
import { type ServerProcess, startServerProcess } from '../support/server.ts';
import { useDatabase } from '../support/use-server.ts';

const total = Number(process.env.SERIALIZE_ITEMS ?? 100);
const rounds = (process.env.SERIALIZE_KEYS ?? '1,50').split(',').map(Number);
const kills = Number(process.env.SERIALIZE_KILLS ?? 2);

const program = fileURLToPath(new URL('../support/limited-worker.ts', import.meta.url));
const types = ['first', 'second'];
/** Of so many workers each. */
const processes = 4;
const workersEach = 4;

const db = useDatabase();
const servers: ServerProcess[] = [];
const ports: number[] = [];
const workers: ChildProcess[] = [];

const startServer = async (i: number) => {
  servers[i] = await startServerProcess(db.url, {
    JOBTREE_PORT: String(ports[i]),
    JOBTREE_SWEEP_INTERVAL_MS: '100',
  });
};
const startWorkers = (i: number) => {
  const { url } = servers[i % 2] as ServerProcess;
  const args = ['--import', 'tsx', program, url, String(workersEach), '2', ...types];
  workers[i] = spawn(process.execPath, args, { stdio: ['ignore', 'ignore', 'inherit'] });
};
const killWorkers = async (i: number) => {
  const worker = workers[i];
  if (worker === undefined || worker.exitCode !== null) return;
  const ended = once(worker, 'exit');
  worker.kill('SIGKILL');
  await ended;
};

beforeAll(async () => {
  for (const i of [0, 1]) {
    ports[i] = await freePort();
    await startServer(i);
  }
  for (let i = 0; i < processes; i++) startWorkers(i);
}, 60_000);
afterAll(async () => {
  await Promise.all(workers.map((_, i) => killWorkers(i)));
  await Promise.all(servers.map((server) => server.end('SIGKILL')));
});

/** The jobs of a round: of two types, in two trees. */
async function createJobs(client: Client): Promise<string[]> {
  const policies = { backoffMs: [5], maxFailuresPerItem: 2, heartbeatIntervalMs: 1_000 };
  const jobs = await Promise.all(types.map((type) => client.createJob({ type, ...policies })));
  return jobs.map(({ id }) => id);
}

/** Adds the items of a round to its jobs, each key's in turn. */
async function addAll(client: Client, jobs: readonly string[], keys: number): Promise<void> {
  for (let from = 0; from < total; from += 500) {
    const job = jobs[(from / 500) % jobs.length] ?? '';
    const count = Math.min(500, total - from);
    await client.addItems(
      job,
      Array.from({ length: count }, (_, i) => ({
        payload: { n: from + i },
        dedupeKey: String(from + i),
        serializeKey: `${keys} keys, ${(from + i) % keys}`,
      })),
    );
  }
  for (const id of jobs) await client.sealJob(id);
}

/** How many of the items that were added have ended. */
async function endedOf(client: Client, jobs: readonly string[]): Promise<number> {
  const found = await Promise.all(jobs.map((id) => client.job(id)));
  return found.reduce((sum, { progress }) => sum + progress.succeeded + progress.failed, 0);
}

it.each(rounds)(
  'each of %i keys runs one item at a time, in order, and none is forgotten',
  async (keys) => {
    const client = createClient({ url: (servers[1] as ServerProcess).url, retryMs: 30_000 });
    const startedAt = performance.now();
    const jobs = await createJobs(client);
    const adding = addAll(client, jobs, keys);
    for (let kill = 0; kill < kills; kill++) {
      // At any moment of the round, but not after it.
      while ((await endedOf(client, jobs)) < ((kill + 0.5) * total) / kills)
        await delay(20 + Math.random() * 100);
      const i = kill % processes;
      await killWorkers(i);
      if (kill % 2 === 0) {
        await (servers[0] as ServerProcess).end('SIGKILL');
        await startServer(0);
      }
      startWorkers(i);
    }
    await adding;
    while ((await endedOf(client, jobs)) < total) await delay(100);
    const seconds = (performance.now() - startedAt) / 1_000;
    await client.close();

    const [judged] = await db.query<{ items: number; failed: number; tries: number; overlaps: number }>(
      `with item as (
         select i.serialize_key, (i.payload ->> 'n')::int as n, o.finished_at, o.failed, l.*
         from jobtree.job_item i
         join jobtree.outcome o on o.job_id = i.job_id and o.position = i.position
         cross join lateral (
           select min(l.claimed_at) as begun_at, max(l.claimed_at) as begun_last, count(*) as tries from jobtree.lease l
           where l.job_id = i.job_id and l.position between i.position - 127 and i.position and l.position + l.count > i.position
         ) l
         where i.serialize_key like $1
       ), line as (
         select i.*, lead(i.begun_at) over (partition by i.serialize_key order by i.n) as next_at from item i
       )
       select count(*)::int as items, count(*) filter (where failed)::int as failed, sum(tries)::int as tries,
         count(*) filter (where next_at < finished_at or begun_last > finished_at)::int as overlaps
       from line`,
      [`${keys} keys,%`],
    );
    expect(judged).toMatchObject({ items: total, overlaps: 0 });
    for (const table of ['serialize_key', 'blocked_item', 'ended_head', 'queue_entry'])
      expect(await db.query(`select * from jobtree.${table} limit 1`), table).toEqual([]);
    console.info(
      `${total} items over ${keys} keys in ${seconds.toFixed(1)} s: ${judged?.tries} tries, ${judged?.failed} failed for good, ${kills} kills, no overlap`,
    );
  },
  3_600_000,
);
