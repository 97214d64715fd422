import { once } from 'node:events';
import { afterAll, afterEach, beforeAll, beforeEach, expect, it } from 'vitest';
import {
  AssignmentEndedError,
  type Client,
  createClient,
  type Handler,
  Worker,
} from '../../src/client/index.ts';
import type { App } from '../../src/server/create-app.ts';
import { startProxy, type TcpProxy } from '../support/proxy.ts';
import { freePort, startServer, startServerProcess } from '../support/server.ts';
import { useDatabase } from '../support/use-server.ts';
import { signal } from './signals.ts';

const database = useDatabase();
let server: App;
let proxy: TcpProxy;
/** Goes to the server directly, while the worker goes through the proxy. */
let client: Client;
let worker: Worker | undefined;

beforeAll(async () => {
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

it('a report whose answer is lost is sent again and counts once', async () => {
  const { id } = await client.createJob({ type: 'lost-answer', items: [{}], sealed: true });
  const finish = signal();
  const worker = makeWorker('lost-answer', 1, () => finish.promise.then(() => 'once'));
  const claimed = once(worker, 'claimed');
  const disconnected = once(worker, 'disconnected');
  let acknowledged = 0;
  worker.on('succeeded', () => acknowledged++);
  const succeeded = once(worker, 'succeeded');
  await worker.start();
  await claimed;

  proxy.swallowAnswers();
  finish.fire();
  await completed(id);
  expect(acknowledged).toBe(0);
  proxy.cut();
  await disconnected;
  proxy.mend();
  await succeeded;
  await worker.stop();

  expect(acknowledged).toBe(1);
  expect((await client.job(id)).progress).toMatchObject({ itemCount: 1, succeeded: 1, failed: 0 });
});

it('a claim whose answer is lost is sent again and gets the same items at no cost', async () => {
  const items = [{}, {}, {}];
  const { id } = await client.createJob({ type: 'lost-claim', items, sealed: true, maxFailuresPerItem: 0 });
  const attempts: number[] = [];
  const worker = makeWorker('lost-claim', 3, (_, { attempt }) => attempts.push(attempt));
  const disconnected = once(worker, 'disconnected');
  void proxy.cutAt('"assignments":[{');
  await worker.start();
  await disconnected;
  expect(attempts).toEqual([]);
  proxy.mend();

  expect(await completed(id)).toMatchObject({ succeeded: 3, failed: 0 });
  expect(attempts).toEqual([1, 1, 1]);
  await worker.stop();
});

it('a stopping worker gives back the items of a claim without an answer', async () => {
  await client.createJob({ type: 'stopped', items: [{}, {}], sealed: true, maxFailuresPerItem: 0 });
  const worker = makeWorker('stopped', 2, () => expect.unreachable());
  const disconnected = once(worker, 'disconnected');
  void proxy.cutAt('"assignments":[{');
  await worker.start();
  await disconnected;
  proxy.mend();
  await worker.stop();
  const again = await client.claimItems('other', [{ type: 'stopped', limit: 5 }]);
  expect(again.map(({ attempt }) => attempt)).toEqual([1, 1]);
  await client.releaseAssignments(again.map((assignment) => assignment.id));
});

it('a claim of the client whose answer is lost is repeated', async () => {
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

it('two failed heartbeats in a row abort every handler, and the items are given back at no cost', async () => {
  const items = [{}, {}, {}];
  const { id } = await client.createJob({ type: 'silent', items, sealed: true, heartbeatIntervalMs: 1_000 });
  const attempts: number[] = [];
  const reasons: unknown[] = [];
  const started = signal();
  const worker = makeWorker('silent', 3, (_, { attempt, signal: aborted }) => {
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
  worker.on('aborted', (_, code) => codes.push(code));
  await worker.start();
  await started.promise;

  proxy.cut();
  await expect.poll(() => codes.length).toBe(3);
  expect(reasons).toEqual(items.map(() => new AssignmentEndedError('HEARTBEATS_FAILED')));
  proxy.mend();

  expect(await completed(id)).toMatchObject({ succeeded: 3, failed: 0 });
  expect(attempts).toEqual([1, 1, 1, 1, 1, 1]);
});

it('a handler that succeeds after failed heartbeats still delivers its result', async () => {
  const { id } = await client.createJob({
    type: 'stubborn',
    items: [{}],
    sealed: true,
    heartbeatIntervalMs: 1_000,
  });
  const finish = signal();
  const worker = makeWorker('stubborn', 1, () => finish.promise.then(() => 'kept'));
  const claimed = once(worker, 'claimed');
  const aborted = once(worker, 'aborted');
  await worker.start();
  await claimed;

  proxy.cut();
  await aborted;
  finish.fire();
  proxy.mend();

  expect(await completed(id)).toMatchObject({ succeeded: 1 });
  const [item] = (await client.items(id)).nodes;
  expect(item).toMatchObject({ result: 'kept', failures: [] });
});

it('one failed heartbeat aborts nothing', async () => {
  const { id } = await client.createJob({
    type: 'blink',
    items: [{}],
    sealed: true,
    heartbeatIntervalMs: 3_000,
  });
  const finish = signal();
  const worker = makeWorker('blink', 1, () => finish.promise.then(() => null));
  const claimed = once(worker, 'claimed');
  const disconnected = once(worker, 'disconnected');
  const aborted: string[] = [];
  worker.on('aborted', (_, code) => aborted.push(code));
  await worker.start();
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

it('a worker that starts before the server waits for it', async () => {
  proxy.cut();
  const { id } = await client.createJob({ type: 'early', items: [{}], sealed: true });
  const worker = makeWorker('early', 1, () => null);
  const disconnected = once(worker, 'disconnected');
  const connected = once(worker, 'connected');
  await worker.start();
  await disconnected;
  proxy.mend();
  await connected;
  expect(await completed(id)).toMatchObject({ succeeded: 1 });
});

it('stop() ends in time without the server, and says what was not delivered', async () => {
  const { id } = await client.createJob({ type: 'gone', items: [{}], sealed: true });
  const finish = signal();
  const worker = makeWorker('gone', 1, () => finish.promise.then(() => 'undelivered'));
  const claimed = once(worker, 'claimed');
  const disconnected = once(worker, 'disconnected');
  const errors: string[] = [];
  worker.on('error', (error) => errors.push(String(error)));
  await worker.start();
  await claimed;
  proxy.cut();
  await disconnected;
  finish.fire();
  await worker.stop();
  expect(errors).toEqual(['Error: The worker stopped before the server knew what became of 1 item.']);
  expect((await client.items(id)).nodes).toMatchObject([{ status: 'RUNNING' }]);
});

it.each([
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
    const worker = new Worker({
      url: first.url,
      types: { [death]: { concurrency: 50, handler: (payload) => payload } },
    });
    try {
      const warm = signal();
      let acknowledged = 0;
      worker.on('succeeded', () => {
        if (++acknowledged === 200) warm.fire();
      });
      const disconnected = once(worker, 'disconnected');
      await worker.start();
      await warm.promise;
      await first.end(death);
      await disconnected;
      second = await startServerProcess(database.url, { JOBTREE_PORT: port });
      expect(await completed(id, direct)).toMatchObject({ itemCount: 1_000, failed: 0, succeeded: 1_000 });
      const results: unknown[] = [];
      for await (const { result } of direct.results(id)) results.push(result);
      expect(results).toEqual(payloads);
    } finally {
      await worker.stop();
      await direct.close();
      await first.end('SIGKILL');
      await second?.end();
    }
  },
);
