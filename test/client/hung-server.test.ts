/** A server that takes connections and says nothing any more, as one that is stopped, behind a load balancer that has another. */
import { once } from 'node:events';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createClient, Worker } from '../../src/client/index.ts';
import { heartbeat } from '../../src/client/operations.ts';
import type { App } from '../../src/server/create-app.ts';
import { createDatabase, type TestDatabase } from '../support/database.ts';
import { startProxy } from '../support/proxy.ts';
import { startServer, startServerProcess } from '../support/server.ts';
import { signal } from './signals.ts';

let database: TestDatabase;
let other: App;
beforeAll(async () => {
  database = await createDatabase();
  other = await startServer(database.url);
});
afterAll(async () => {
  await other?.close();
  await database?.drop();
});

test('a worker goes to another server after one heartbeat without an answer', {
  timeout: 60_000,
}, async () => {
  const hung = await startServerProcess(database.url);
  const balancer = await startProxy(hung.url);
  const client = createClient({ url: other.url });
  const finish = signal();
  const handler = () => finish.promise.then(() => null);
  const worker = new Worker({ url: balancer.url, types: { hung: { concurrency: 1, handler } } });
  const aborted: string[] = [];
  worker.on('aborted', (_, code) => aborted.push(code));
  worker.on('disconnected', () => {});
  try {
    await client.createJob({ type: 'hung', items: [{}], sealed: true, heartbeatIntervalMs: 1_000 });
    const claimed = worker.once('claimed');
    const succeeded = worker.once('succeeded');
    await worker.start();
    await claimed;
    hung.process.kill('SIGSTOP');
    // The load balancer has noticed, which does not move the connections that there are.
    balancer.mend(other.url);
    const [before] = await database.query<{ at: Date }>('select now() as at');
    const beats = () => database.query('select from jobtree.lease where heartbeat_at > $1', [before?.at]);
    await expect.poll(beats, { timeout: 20_000 }).toHaveLength(1);
    finish.fire();
    await succeeded;
    expect(aborted).toEqual([]);
  } finally {
    await worker.stop();
    await hung.end('SIGKILL');
    await balancer.close();
    await client.close();
  }
});

test('an operation that is given up while its connection is still opening ends nothing else', async () => {
  const taken: Socket[] = [];
  const silent = createServer((socket) => taken.push(socket.resume())).listen(0, '127.0.0.1');
  await once(silent, 'listening');
  const client = createClient({ url: `http://127.0.0.1:${(silent.address() as AddressInfo).port}/graphql` });
  try {
    // What the WebSocket says of its end, and nobody hears, would end the process.
    await expect(
      client.socket.request(heartbeat, { input: { assignmentIds: [] } }, 200),
    ).rejects.toMatchObject({ code: 'UNREACHABLE' });
    for (const socket of taken) if (!socket.closed) await once(socket, 'close');
    expect(taken).toHaveLength(1);
  } finally {
    await client.close();
    for (const socket of taken) socket.destroy();
    silent.close();
  }
});
