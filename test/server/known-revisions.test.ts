/** Nobody is told an older state than the one that it knows: of a server that lags, or of one that has told others less. */
import { createClient } from 'graphql-ws';
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest';
import { WebSocket } from 'ws';
import { Hub } from '../../src/events/hub.ts';
import type { App } from '../../src/server/create-app.ts';
import { createJob, data, stepsIn, subscribe, type Watch, work } from '../support/api.ts';
import { eventually } from '../support/eventually.ts';
import { lockWaiters } from '../support/locks.ts';
import { startProxy, type TcpProxy } from '../support/proxy.ts';
import { startServer } from '../support/server.ts';
import { useDatabase } from '../support/use-server.ts';

const db = useDatabase();
let app: App;
/** Hears nothing from Postgres while the proxy swallows it; reads as the other one does. */
let lagging: App;
let proxy: TcpProxy;
beforeAll(async () => {
  proxy = await startProxy(db.url);
  const quiet = { JOBTREE_SWEEP_INTERVAL_MS: '60000' };
  app = await startServer(db.url, quiet);
  lagging = await startServer(db.url, {
    ...quiet,
    DATABASE_URL: db.url,
    JOBTREE_DIRECT_DATABASE_URL: proxy.url,
  });
});
afterEach(() => void vi.restoreAllMocks());
afterAll(async () => {
  await Promise.all([app.close(), lagging.close()]);
  await proxy.close();
});

const watchJob = `subscription ($id: ID!, $since: String, $intervalMs: Int) {
  jobProgress(jobId: $id, sinceRevision: $since, intervalMs: $intervalMs) { revision itemProgress status }
}`;
const watchTree = `subscription ($id: ID!, $since: String, $intervalMs: Int) {
  jobTreeProgress(rootId: $id, sinceRevision: $since, intervalMs: $intervalMs) { revision complete jobs { revision status } }
}`;
/** Told alone, since a fragment may hold anything. */
const watchApart = `subscription ($id: ID!, $since: String, $intervalMs: Int) { ...Apart }
fragment Apart on Subscription {
  jobProgress(jobId: $id, sinceRevision: $since, intervalMs: $intervalMs) { revision status }
}`;
const watchItems = `subscription ($id: ID!) {
  jobItems(jobId: $id, intervalMs: 2000) { goneIds items { payload status } }
}`;

const seal = (id: string) =>
  data(app.url, 'mutation ($id: ID!) { sealJob(input: { jobId: $id }) { __typename } }', { id });
/** Once the job is so far. */
async function revisionOf(id: string, steps: number): Promise<string> {
  const query = 'query ($id: ID!) { job(id: $id) { progress { revision } } }';
  const read = async () => (await data(app.url, query, { id })).job.progress.revision;
  await expect.poll(async () => stepsIn(await read())).toBe(steps);
  return read();
}
const told = (event: any) => Object.values<any>(event.value.data)[0];

async function rest(events: AsyncIterator<any>): Promise<any[]> {
  const all = [];
  for (let event = await events.next(); !event.done; event = await events.next()) all.push(told(event));
  return all;
}

describe.each([
  ['jobProgress', watchJob],
  ['jobTreeProgress', watchTree],
  ['jobProgress in a fragment', watchApart],
])('%s', (name, query) => {
  it('omits states that its reader knows, even if others know less', async () => {
    const type = `known ${name}`;
    const id = await createJob(app.url, { type, items: [{}, {}] });
    const intervalMs = 60_000;
    const other = subscribe(app.url, query, { id, intervalMs });
    const others = other[Symbol.asyncIterator]();
    const { revision: before } = told(await others.next());
    await work(app.url, type, 1);
    const since = await revisionOf(id, stepsIn(before) + 2);
    const watch = subscribe(app.url, query, { id, since, intervalMs });
    const events = rest(watch[Symbol.asyncIterator]());
    await work(app.url, type, 1);
    await seal(id);
    const all = await events;
    for (const { revision } of all) expect(revision > since).toBe(true);
    expect(all.at(-1).status ?? all.at(-1).jobs[0].status).toBe('COMPLETED');
    await Promise.all([watch.close(), other.close()]);
  });

  it('on a server that lags is read again, and newer states are sent', async () => {
    const type = `lagging ${name}`;
    const id = await createJob(app.url, { type, items: [{}, {}, {}] });
    const watches: Watch[] = [];
    const watch = (variables: Record<string, unknown>) => {
      const started = subscribe(lagging.url, query, { id, intervalMs: 20, ...variables });
      watches.push(started);
      return started[Symbol.asyncIterator]();
    };
    const behind = watch({ since: null });
    const { revision: old } = told(await behind.next());
    proxy.swallowAnswers();
    await work(app.url, type, 1);
    const since = await revisionOf(id, stepsIn(old) + 2);
    await work(app.url, type, 1);
    const newest = await revisionOf(id, stepsIn(old) + 3);
    const startedAt = performance.now();
    const { revision } = told(await watch({ since }).next());
    expect(revision).toBe(newest);
    // What is silent is read after five seconds anyway.
    expect(performance.now() - startedAt).toBeLessThan(4_000);
    proxy.mend();
    await Promise.all(watches.map((watch) => watch.close()));
  });
});

it('a reader that joins others on a page gets the newest page, and all later changes', async () => {
  const id = await createJob(app.url, {
    type: 'joined',
    sealed: true,
    items: [{ payload: 1 }, { payload: 2 }],
  });
  const client = createClient({
    url: app.url.replace('http', 'ws'),
    webSocketImpl: WebSocket,
    retryAttempts: 0,
    lazy: false,
  });
  const first = client.iterate<any>({ query: watchItems, variables: { id } });
  const statuses = (event: any) => told(event).items.map(({ status }: { status: string }) => status);
  expect(statuses(await first.next())).toEqual(['READY', 'READY']);
  await work(app.url, 'joined', 1);
  const second = client.iterate<any>({ query: watchItems, variables: { id } });
  expect(statuses(await second.next())).toEqual(['SUCCEEDED', 'READY']);
  await work(app.url, 'joined', 1);
  for (const reader of [first, second]) {
    const state = new Map<number, string>();
    for (const { items } of await rest(reader)) {
      for (const { payload, status } of items) state.set(payload, status);
    }
    expect(state.get(2)).toBe('SUCCEEDED');
  }
  await client.dispose();
});

it('an event stream whose client leaves before the first event leaves nothing behind', async () => {
  const id = await createJob(app.url, { type: 'hasty', items: [{}] });
  const watched = vi.spyOn(Hub.prototype, 'watchJob');
  const lock = await db.connect();
  await lock.query('begin; lock table jobtree.job in access exclusive mode');
  const leaving = new AbortController();
  const query = `subscription { jobProgress(jobId: "${id}") { revision } }`;
  const answer = fetch(`${lagging.url}?query=${encodeURIComponent(query)}`, {
    headers: { accept: 'text/event-stream' },
    signal: leaving.signal,
  });
  await lockWaiters(db, 1);
  leaving.abort();
  await expect(answer).rejects.toThrow();
  await lock.query('commit');
  await lock.end();
  await eventually(async () => expect((await watched.mock.results[0]?.value)?.isClosed).toBe(true));
});

it('operations with the same text share, though each was parsed on its own', async () => {
  const id = await createJob(app.url, { type: 'long', items: [{}] });
  const watched = vi.spyOn(Hub.prototype, 'watchJob');
  // Longer than what is kept parsed.
  const query = `subscription ($id: ID!) { jobProgress(jobId: $id) { revision } } ${'# '.padEnd(5_000, 'x')}`;
  const watches = Array.from({ length: 3 }, () => subscribe(app.url, query, { id }));
  for (const watch of watches) await watch[Symbol.asyncIterator]().next();
  expect(watched).toHaveBeenCalledTimes(1);
  await Promise.all(watches.map((watch) => watch.close()));
});
