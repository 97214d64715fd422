/** The end of a worker, when the server does not answer just then. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { beforeEach, expect, it, onTestFinished } from 'vitest';
import { Worker } from '../../src/client/index.ts';
import { startProxy, type TcpProxy } from '../support/proxy.ts';
import { useServer } from '../support/use-server.ts';
import { signal } from './signals.ts';

const { app: server, client } = useServer();
let proxy: TcpProxy;
/** Goes to the server directly, while workers go through the proxy. */

beforeEach(async () => {
  proxy = await startProxy(server.url);
  onTestFinished(() => proxy.close());
});

it('a stopping worker with an unanswered request lets its process end', async () => {
  const { id } = await client.createJob({ type: 'unanswered', items: [{}], sealed: true });
  const program = fileURLToPath(new URL('../support/stopping-worker.ts', import.meta.url));
  const child: ChildProcess = spawn(process.execPath, ['--import', 'tsx', program, proxy.url, 'unanswered'], {
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  onTestFinished(() => void child.kill('SIGKILL'));
  const ended = once(child, 'exit');
  const lines = createInterface({ input: child.stdout as NodeJS.ReadableStream })[Symbol.asyncIterator]();
  expect((await lines.next()).value).toBe('claimed');

  proxy.swallowAnswers();
  child.stdin?.end();
  const said: string[] = [];
  for await (const line of { [Symbol.asyncIterator]: () => lines }) said.push(line);
  expect(await ended).toEqual([0, null]);
  // What it could not know it says once, and nothing after the end.
  expect(said).toEqual([
    'error: The worker stopped before the server knew what became of 1 item.',
    'stopped',
  ]);
  expect((await client.job(id)).progress).toMatchObject({ succeeded: 1 });
});

it('the last outcome has all of stopTimeoutMs to be delivered', async () => {
  const { id } = await client.createJob({ type: 'away', items: [{}], sealed: true });
  const finish = signal();
  const worker = new Worker({
    url: proxy.url,
    types: { away: { concurrency: 1, handler: () => finish.promise.then(() => 'delivered') } },
    stopTimeoutMs: 25_000,
  });
  const errors: unknown[] = [];
  worker.on('disconnected', () => {});
  worker.on('error', (error) => errors.push(error));
  const claimed = once(worker, 'claimed');
  await worker.start();
  await claimed;
  proxy.cut();
  const stopped = worker.stop();
  finish.fire();
  // An outage that is longer than what stop() allows itself beyond its time.
  await Promise.race([stopped, delay(5_500)]);
  proxy.mend();
  await stopped;
  expect(errors).toEqual([]);
  expect((await client.items(id)).nodes).toMatchObject([{ status: 'SUCCEEDED', result: 'delivered' }]);
});

it('atOnce gives back what handlers have, also while an earlier stop waits for them', async () => {
  for (const isEarlier of [false, true]) {
    const { id } = await client.createJob({ type: 'hurried', items: [{}], sealed: true });
    const aborted = signal<unknown>();
    const worker = new Worker({
      client,
      types: {
        hurried: {
          concurrency: 1,
          handler: (_, { signal: end }) => {
            end.addEventListener('abort', () => aborted.fire(end.reason.code));
            return new Promise(() => {});
          },
        },
      },
      stopTimeoutMs: 60_000,
    });
    const claimed = once(worker, 'claimed');
    await worker.start();
    await claimed;
    const stopped = isEarlier ? worker.stop() : undefined;
    await worker.stop({ atOnce: true });
    await stopped;
    expect(await aborted.promise).toBe('STOPPED');
    expect((await client.items(id)).nodes).toMatchObject([{ status: 'READY', failures: [] }]);
    await client.cancelJob(id);
  }
});

it('atOnce keeps the serialize key of a handler that ignores its signal, until the handler has ended', async () => {
  const type = 'ignoring';
  const { id } = await client.createJob({
    type,
    items: [0, 1].map((payload) => ({ payload, serializeKey: 'one at a time' })),
    sealed: true,
  });
  const seen: string[] = [];
  const worker = new Worker({
    client,
    types: {
      [type]: {
        concurrency: 1,
        handler: async (_, { signal: end }) => {
          await once(end, 'abort');
          // Nobody gets the key, however often they ask.
          for (let n = 0; n < 20; n++) {
            const claimed = await client.claimItems('other', [{ type, limit: 1 }]);
            seen.push(...claimed.map(({ payload }) => `${payload} claimed`));
          }
          seen.push('0 ended');
          end.throwIfAborted();
        },
      },
    },
  });
  const claimed = once(worker, 'claimed');
  await worker.start();
  await claimed;
  await worker.stop({ atOnce: true });
  const [next] = await client.claimItems('other', [{ type, limit: 1 }]);
  seen.push(`${next?.payload} claimed`);
  expect(seen).toEqual(['0 ended', '0 claimed']);
  expect((await client.items(id)).nodes).toMatchObject([{ failures: [] }, { failures: [] }]);
});

it('a stop that no longer waits for such a handler leaves it the key, until its heartbeats are missed', async () => {
  const type = 'never ending';
  await client.createJob({
    type,
    items: [0, 1].map((payload) => ({ payload, serializeKey: 'never' })),
    sealed: true,
  });
  const worker = new Worker({
    client,
    types: { [type]: { concurrency: 1, handler: () => new Promise(() => {}) } },
  });
  const errors: unknown[] = [];
  worker.on('error', (error) => errors.push(error));
  const claimed = once(worker, 'claimed');
  await worker.start();
  await claimed;
  await worker.stop({ atOnce: true });
  expect(errors).toHaveLength(1);
  expect(await client.claimItems('other', [{ type, limit: 1 }])).toEqual([]);
});
