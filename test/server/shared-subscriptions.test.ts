/** Many readers of the same: one execution, each reader at its own pace, and nobody misses the end. */
import { once } from 'node:events';
import { createClient } from 'graphql-ws';
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest';
import { WebSocket } from 'ws';
import { Hub } from '../../src/events/hub.ts';
import type { App } from '../../src/server/create-app.ts';
import { collect, collectSse, createJob, data, subscribe, work } from '../support/api.ts';
import { createDatabase, type TestDatabase } from '../support/database.ts';
import { startServer } from '../support/server.ts';

let db: TestDatabase;
let app: App;
beforeAll(async () => {
  db = await createDatabase();
  app = await startServer(db.url);
});
afterEach(() => vi.restoreAllMocks());
afterAll(async () => {
  await app.close();
  await db.drop();
});

const watchJob = `subscription ($id: ID!, $since: Int, $intervalMs: Int) {
  jobProgress(jobId: $id, sinceRevision: $since, intervalMs: $intervalMs) { revision itemProgress status }
}`;
const seal = (id: string) =>
  data(app.url, 'mutation ($id: ID!) { sealJob(input: { jobId: $id }) { __typename } }', { id });
const add = (id: string, count: number) =>
  data(app.url, 'mutation ($input: AddItemsInput!) { addItems(input: $input) { __typename } }', {
    input: { jobId: id, items: Array.from({ length: count }, () => ({})) },
  });

/** A socket that many operations share. */
function socket() {
  const client = createClient({
    url: app.url.replace('http', 'ws'),
    webSocketImpl: WebSocket,
    retryAttempts: 0,
    lazy: false,
  });
  return client;
}

it('readers of the same operation share its source, over WebSocket and server-sent events', async () => {
  const id = await createJob(app.url, { type: 'shared', items: [{}, {}] });
  const watched = vi.spyOn(Hub.prototype, 'watchJob');
  const client = socket();
  const variables = { id };
  const readers = Array.from({ length: 20 }, () => client.iterate<any>({ query: watchJob, variables }));
  for (const reader of readers) expect((await reader.next()).value.data.jobProgress.itemProgress).toBe(0);
  const streams = Array.from({ length: 5 }, () => collectSse(app.url, watchJob, variables));
  await work(app.url, 'shared', 2);
  await seal(id);
  const ends = await Promise.all([
    ...streams,
    ...readers.map(async (reader) => {
      const events: any[] = [];
      for await (const event of reader) events.push(event);
      return events;
    }),
  ]);
  for (const events of ends) {
    expect(events.at(-1).data.jobProgress).toMatchObject({ itemProgress: 2, status: 'COMPLETED' });
    const revisions = events.map((event) => event.data.jobProgress.revision);
    expect(revisions).toEqual([...new Set(revisions)].sort((a, b) => a - b));
  }
  expect(watched).toHaveBeenCalledTimes(1);
  await client.dispose();
});

it('one reader that leaves takes nothing from the others; the last one closes the source', async () => {
  const id = await createJob(app.url, { type: 'leaving', items: [{}] });
  const watched = vi.spyOn(Hub.prototype, 'watchJob');
  const client = socket();
  const [a, b] = [0, 1].map(() => client.iterate<any>({ query: watchJob, variables: { id } }));
  await Promise.all([a?.next(), b?.next()]);
  const live = await watched.mock.results[0]?.value;
  const closed = vi.spyOn(live, 'return');
  await a?.return?.();
  await work(app.url, 'leaving', 1);
  expect((await b?.next())?.value.data.jobProgress.status).toBe('RUNNING');
  expect(closed).not.toHaveBeenCalled();
  await b?.return?.();
  await vi.waitFor(() => expect(closed).toHaveBeenCalled());
  await client.dispose();
});

describe('sinceRevision', () => {
  it('leaves out a first event that is known, and readers with different ones share', async () => {
    const id = await createJob(app.url, { type: 'since', items: [{}] });
    const watched = vi.spyOn(Hub.prototype, 'watchJob');
    const client = socket();
    const first = client.iterate<any>({ query: watchJob, variables: { id } });
    const { revision } = (await first.next()).value.data.jobProgress;
    const current = client.iterate<any>({ query: watchJob, variables: { id, since: revision } });
    const behind = client.iterate<any>({ query: watchJob, variables: { id, since: revision - 1 } });
    expect((await behind.next()).value.data.jobProgress.revision).toBe(revision);
    const news = current.next();
    await add(id, 1);
    expect((await news).value.data.jobProgress.revision).toBe(revision + 1);
    expect(watched).toHaveBeenCalledTimes(1);
    await client.dispose();
  });

  it('never leaves out the final state', async () => {
    const id = await createJob(app.url, { type: 'since final', sealed: true });
    const events = await collect(subscribe(app.url, watchJob, { id }));
    const { revision } = events.at(-1).data.jobProgress;
    const again = await collect(subscribe(app.url, watchJob, { id, since: revision }));
    expect(again.map((event) => event.data.jobProgress.status)).toEqual(['COMPLETED']);
  });
});

describe('intervalMs', () => {
  it('merges what comes within it, but not the final state', async () => {
    const id = await createJob(app.url, { type: 'paced', items: [{}] });
    const watch = subscribe(app.url, watchJob, { id, intervalMs: 60_000 });
    const events = watch[Symbol.asyncIterator]();
    expect((await events.next()).value.data.jobProgress.itemProgress).toBe(0);
    await work(app.url, 'paced', 1);
    await add(id, 1);
    await work(app.url, 'paced', 1);
    await seal(id);
    expect((await events.next()).value.data.jobProgress).toMatchObject({
      itemProgress: 2,
      status: 'COMPLETED',
    });
    expect((await events.next()).done).toBe(true);
    await watch.close();
  });

  it.each([19, 60_001])('of %i is refused', async (intervalMs) => {
    const id = await createJob(app.url, { type: 'paced', items: [{}] });
    const [refused] = await collectSse(app.url, watchJob, { id, intervalMs });
    expect(refused.errors[0].extensions).toMatchObject({ code: 'INVALID_INPUT', field: 'intervalMs' });
  });
});

it('a reader that stops reading costs the others nothing, and has the newest state when it reads again', async () => {
  const width = 400;
  const id = await createJob(app.url, {
    type: 'wide',
    items: [{}],
    children: Array.from({ length: width }, () => ({ type: 'narrow', items: [{}, {}, {}] })),
  });
  const query = `subscription { jobTreeProgress(rootId: "${id}", intervalMs: 20) { revision jobs { jobId message itemProgress revision } } }`;
  const slow = new WebSocket(app.url.replace('http', 'ws'), 'graphql-transport-ws');
  await once(slow, 'open');
  slow.send('{"type":"connection_init"}');
  await once(slow, 'message');
  slow.send(JSON.stringify({ type: 'subscribe', id: '1', payload: { query } }));
  const revisions: number[] = [];
  slow.on('message', (text) => {
    const { type, payload } = JSON.parse(String(text));
    if (type === 'next') revisions.push(payload.data.jobTreeProgress.revision);
  });
  await vi.waitFor(() => expect(revisions).toHaveLength(1));
  slow.pause();
  const watch = subscribe(app.url, query);
  const healthy = watch[Symbol.asyncIterator]();
  for (let round = 0; round < 3; round++) await work(app.url, 'narrow', width);
  // Each of the jobs has started, and done three items.
  const last = (revisions[0] ?? 0) + 4 * width;
  for (let revision = 0; revision < last; ) {
    revision = (await healthy.next()).value.data.jobTreeProgress.revision;
  }
  slow.resume();
  await vi.waitFor(() => expect(revisions.at(-1)).toBe(last), { timeout: 10_000 });
  expect(revisions).toEqual([...new Set(revisions)].sort((a, b) => a - b));
  slow.close();
  await watch.close();
}, 60_000);

it('a job that is deleted while it is watched ends the stream', async () => {
  const id = await createJob(app.url, { type: 'deleted', items: [{}] });
  const watching = collect(subscribe(app.url, watchJob, { id }));
  await data(app.url, 'mutation ($id: ID!) { deleteJob(input: { jobId: $id }) { __typename } }', { id });
  await watching;
});
