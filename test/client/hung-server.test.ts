/** A server that takes connections and says nothing any more, as one that is stopped, behind a load balancer that has another. */
import { once } from 'node:events';
import { type AddressInfo, createServer, type Socket as TcpSocket } from 'node:net';
import { expect, it, onTestFinished } from 'vitest';
import { Credentials } from '../../src/client/credentials.ts';
import { createClient, Worker } from '../../src/client/index.ts';
import { Socket } from '../../src/client/socket.ts';
import { WorkAvailable } from '../../src/generated/operations.ts';
import { startProxy } from '../support/proxy.ts';
import { startServerProcess } from '../support/server.ts';
import { useServer } from '../support/use-server.ts';
import { signal } from './signals.ts';

const { db: database, app: other } = useServer();

it('a worker changes servers after one unanswered heartbeat', async () => {
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
    const claimed = once(worker, 'claimed');
    const succeeded = once(worker, 'succeeded');
    await worker.start();
    await claimed;
    hung.process.kill('SIGSTOP');
    // The load balancer has noticed, which does not move the connections that there are.
    balancer.mend(other.url);
    const [before] = await database.query<{ at: Date }>('select now() as at');
    const beats = () => database.query('select from jobtree.lease where heartbeat_at > $1', [before?.at]);
    await expect.poll(beats).toHaveLength(1);
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

it('abandoning a connection that never opens fails the request, and nothing is uncaught', async () => {
  const silent = createServer();
  silent.listen(0, '127.0.0.1');
  await once(silent, 'listening');
  const faults: unknown[] = [];
  const onFault = (fault: unknown) => void faults.push(fault);
  process.on('uncaughtException', onFault);
  onTestFinished(() => {
    process.off('uncaughtException', onFault);
    silent.close();
  });
  const url = `http://127.0.0.1:${(silent.address() as AddressInfo).port}/graphql`;
  const socket = new Socket({
    headers: {},
    url,
    credentials: new Credentials({}, undefined),
    webSocketImpl: undefined,
  });
  const answer = socket.request(WorkAvailable, { types: ['a'] }, 500);
  const failed = expect(answer).rejects.toMatchObject({ code: 'UNREACHABLE' });
  const [connection] = (await once(silent, 'connection')) as [TcpSocket];
  connection.resume();
  await Promise.all([failed, once(connection, 'close')]);
  expect(faults).toEqual([]);
  await socket.close();
});
