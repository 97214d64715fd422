/** Operations that come on an open socket while the server shuts down: no answer, but the end of the socket, so that clients come again. */
import { afterAll, afterEach, beforeAll, expect, it } from 'vitest';
import { WebSocket } from 'ws';
import type { App } from '../../src/server/create-app.ts';
import { createJob, work } from '../support/api.ts';
import { bundle } from '../support/bundle.ts';
import { createDatabase, type TestDatabase } from '../support/database.ts';
import { example } from '../support/documentation.ts';
import { eventually } from '../support/eventually.ts';
import { lockWaiters } from '../support/locks.ts';
import { freePort } from '../support/ports.ts';
import { openRaw } from '../support/raw-socket.ts';
import { startServer } from '../support/server.ts';

let db: TestDatabase;
const closers: (() => unknown)[] = [];
beforeAll(async () => {
  db = await createDatabase();
});
afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close();
});
afterAll(async () => {
  await db.drop();
});

/** Holds a row, so that a mutation of the job waits for it; returns what lets it go. */
async function hold(jobId: string): Promise<() => Promise<void>> {
  const holder = await db.connect();
  await holder.query('begin');
  await holder.query('select from jobtree.job where id = $1 for update', [jobId.slice(4)]);
  return async () => {
    await holder.query('commit');
    await holder.end();
  };
}

const sealing = (id: string) => `mutation { sealJob(input: { jobId: "${id}" }) { __typename } }`;
const watching = (id: string) => `subscription { jobProgress(jobId: "${id}") { status } }`;

it('an idle socket is closed at once, and one with a pending answer after that', async () => {
  const server = await startServer(db.url);
  const id = await createJob(server.url, { type: 'busy', items: [{}] });
  const idle = await openRaw(server.url);
  idle.send({ type: 'subscribe', id: 'watch', payload: { query: watching(id) } });
  await idle.until((message) => message.id === 'watch');
  const busy = await openRaw(server.url);
  const release = await hold(id);
  busy.send({ type: 'subscribe', id: 'seal', payload: { query: sealing(id) } });
  await lockWaiters(db, 1);
  const closed = server.close();
  for (const { send } of [idle, busy]) {
    send({ type: 'subscribe', id: 'late', payload: { query: watching(id) } });
  }
  expect(await idle.closed).toBe(1012);
  expect(busy.socket.readyState).toBe(WebSocket.OPEN);
  await release();
  expect((await busy.until((message) => message.id === 'seal')).payload.data.sealJob.__typename).toBe(
    'SealJobPayload',
  );
  expect(await busy.closed).toBe(1012);
  await closed;
  for (const { messages } of [idle, busy])
    expect(messages.filter((message) => message.id === 'late')).toEqual([]);
});

it('the documented client of graphql-ws that subscribes just then continues with the next server', async () => {
  const port = String(await freePort());
  const server = await startServer(db.url, { JOBTREE_PORT: port });
  const other = await createJob(server.url, { type: 'held' });
  const id = await createJob(server.url, { type: 'followed', sealed: true, items: [{}] });
  const release = await hold(other);
  const busy = await openRaw(server.url);
  busy.send({ type: 'subscribe', id: 'seal', payload: { query: sealing(other) } });
  await lockWaiters(db, 1);

  let closed: Promise<void> | undefined;
  class ClosingSocket extends WebSocket {
    override send(text: any, ...rest: any[]): void {
      if (closed === undefined && String(text).includes('"subscribe"')) closed = server.close();
      (super.send as (...args: unknown[]) => void)(text, ...rest);
    }
  }
  const { code } = await bundle({ main: example('watching.md', 'graphql-ws') }, 'node');
  const { follow } = await import(`data:text/javascript,${encodeURIComponent(code)}`);
  const shown: string[] = [];
  const following: Promise<void> = follow(
    server.url.replace('http', 'ws'),
    id,
    (message: string) => shown.push(message),
    { webSocketImpl: ClosingSocket },
  );
  await eventually(() => expect(closed).toBeDefined());
  await release();
  await closed;
  const next: App = await startServer(db.url, { JOBTREE_PORT: port });
  closers.push(() => next.close());
  await work(next.url, 'followed', 1);
  await following;
  expect(shown.at(-1)).toBe('Job complete');
});
