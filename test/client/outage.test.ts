import { once } from 'node:events';
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest';
import {
  AssignmentEndedError,
  type Client,
  createClient,
  type Handler,
  Worker,
} from '../../src/client/index.ts';
import type { App } from '../../src/server/create-app.ts';
import { createDatabase, type TestDatabase } from '../support/database.ts';
import { startProxy, type TcpProxy } from '../support/proxy.ts';
import { freePort, startServer, startServerProcess } from '../support/server.ts';
import { signal } from './signals.ts';

let database: TestDatabase;
let server: App;
let proxy: TcpProxy;
/** Goes to the server directly, while the worker goes through the proxy. */
let client: Client;
let worker: Worker | undefined;

beforeAll(async () => {
  database = await createDatabase();
  // The sweep stays out of it: what is lost for too long is not taken back while a test looks.
  server = await startServer(database.url, { JOBTREE_SWEEP_INTERVAL_MS: '60000' });
  client = createClient({ url: server.url });
});
beforeEach(async () => {
  proxy = await startProxy(server.url);
});
afterEach(async () => {
  await worker?.stop();
  worker = undefined;
  await proxy.close();
});
afterAll(async () => {
  await client?.close();
  await server?.close();
  await database?.drop();
});

/** With a listener, outages are not on the console. */
const expectedSilence = () => {};

function makeWorker(type: string, concurrency: number, handler: Handler): Worker {
  worker = new Worker({ url: proxy.url, types: { [type]: { concurrency, handler } }, stopTimeoutMs: 2_000 });
  worker.on('disconnected', expectedSilence);
  return worker;
}

async function completed(jobId: string, by = client) {
  for await (const progress of by.watchJob(jobId)) if (progress.status === 'COMPLETED') return progress;
  throw new Error('The job never completed.');
}

test('a report whose answer is lost is sent again and counts once', async () => {
  const { id } = await client.createJob({ type: 'lost-answer', items: [{}], sealed: true });
  const finish = signal();
  const it = makeWorker('lost-answer', 1, () => finish.promise.then(() => 'once'));
  const claimed = once(it, 'claimed');
  const disconnected = once(it, 'disconnected');
  let acknowledged = 0;
  it.on('succeeded', () => acknowledged++);
  const succeeded = once(it, 'succeeded');
  await it.start();
  await claimed;

  proxy.swallowAnswers();
  finish.fire();
  await completed(id);
  expect(acknowledged).toBe(0);
  proxy.cut();
  await disconnected;
  proxy.mend();
  await succeeded;
  await it.stop();

  expect(acknowledged).toBe(1);
  expect((await client.job(id)).progress).toMatchObject({ itemCount: 1, succeeded: 1, failed: 0 });
});

test('a claim whose answer is lost is sent again and gets the same items at no cost', async () => {
  const items = [{}, {}, {}];
  const { id } = await client.createJob({ type: 'lost-claim', items, sealed: true, maxFailuresPerItem: 0 });
  const attempts: number[] = [];
  const it = makeWorker('lost-claim', 3, (_, { attempt }) => attempts.push(attempt));
  const disconnected = once(it, 'disconnected');
  void proxy.cutAt('"assignments":[{');
  await it.start();
  await disconnected;
  expect(attempts).toEqual([]);
  proxy.mend();

  expect(await completed(id)).toMatchObject({ succeeded: 3, failed: 0 });
  expect(attempts).toEqual([1, 1, 1]);
  await it.stop();
});

test('a stopping worker gives back the items of a claim without an answer', async () => {
  await client.createJob({ type: 'stopped', items: [{}, {}], sealed: true, maxFailuresPerItem: 0 });
  const it = makeWorker('stopped', 2, () => expect.unreachable());
  const disconnected = once(it, 'disconnected');
  void proxy.cutAt('"assignments":[{');
  await it.start();
  await disconnected;
  proxy.mend();
  await it.stop();
  const again = await client.claimItems('other', [{ type: 'stopped', limit: 5 }]);
  expect(again.map(({ attempt }) => attempt)).toEqual([1, 1]);
  await client.releaseAssignments(again.map((assignment) => assignment.id));
});

test('a claim of the client whose answer is lost is repeated', async () => {
  await client.createJob({ type: 'lost-call', items: [{}, {}], sealed: true });
  const through = createClient({ url: proxy.url });
  const wasCut = proxy.cutAt('"assignments":[{');
  const claimed = through.claimItems('w', [{ type: 'lost-call', limit: 1 }]);
  await wasCut;
  proxy.mend();
  expect(await claimed).toMatchObject([{ attempt: 1 }]);
  expect(await client.claimItems('w', [{ type: 'lost-call', limit: 5 }])).toHaveLength(1);
  await through.close();
});

test('two failed heartbeats in a row abort every handler, and the items are given back at no cost', async () => {
  const items = [{}, {}, {}];
  const { id } = await client.createJob({ type: 'silent', items, sealed: true, heartbeatIntervalMs: 1_000 });
  const attempts: number[] = [];
  const reasons: unknown[] = [];
  const started = signal();
  const it = makeWorker('silent', 3, (_, { attempt, signal: aborted }) => {
    attempts.push(attempt);
    if (attempts.length > 3) return 'again';
    if (attempts.length === 3) started.fire();
    return new Promise((_, reject) => {
      aborted.addEventListener('abort', () => {
        reasons.push(aborted.reason);
        reject(aborted.reason);
      });
    });
  });
  const codes: string[] = [];
  it.on('aborted', (_, code) => codes.push(code));
  await it.start();
  await started.promise;

  proxy.cut();
  await expect.poll(() => codes.length).toBe(3);
  expect(reasons).toEqual(items.map(() => new AssignmentEndedError('HEARTBEATS_FAILED')));
  proxy.mend();

  expect(await completed(id)).toMatchObject({ succeeded: 3, failed: 0 });
  expect(attempts).toEqual([1, 1, 1, 1, 1, 1]);
});

test('a handler that succeeds after failed heartbeats still delivers its result', async () => {
  const { id } = await client.createJob({
    type: 'stubborn',
    items: [{}],
    sealed: true,
    heartbeatIntervalMs: 1_000,
  });
  const finish = signal();
  const it = makeWorker('stubborn', 1, () => finish.promise.then(() => 'kept'));
  const claimed = once(it, 'claimed');
  const aborted = once(it, 'aborted');
  await it.start();
  await claimed;

  proxy.cut();
  await aborted;
  finish.fire();
  proxy.mend();

  expect(await completed(id)).toMatchObject({ succeeded: 1 });
  const [item] = (await client.items(id)).nodes;
  expect(item).toMatchObject({ result: 'kept', failures: [] });
});

test('one failed heartbeat aborts nothing', async () => {
  const { id } = await client.createJob({
    type: 'blink',
    items: [{}],
    sealed: true,
    heartbeatIntervalMs: 3_000,
  });
  const finish = signal();
  const it = makeWorker('blink', 1, () => finish.promise.then(() => null));
  const claimed = once(it, 'claimed');
  const disconnected = once(it, 'disconnected');
  const aborted: string[] = [];
  it.on('aborted', (_, code) => aborted.push(code));
  await it.start();
  const [assignment] = await claimed;

  proxy.cut();
  await disconnected;
  proxy.mend();
  // A later heartbeat gets through: the deadline has moved.
  await expect
    .poll(
      async () => {
        const text = 'select heartbeat_at > claimed_at as beat from jobtree.lease where id = $1';
        const [row] = await database.query<{ beat: boolean }>(text, [
          `${assignment.id.slice('Assignment:'.length, -2)}00`,
        ]);
        return row?.beat;
      },
      { timeout: 20_000 },
    )
    .toBe(true);
  expect(aborted).toEqual([]);
  finish.fire();
  expect(await completed(id)).toMatchObject({ succeeded: 1 });
});

test('a worker that starts before the server waits for it', async () => {
  proxy.cut();
  const { id } = await client.createJob({ type: 'early', items: [{}], sealed: true });
  const it = makeWorker('early', 1, () => null);
  const disconnected = once(it, 'disconnected');
  const connected = once(it, 'connected');
  await it.start();
  await disconnected;
  proxy.mend();
  await connected;
  expect(await completed(id)).toMatchObject({ succeeded: 1 });
});

test('stop() ends in time without the server, and says what was not delivered', async () => {
  const { id } = await client.createJob({ type: 'gone', items: [{}], sealed: true });
  const finish = signal();
  const it = makeWorker('gone', 1, () => finish.promise.then(() => 'undelivered'));
  const claimed = once(it, 'claimed');
  const disconnected = once(it, 'disconnected');
  const errors: string[] = [];
  it.on('error', (error) => errors.push(String(error)));
  await it.start();
  await claimed;
  proxy.cut();
  await disconnected;
  finish.fire();
  await it.stop();
  expect(errors).toEqual(['Error: The worker stopped before the server knew what became of 1 items.']);
  expect((await client.items(id)).nodes).toMatchObject([{ status: 'RUNNING' }]);
});

test.each([
  ['shut down', 'SIGTERM'],
  ['killed', 'SIGKILL'],
] as const)(
  'if a server is %s and restarted, every item counts once, at its first attempt',
  { timeout: 120_000 },
  async (_, death) => {
    const port = String(await freePort());
    const first = await startServerProcess(database.url, { JOBTREE_PORT: port });
    let second: typeof first | undefined;
    const direct = createClient({ url: first.url });
    const payloads = Array.from({ length: 1_000 }, (_, i) => i);
    const { id } = await direct.createJob({ type: death, maxFailuresPerItem: 0 });
    await direct.addItems(
      id,
      payloads.map((payload) => ({ payload })),
      { seal: true },
    );
    const it = new Worker({
      url: first.url,
      types: { [death]: { concurrency: 50, handler: (payload) => payload } },
    });
    try {
      const warm = signal();
      let acknowledged = 0;
      it.on('succeeded', () => {
        if (++acknowledged === 200) warm.fire();
      });
      const disconnected = once(it, 'disconnected');
      await it.start();
      await warm.promise;
      await first.end(death);
      await disconnected;
      second = await startServerProcess(database.url, { JOBTREE_PORT: port });
      expect(await completed(id, direct)).toMatchObject({ itemCount: 1_000, failed: 0, succeeded: 1_000 });
      const results: unknown[] = [];
      for await (const { result } of direct.results(id)) results.push(result);
      expect(results).toEqual(payloads);
    } finally {
      await it.stop();
      await direct.close();
      await first.end('SIGKILL');
      await second?.end();
    }
  },
);
