/** The very code of docs/workers.md, with a server. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, expect, it, onTestFinished, vi } from 'vitest';
import { createClient, Worker } from '../../src/client/index.ts';
import { useExamples } from '../support/documented-code.ts';
import { useServer } from '../support/use-server.ts';

const server = useServer();
const { build, load } = useExamples('workers.md');
beforeAll(() => {
  vi.stubEnv('JOBTREE_URL', server.url);
});
afterAll(() => {
  vi.unstubAllEnvs();
});

function connect() {
  const client = createClient({ url: server.url });
  onTestFinished(() => client.close());
  return client;
}

it('the program processes pictures that exist, are missing, or are too many', async () => {
  const pictures = createServer(({ url }, response) => {
    response.statusCode = url === '/missing' ? 404 : url === '/busy' ? 429 : 200;
    response.end('a picture');
  });
  await new Promise<void>((resolve) => pictures.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => void pictures.close());
  const base = `http://127.0.0.1:${(pictures.address() as AddressInfo).port}`;
  const client = connect();
  const items = ['/a.jpg', '/missing', '/busy'].map((path) => ({ payload: { url: base + path } }));
  const { id } = await client.createJob({ type: 'thumbnail', items, sealed: true });

  const child = spawn(process.execPath, [await build('thumbnails')], { stdio: ['ignore', 'pipe', 'pipe'] });
  onTestFinished(() => void child.kill('SIGKILL'));
  const output: string[] = [];
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding('utf8').on('data', (text: string) => output.push(text));
  for await (const { succeeded, failed } of client.watchJob(id)) if (succeeded + failed === 2) break;
  await expect.poll(() => output.join('')).toContain('RETRY_AFTER');
  child.kill('SIGTERM');
  expect(await once(child, 'close')).toEqual([0, null]);
  const { nodes } = await client.items(id);
  expect(nodes).toMatchObject([
    { status: 'SUCCEEDED', result: { stored: `${nodes[0]?.id} (9 bytes)` } },
    { status: 'FAILED', failures: [{ code: 'NO_PICTURE' }] },
    { status: 'RETRYING', failures: [{ code: 'RETRY_AFTER', message: 'Too many requests.' }] },
  ]);
  expect(output.join('')).toContain('picture loaded');
});

it('the batch example works', async () => {
  const client = connect();
  const items = ['here', '', 'there'].map((address) => ({ payload: { address } }));
  const { id } = await client.createJob({ type: 'geocode', items, sealed: true, maxFailuresPerItem: 0 });
  const { worker } = await load<{ worker: Worker }>('batch');
  worker.on('failed', () => {});
  await worker.runOnce();
  expect(
    (await client.items(id)).nodes.map(({ result, failures }) => result ?? failures[0]?.message),
  ).toEqual([{ found: 'HERE' }, 'not found', { found: 'THERE' }]);
});

it('the middleware example works', async () => {
  const client = connect();
  const { id } = await client.createJob({ type: 'whoAmI', items: [{}], sealed: true });
  const { worker } = await load<{ worker: Worker }>('middleware');
  const log = vi.spyOn(console, 'log').mockImplementation(() => {});
  onTestFinished(() => log.mockRestore());
  await worker.runOnce();
  expect((await client.items(id)).nodes).toMatchObject([{ result: 'whoAmI' }]);
  expect(log.mock.calls).toEqual([['whoAmI', 1, expect.any(Number)]]);
});

it('the examples of control and events work', async () => {
  const client = connect();
  const worker = new Worker({ client, types: { thumbnail: { concurrency: 1, handler: () => null } } });
  const { throttle } = await load<{ throttle: (worker: Worker) => Promise<void> }>('control');
  const log = vi.spyOn(console, 'log').mockImplementation(() => {});
  onTestFinished(() => log.mockRestore());
  const idle = once(worker, 'idle');
  await worker.start();
  const throttled = throttle(worker);
  await idle;
  const { id } = await client.createJob({ type: 'thumbnail', items: [{}], sealed: true });
  for await (const _ of client.watchJob(id));
  await expect.poll(() => log.mock.calls).toEqual([[(await client.items(id)).nodes[0]?.id]]);
  await worker.stop();
  await throttled;
});

it('the example of a test works', async () => {
  const { doublesNumbers } = await load<{ doublesNumbers: () => Promise<unknown> }>('test');
  expect(await doublesNumbers()).toEqual([2, 4]);
});
