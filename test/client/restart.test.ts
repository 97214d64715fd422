/** A server that restarts sends everybody away at once; clients come back by themselves, but not at once. */
import { once } from 'node:events';
import { createServer, type Socket } from 'node:net';
import { afterAll, beforeAll, expect, it, vi } from 'vitest';
import { createClient, watchJob } from '../../src/client/index.ts';
import { Hub } from '../../src/events/hub.ts';
import type { App } from '../../src/server/create-app.ts';
import { SocketReader } from '../../src/server/sockets/socket-reader.ts';
import { createJob, work } from '../support/api.ts';
import { eventually } from '../support/eventually.ts';
import { startServer } from '../support/server.ts';
import { useDatabase } from '../support/use-server.ts';

const db = useDatabase();
let app: App;
beforeAll(async () => {
  app = await startServer(db.url);
});
afterAll(async () => {
  await app.close();
});

async function restart(): Promise<void> {
  const { port } = new URL(app.url);
  await app.close();
  app = await startServer(db.url, { JOBTREE_PORT: port });
}

it('watchers reconnect spread over time, and see the end', async () => {
  const id = await createJob(app.url, { type: 'restart', sealed: true, items: [{}] });
  const clients = Array.from({ length: 40 }, () => createClient({ url: app.url }));
  const watching = clients.map((client) => client.watchJob(id));
  await Promise.all(watching.map((one) => one.next()));
  const ended = watching.map(async (one) => {
    let last: unknown;
    for await (const progress of one) last = progress;
    return last;
  });
  const { port } = new URL(app.url);
  await app.close();

  // In its place something that takes connections and says nothing, so that each client comes once.
  const sockets: Socket[] = [];
  const times: number[] = [];
  const silent = createServer((socket) => {
    sockets.push(socket);
    times.push(performance.now());
    if (times.length === clients.length) silent.emit('all');
  }).listen(Number(port), '127.0.0.1');
  await once(silent, 'all');
  expect(Math.max(...times) - Math.min(...times)).toBeGreaterThan(500);
  for (const socket of sockets) socket.destroy();
  silent.close();
  await once(silent, 'close');

  app = await startServer(db.url, { JOBTREE_PORT: port });
  await work(app.url, 'restart', 1);
  for (const last of ended) expect(await last).toMatchObject({ status: 'COMPLETED', succeeded: 1 });
  for (const client of clients) await client.close();
});

it('a client that waits to reconnect can be closed at once', async () => {
  const id = await createJob(app.url, { type: 'closed', items: [{}] });
  const client = createClient({ url: app.url });
  const events = client.watchJob(id);
  await events.next();
  const next = events.next();
  await restart();
  await client.close();
  expect((await next).done).toBe(true);
});

it('after a restart only changes are reported, not known states', async () => {
  const id = await createJob(app.url, { type: 'known', items: [{}, {}], children: [{ type: 'below' }] });
  const client = createClient({ url: app.url });
  const watches = [client.watchJob(id), client.watchTree(id), watchJob(id, { url: app.url })];
  const known = await Promise.all(watches.map(async (watch) => (await watch.next()).value?.revision ?? ''));
  const next = watches.map((watch) => watch.next());
  const watched = [vi.spyOn(Hub.prototype, 'watchJob'), vi.spyOn(Hub.prototype, 'watchTree')];
  const told = vi.spyOn(SocketReader.prototype, 'tell');
  await restart();
  for (const one of watched) await eventually(() => expect(one).toHaveBeenCalled());
  await work(app.url, 'known', 1);
  for (const { value } of await Promise.all(next)) {
    const progress = value && 'jobs' in value ? value.jobs.find(({ jobId }) => jobId === id) : value;
    expect(progress).toMatchObject({ status: 'RUNNING' });
  }
  for (const [{ result }] of told.mock.calls) {
    const { jobProgress, jobTreeProgress } = JSON.parse(result.stringify()).data;
    if (jobProgress) expect(jobProgress.revision > (known[0] ?? '')).toBe(true);
    else expect(jobTreeProgress.revision > (known[1] ?? '')).toBe(true);
  }
  await Promise.all(watches.map((watch) => watch.return()));
  await client.close();
});

it('watchJob throws the reason of its signal, and refusals of the server', async () => {
  const id = await createJob(app.url, { type: 'aborted', items: [{}] });
  const ending = new AbortController();
  const events = watchJob(id, { url: app.url, signal: ending.signal });
  expect((await events.next()).value).toMatchObject({ status: 'WAITING' });
  const next = events.next();
  ending.abort(new Error('enough'));
  await expect(next).rejects.toThrow('enough');

  const unknown = watchJob('Job:00000000-0000-7000-8000-000000000000', { url: app.url });
  await expect(unknown.next()).rejects.toMatchObject({ code: 'NOT_FOUND' });
  expect(() => createClient({ url: '/graphql' })).toThrow(expect.objectContaining({ code: 'INVALID_INPUT' }));
});
