/** A dump that is taken while everything works is restored into a database of its own, and worked on to exact completion. */
import { existsSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { type Client, createClient, Worker } from '../../src/client/index.ts';
import { example } from '../support/documentation.ts';
import {
  findPostgresPrograms,
  type InstalledPostgres,
  startInstalledPostgres,
} from '../support/postgres-programs.ts';
import { startServer } from '../support/server.ts';

const programs = findPostgresPrograms();
if (programs === undefined && process.env.CI === 'true')
  throw new Error('The test of backups needs a Postgres with pg_dump in /usr/lib/postgresql.');

let postgres: InstalledPostgres;
let folder: string;
beforeAll(async () => {
  if (programs === undefined) return;
  postgres = await startInstalledPostgres(programs);
  folder = await mkdtemp(join(tmpdir(), 'jobtree-backup-'));
  await query('postgres', 'create database original');
  await query('postgres', 'create database restored');
});
afterAll(async () => {
  if (programs === undefined) return;
  await postgres.stop();
  await rm(folder, { recursive: true });
});

async function query(database: string, text: string): Promise<Record<string, any>[]> {
  const client = new pg.Client({ connectionString: postgres.url(database) });
  await client.connect();
  try {
    return (await client.query(text)).rows;
  } finally {
    await client.end();
  }
}

/** A command of the page, as the arguments of its program. */
function documented(name: string, values: Readonly<Record<string, string>>): [string, string[]] {
  const [program = '', ...args] = (example('backup.md', name).split('\n')[0] ?? '').split(' ');
  return [program, args.map((arg) => values[arg] ?? arg)];
}

const policies = { heartbeatIntervalMs: 1_000, backoffMs: [0], maxFailuresPerItem: 1_000 };
const tree = {
  ...policies,
  type: 'read',
  children: [{ ...policies, type: 'write', feed: { serializeKey: 'payload.key' } }],
};

function startWorker(url: string): Worker {
  let count = 0;
  const handler = async (payload: unknown) => {
    await new Promise((resolve) => setTimeout(resolve, 2));
    if (++count % 20 === 0) throw new Error('now and then');
    return payload;
  };
  const types = { read: { concurrency: 20, handler }, write: { concurrency: 20, handler } };
  return new Worker({ url, types });
}

/** Adds items until it is told to end. */
async function add(client: Client, jobs: readonly string[], signal: AbortSignal): Promise<void> {
  for (let n = 0; !signal.aborted; n++) {
    const items = Array.from({ length: 10 }, (_, i) => ({
      payload: { n, key: `key ${(10 * n + i) % 200}` },
    }));
    await client.addItems(jobs[n % jobs.length] ?? '', items);
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

it.skipIf(programs === undefined)(
  'a dump under load, when restored, completes all its items once, and counts them',
  async () => {
    const original = await startServer(postgres.url('original'));
    const producer = createClient({ url: original.url });
    const jobs = [await producer.createJob(tree), await producer.createJob(tree)].map(({ id }) => id);
    const ending = new AbortController();
    const adding = add(producer, jobs, ending.signal);
    const first = startWorker(original.url);
    let done = 0;
    const busy = new Promise<void>((resolve) => {
      first.on('succeeded', () => ++done === 150 && resolve());
    });
    await first.start();
    await busy;
    const file = join(folder, 'jobtree.dump');
    await postgres.run(
      ...documented('dump', { 'jobtree.dump': file, '"$DATABASE_URL"': postgres.url('original') }),
    );
    expect(existsSync(file)).toBe(true);
    ending.abort();
    await adding;
    await first.stop();
    await producer.close();
    await original.close();

    await postgres.run(
      ...documented('restore', { 'jobtree.dump': file, '"$RESTORED_URL"': postgres.url('restored') }),
    );
    const [before] = await query(
      'restored',
      `select (select count(*) from jobtree.outcome) as done, (select sum(bit_count(open)) from jobtree.lease) as held`,
    );
    await query('restored', example('backup.md', 'check'));
    const restored = await startServer(postgres.url('restored'));
    const client = createClient({ url: restored.url });
    for (const id of jobs) await client.sealJob(id);
    const second = startWorker(restored.url);
    await second.start();
    const outcomes: unknown[] = [];
    for (const id of jobs) {
      let last: { outcome?: unknown } | undefined;
      for await (const state of client.watchTree(id)) last = state;
      outcomes.push(last?.outcome);
    }
    await second.stop();
    await client.close();
    await restored.close();

    expect(outcomes).toEqual(['SUCCEEDED', 'SUCCEEDED']);
    const [after] = await query(
      'restored',
      `select (select count(*)::int from jobtree.job_item) as items,
       (select count(*)::int from jobtree.outcome where not failed) as succeeded,
       (select sum(p.succeeded)::int from (select distinct on (job_id) * from jobtree.job_progress order by job_id, version desc) p) as counted,
       (select count(*)::int from jobtree.queue_entry) as waiting,
       (select count(*)::int from jobtree.blocked_item) as blocked,
       (select count(*)::int from jobtree.lease where check_at is not null) as held,
       (select count(*)::int from jobtree.job_item i join jobtree.job j on j.id = i.job_id where j.type = 'read') as read,
       (select count(*)::int from jobtree.job_item i join jobtree.job j on j.id = i.job_id where j.type = 'write') as written`,
    );
    const { items, read } = after ?? {};
    expect(after).toEqual({
      items,
      read,
      succeeded: items,
      counted: items,
      waiting: 0,
      blocked: 0,
      held: 0,
      written: read,
    });
    console.log(
      `the dump had ${before?.done} outcomes and ${before?.held} held items; in the end there were ${items}`,
    );
    expect(items).toBeGreaterThan(Number(before?.done));
  },
);
