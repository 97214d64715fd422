/**
 * Limits under forty workers in processes that are killed, on two servers, while the queues are paused and resumed: judged from
 * the times that the database has recorded. And how soon workers hear that there is room again, whose poll is an hour away.
 *
 *     QUEUE_SECONDS   how long the workers are at it (4)
 *     QUEUE_RATE      items in how many milliseconds: 100/10000 (40/1000)
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, expect, it, vi } from 'vitest';
import { type Client, createClient, Worker } from '../../src/client/index.ts';
import type { App } from '../../src/server/create-app.ts';
import { data, lastOf } from '../support/api.ts';
import { startServer } from '../support/server.ts';
import { useDatabase } from '../support/use-server.ts';

const seconds = Number(process.env.QUEUE_SECONDS ?? 4);
const [rateLimit = 0, intervalMs = 0] = (process.env.QUEUE_RATE ?? '40/1000').split('/').map(Number);
const isLong = process.env.QUEUE_SECONDS !== undefined;
const concurrency = 5;
const script = fileURLToPath(new URL('../support/limited-worker.ts', import.meta.url));

const db = useDatabase();
let apps: App[];
let client: Client;
const children = new Set<ChildProcess>();

beforeAll(async () => {
  const env = { JOBTREE_SWEEP_INTERVAL_MS: '200' };
  apps = [await startServer(db.url, env), await startServer(db.url, env)];
  client = createClient({ url: apps[0]?.url });
});
afterAll(async () => {
  for (const child of children) await end(child, 'SIGKILL');
  await client.close();
  for (const app of apps) await app.close();
});

function startWorkers(app: App | undefined, count: number, types: readonly string[]): ChildProcess {
  const args = ['--import', 'tsx', script, app?.url ?? '', String(count), '40', ...types];
  const child = spawn(process.execPath, args, { stdio: 'inherit' });
  children.add(child);
  return child;
}

async function end(child: ChildProcess, signal: NodeJS.Signals): Promise<void> {
  children.delete(child);
  if (child.exitCode !== null || child.signalCode !== null) return;
  const exit = once(child, 'exit');
  child.kill(signal);
  await exit;
}

interface Hold {
  readonly from: number;
  /** Null while it lasts. */
  readonly to: number | null;
}

/**
 * From its claim to its outcome or failure, each attempt at an item of the type. When an item was given back, as a worker does that a busy
 * machine has held up, is not kept: it was held until its last heartbeat at least.
 */
function readHolds(type: string): Promise<Hold[]> {
  return db.query<Hold>(
    `select extract(epoch from a.claimed_at)::float8 * 1000 as from, extract(epoch from case a.state
         when 'SUCCEEDED' then o.finished_at when 'FAILED' then f.at when 'LOST' then f.at when 'RELEASED' then a.heartbeat_at end)::float8 * 1000 as to
     from jobtree.assignment a
     join jobtree.job j on j.id = a.job_id and j.type = $1
     left join jobtree.outcome o on o.job_id = a.job_id and o.position = a.position
     left join jobtree.failure f on f.job_id = a.job_id and f.position = a.position and f.attempt = a.attempt`,
    [type],
  );
}

/** How many were held at a time, at most; and the mean, from the first to the last claim. */
function heldAtOnce(holds: readonly Hold[]): { most: number; mean: number } {
  const last = Math.max(...holds.map(({ from }) => from));
  const changes = holds.flatMap(({ from, to }) => [
    { at: from, by: 1 },
    { at: to ?? last, by: -1 },
  ]);
  // What ends at the instant of a claim has made room for it.
  changes.sort((a, b) => a.at - b.at || a.by - b.by);
  let [held, most, sum, at] = [0, 0, 0, changes[0]?.at ?? 0];
  for (const change of changes) {
    if (change.at <= last) sum += held * (change.at - at);
    at = change.at;
    held += change.by;
    most = Math.max(most, held);
  }
  return { most, mean: sum / (last - (changes.find(({ by }) => by > 0)?.at ?? 0)) };
}

/** How many were claimed in any interval, at most. */
function mostIn(holds: readonly Hold[], intervalMs: number): number {
  const times = holds.map(({ from }) => from).sort((a, b) => a - b);
  let most = 0;
  for (let first = 0, last = 0; last < times.length; last++) {
    while ((times[first] ?? 0) <= (times[last] ?? 0) - intervalMs) first++;
    most = Math.max(most, last - first + 1);
  }
  return most;
}

it(
  `forty workers, killed and paused, never exceed ${concurrency} at once or ${rateLimit} in ${intervalMs} ms`,
  async () => {
    const types = ['show-concurrency', 'show-rate'] as const;
    const [limited, rated] = types;
    const settings = { heartbeatIntervalMs: 1_000, backoffMs: [0], maxFailuresPerItem: 1_000 };
    await client.queues.set(limited, { ...settings, concurrency });
    await client.queues.set(rated, { ...settings, rate: { limit: rateLimit, intervalMs } });
    for (const type of types) {
      const { id } = await client.createJob({ type });
      await client.addItems(
        id,
        Array.from({ length: 500 * Math.ceil(seconds) }, (_, payload) => ({ payload })),
      );
    }

    const count = 10;
    const crews = apps.flatMap((app) => [startWorkers(app, count, types), startWorkers(app, count, types)]);
    // They are at it, however long a busy machine takes to start them.
    for (const type of types) await vi.waitUntil(async () => (await readHolds(type)).length > 0, 30_000);
    const until = performance.now() + seconds * 1_000;
    for (let round = 0; performance.now() < until; round++) {
      await delay(seconds * 100);
      const crew = crews.shift() as ChildProcess;
      await end(crew, 'SIGKILL');
      crews.push(startWorkers(apps[round % 2], count, types));
      const type = types[round % 2] as string;
      await client.queues.pause(type);
      const [before] = await db.query<{ now: number }>(
        'select extract(epoch from clock_timestamp())::float8 * 1000 as now',
      );
      await delay(100);
      await client.queues.resume(type);
      const paused = (await readHolds(type)).filter(
        ({ from }) => from > (before?.now ?? 0) && from < (before?.now ?? 0) + 100,
      );
      expect(paused).toEqual([]);
    }
    for (const crew of crews) await end(crew, 'SIGKILL');

    const held = heldAtOnce(await readHolds(limited));
    const claims = await readHolds(rated);
    const most = mostIn(claims, intervalMs);
    if (isLong)
      console.log(
        `${seconds} s: at most ${held.most} held at once (mean ${held.mean.toFixed(2)}); ${claims.length} claims, at most ${most} in ${intervalMs} ms`,
      );
    expect(held.most).toBeLessThanOrEqual(concurrency);
    expect(most).toBeLessThanOrEqual(rateLimit);
    // In the long run there are as many as may be, also on a busy machine.
    if (isLong) expect([held.most, most]).toEqual([concurrency, rateLimit]);
  },
  (seconds + 60) * 1_000,
);

/** One worker on each server, which hears of work by hints alone; its handlers end when the test says so. */
async function idleWorkers(type: string) {
  const running: (() => void)[] = [];
  let wake = () => {};
  const clients = apps.map(({ url }) => createClient({ url }));
  const workers = clients.map(
    (own) =>
      new Worker({
        client: own,
        types: {
          [type]: {
            concurrency: 10,
            handler: () =>
              new Promise<null>((resolve) => {
                running.push(() => resolve(null));
                wake();
              }),
          },
        },
        pollIntervalMs: 3_600_000,
      }),
  );
  await Promise.all(workers.map((worker) => worker.start()));
  return {
    running,
    /** Resolves once so many handlers have begun. */
    begun: async (count: number) => {
      while (running.length < count) await new Promise<void>((resolve) => (wake = resolve));
    },
    stop: async () => {
      for (const finish of running) finish();
      await Promise.all(workers.map((worker) => worker.stop()));
      await Promise.all(clients.map((own) => own.close()));
    },
  };
}

it.each([
  ['resumed', { paused: true }, 0, { paused: false }, 4],
  ['given a higher limit', { concurrency: 1 }, 1, { concurrency: 3 }, 3],
  ['given no limit', { concurrency: 1 }, 1, { concurrency: null }, 4],
  [
    'given a higher rate',
    { rate: { limit: 2, intervalMs: 3_600_000 } },
    2,
    { rate: { limit: 3, intervalMs: 3_600_000 } },
    3,
  ],
] as const)('workers are woken when their type is %s', async (name, before, first, after, then) => {
  const type = `heard ${name}`;
  await client.queues.set(type, before);
  const workers = await idleWorkers(type);
  await client.createJob({ type, items: Array.from({ length: 4 }, () => ({})) });
  await workers.begun(first);
  await client.queues.set(type, after);
  await workers.begun(then);
  expect(workers.running).toHaveLength(then);
  await client.queues.set(type, { paused: true });
  await workers.stop();
});

it('an end that nobody reports makes room for a waiting worker', async () => {
  const type = 'made room';
  await client.queues.set(type, { concurrency: 1 });
  const { id } = await client.createJob({ type, items: [{}, {}] });
  const [held] = await client.claimItems('by hand', [{ type, limit: 1 }]);
  const workers = await idleWorkers(type);
  await data(
    apps[0]?.url ?? '',
    'mutation ($input: ReleaseAssignmentsInput!) { releaseAssignments(input: $input) { __typename } }',
    {
      input: { assignmentIds: [held?.id] },
    },
  );
  await workers.begun(1);
  await client.cancelJob(id);
  await workers.stop();
});

it('a worker takes the slot that its own report frees, in the same exchange', async () => {
  const type = 'own place';
  await client.queues.set(type, { concurrency: 2 });
  const workers = await idleWorkers(type);
  await client.createJob({ type, items: Array.from({ length: 6 }, () => ({})), sealed: true });
  for (let done = 0; done < 4; done++) {
    await workers.begun(done + 2);
    workers.running[done]?.();
  }
  await workers.begun(6);
  await workers.stop();
});

it('an item is available again at the next instant of a rate', async () => {
  const type = 'next instant';
  await client.queues.set(type, { rate: { limit: 2, intervalMs: 500 } });
  const workers = await idleWorkers(type);
  await client.createJob({ type, items: Array.from({ length: 5 }, () => ({})) });
  await workers.begun(5);
  await workers.stop();
  expect(mostIn(await readHolds(type), 500)).toBe(2);
});

it('the client reads and lists what it set', async () => {
  const set = await client.queues.set('listed', {
    rate: { limit: 5, intervalMs: 1_000 },
    backoffMs: [1],
    lifetimeMs: 60_000,
  });
  expect(set).toMatchObject({
    type: 'listed',
    paused: false,
    rate: { limit: 5, intervalMs: 1_000 },
    backoffMs: [1],
  });
  expect(await client.queues.pause('listed')).toMatchObject({ paused: true, lifetimeMs: 60_000 });
  expect(await client.queues.get('listed')).toMatchObject({ paused: true });
  expect((await client.queues.list()).find(({ type }) => type === 'listed')).toMatchObject({
    paused: true,
    ready: 0,
  });
  await client.queues.set('listed', { paused: null, rate: null, backoffMs: null, lifetimeMs: null });
  expect((await client.queues.list()).filter(({ type }) => type === 'listed')).toEqual([]);
  await expect(client.queues.set('listed', { concurrency: 0 })).rejects.toMatchObject({
    code: 'INVALID_INPUT',
    field: 'concurrency',
  });
  await expect(client.queues.get('')).rejects.toMatchObject({ code: 'INVALID_INPUT' });
});

it('an item that no worker starts in time fails with EXPIRED, and its job completes', async () => {
  await client.queues.set('perishable', { lifetimeMs: 1 });
  const { id } = await client.createJob({ type: 'perishable', items: [{}], sealed: true });
  expect(await lastOf(client.watchJob(id))).toMatchObject({ status: 'COMPLETED', failed: 1, succeeded: 0 });
  const { nodes } = await client.items(id);
  expect(nodes).toMatchObject([
    { status: 'FAILED', failureCount: 1, failures: [{ code: 'EXPIRED', worker: null }], assignment: null },
  ]);
});
