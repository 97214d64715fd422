/** Many readers of the same: one execution, each reader at its own pace, and nobody misses the end. */
import { once } from 'node:events';
import { connect } from 'node:net';
import { createClient } from 'graphql-ws';
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest';
import { WebSocket } from 'ws';
import { Hub } from '../../src/events/hub.ts';
import type { App } from '../../src/server/create-app.ts';
import { SocketReader } from '../../src/server/sockets/socket-reader.ts';
import { collect, collectSse, createJob, data, stepsIn, subscribe, work } from '../support/api.ts';
import { eventually } from '../support/eventually.ts';
import { lockWaiters } from '../support/locks.ts';
import { startServer } from '../support/server.ts';
import { useDatabase } from '../support/use-server.ts';

const db = useDatabase();
let app: App;
beforeAll(async () => {
  // The sweep stays out of it: tests wait for those who wait for locks.
  app = await startServer(db.url, { JOBTREE_SWEEP_INTERVAL_MS: '60000' });
});
afterEach(() => vi.restoreAllMocks());
afterAll(async () => {
  await app.close();
});

const watchJob = `subscription ($id: ID!, $since: String, $intervalMs: Int) {
  jobProgress(jobId: $id, sinceRevision: $since, intervalMs: $intervalMs) { revision itemProgress status }
}`;
/** Of a job without items. */
const nothing = '00000000-00000000000000';
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

/** A socket that can stop reading. */
async function openSlow() {
  const slow = new WebSocket(app.url.replace('http', 'ws'), 'graphql-transport-ws');
  const messages: any[] = [];
  await once(slow, 'open');
  slow.send('{"type":"connection_init"}');
  await once(slow, 'message');
  slow.on('message', (text) => messages.push(JSON.parse(String(text))));
  const subscribe = (id: string, query: string) =>
    slow.send(JSON.stringify({ type: 'subscribe', id, payload: { query } }));
  return {
    socket: slow,
    subscribe,
    told: (id: string): any[] =>
      messages.flatMap((one) => (one.id === id && one.type === 'next' ? one.payload.data : [])),
    /** What has come of an operation, but for its events. */
    ends: (id: string): string[] =>
      messages.flatMap((one) => (one.id === id && one.type !== 'next' ? one.type : [])),
    /** It stops reading, and as much is on its way to it as may be. */
    fill: async () => {
      const id = await createJob(app.url, { type: 'filler', items: [{ payload: 'x'.repeat(100_000) }] });
      const tell = vi.spyOn(SocketReader.prototype, 'tell');
      slow.pause();
      subscribe('filler', `subscription { jobItems(jobId: "${id}") { items { payload } } }`);
      await eventually(() => expect(tell).toHaveBeenCalled());
    },
  };
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
    expect(revisions).toEqual([...new Set(revisions)].sort());
  }
  expect(watched).toHaveBeenCalledTimes(1);
  await client.dispose();
});

it('an event that equals the one before is not sent again, but the end is', async () => {
  const id = await createJob(app.url, { type: 'equal', items: Array.from({ length: 6 }, () => ({})) });
  const client = socket();
  const query = `subscription ($id: ID!) { jobProgress(jobId: $id, intervalMs: 20) { sealed } }`;
  const told: string[] = [];
  const reading = (async () => {
    for await (const { data } of client.iterate<any>({ query, variables: { id } }))
      told.push(JSON.stringify(data));
  })();
  const counts = client.iterate<any>({ query: watchJob, variables: { id, intervalMs: 20 } });
  await counts.next();
  await eventually(async () => expect(told).toHaveLength(1));
  for (let done = 1; done <= 6; done++) {
    await work(app.url, 'equal', 1);
    while ((await counts.next()).value.data.jobProgress.itemProgress < done);
  }
  await seal(id);
  await reading;
  // What was told at the start, the first change, and the end.
  expect(told.length).toBeLessThanOrEqual(3);
  expect(told.at(-1)).toContain('true');
  await client.dispose();
});

it('a reader that leaves takes nothing from the others, and the last one closes the source', async () => {
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
  await eventually(() => expect(closed).toHaveBeenCalled());
  await client.dispose();
});

describe('sinceRevision', () => {
  it('omits a known first event, and readers with different values share', async () => {
    const id = await createJob(app.url, { type: 'since', items: [{}] });
    const watched = vi.spyOn(Hub.prototype, 'watchJob');
    const client = socket();
    const first = client.iterate<any>({ query: watchJob, variables: { id } });
    const { revision } = (await first.next()).value.data.jobProgress;
    const current = client.iterate<any>({ query: watchJob, variables: { id, since: revision } });
    const behind = client.iterate<any>({ query: watchJob, variables: { id, since: nothing } });
    expect((await behind.next()).value.data.jobProgress.revision).toBe(revision);
    const news = current.next();
    await add(id, 1);
    const next = (await news).value.data.jobProgress.revision;
    expect(next > revision).toBe(true);
    expect(stepsIn(next)).toBe(stepsIn(revision) + 1);
    expect(watched).toHaveBeenCalledTimes(1);
    await client.dispose();
  });

  it('never omits the final state', async () => {
    const id = await createJob(app.url, { type: 'since final', sealed: true });
    const events = await collect(subscribe(app.url, watchJob, { id }));
    const { revision } = events.at(-1).data.jobProgress;
    const again = await collect(subscribe(app.url, watchJob, { id, since: revision }));
    expect(again.map((event) => event.data.jobProgress.status)).toEqual(['COMPLETED']);
  });
});

describe('intervalMs', () => {
  it('merges events within it, except the final state', async () => {
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

it('a reader that stops reading costs the others nothing, and gets the newest state when it reads again', async () => {
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
  const revisions: string[] = [];
  slow.on('message', (text) => {
    const { type, payload } = JSON.parse(String(text));
    if (type === 'next') revisions.push(payload.data.jobTreeProgress.revision);
  });
  await eventually(() => expect(revisions).toHaveLength(1));
  slow.pause();
  const watch = subscribe(app.url, query);
  const healthy = watch[Symbol.asyncIterator]();
  for (let round = 0; round < 3; round++) await work(app.url, 'narrow', width);
  // Each of the jobs has started, and done three items.
  const last = stepsIn(revisions[0] ?? nothing) + 4 * width;
  for (let steps = 0; steps < last; ) {
    steps = stepsIn((await healthy.next()).value.data.jobTreeProgress.revision);
  }
  slow.resume();
  await eventually(() => expect(stepsIn(revisions.at(-1) ?? nothing)).toBe(last));
  expect(revisions).toEqual([...new Set(revisions)].sort());
  slow.close();
  await watch.close();
});

it('a job that is deleted while watched ends the stream', async () => {
  const id = await createJob(app.url, { type: 'deleted', items: [{}] });
  const watching = collect(subscribe(app.url, watchJob, { id }));
  await data(app.url, 'mutation ($id: ID!) { deleteJob(input: { jobId: $id }) { __typename } }', { id });
  await watching;
});

it('operations that differ only in order, defaults or undeclared variables share', async () => {
  const id = await createJob(app.url, { type: 'same', items: [{}] });
  const watched = vi.spyOn(Hub.prototype, 'watchJob');
  const query = `subscription ($id: ID!, $ms: Int = 50) { jobProgress(jobId: $id, intervalMs: $ms) { revision } }`;
  const client = socket();
  for (const variables of [{ id }, { ms: 50, id }, { id, ms: 50 }, { id, other: 'x' }]) {
    const watch = client.iterate<any>({ query, variables });
    expect(stepsIn((await watch.next()).value.data.jobProgress.revision)).toBe(1);
  }
  expect(watched).toHaveBeenCalledTimes(1);
  await client.dispose();
});

it('an invalid sinceRevision is refused, whoever else is watching', async () => {
  const id = await createJob(app.url, { type: 'invalid', items: [{}] });
  const client = socket();
  await client.iterate({ query: watchJob, variables: { id } }).next();
  const [refused] = await collectSse(app.url, watchJob, { id, since: 'abc' });
  expect(refused.errors[0]).toMatchObject({
    message: expect.stringContaining('abc'),
    extensions: { code: 'INVALID_INPUT', field: 'sinceRevision' },
  });
  await client.dispose();
});

it.each([
  'subscription ($id: ID!) { jobProgress(jobId: $id) @skip(if: true) { revision } queues(types: ["none"]) { ready } }',
  'subscription ($id: ID!) { jobProgress(jobId: $id) @skip(if: true) { revision } workAvailable(types: ["none"]) { types } }',
  'subscription ($id: ID!) { ...F } fragment F on Subscription { jobProgress(jobId: $id) { revision } }',
  'subscription ($id: ID!) { jobProgress(jobId: $id) { revision } jobProgress(jobId: $id) { status } }',
])('the root of an operation can have any form: %s', async (query) => {
  const id = await createJob(app.url, { type: 'forms', items: [{}] });
  const watch = subscribe(app.url, query, { id });
  const { value } = await watch[Symbol.asyncIterator]().next();
  expect(value.errors).toBeUndefined();
  expect(Object.values(value.data)).toHaveLength(1);
  await watch.close();
});

describe('a reader that joins while an event is being resolved', () => {
  it('gets it once', async () => {
    const id = await createJob(app.url, { type: 'joining', items: [{}] });
    const query = `subscription { jobItems(jobId: "${id}", intervalMs: 100) { items { retryAt log { text } } } }`;
    const retryAt = (time: string) =>
      db.query('update jobtree.queue_entry set run_at = $2 where job_id = $1', [id.slice(4), time]);
    const client = socket();
    const first = client.iterate<any>({ query });
    await first.next();
    const lock = await db.connect();
    // Which is read for the event, and not to know that there is one.
    await lock.query('begin; lock table jobtree.item_note in access exclusive mode');
    const changed = first.next();
    await retryAt('2100-01-01');
    // The server's reaper comes by each second, and waits too.
    const except = 'reap_trees|delete_reaped';
    await lockWaiters(db, 1, { except });
    const second = client.iterate<any>({ query });
    const joined = second.next();
    await lockWaiters(db, 2, { except });
    await lock.query('commit');
    await lock.end();
    await Promise.all([changed, joined]);
    await retryAt('2100-01-02');
    const next = [await first.next(), await second.next()];
    for (const { value } of next) {
      const [item] = value.data.jobItems.items;
      expect(item.retryAt).toMatch(/^2100-01-02/);
    }
    await client.dispose();
  });
});

it('a socket with many subscriptions is sent no more than it reads', async () => {
  const id = await createJob(app.url, {
    type: 'many',
    children: Array.from({ length: 400 }, () => ({ type: 'one of many', items: [{}] })),
  });
  const slow = new WebSocket(app.url.replace('http', 'ws'), 'graphql-transport-ws');
  await once(slow, 'open');
  slow.send('{"type":"connection_init"}');
  await once(slow, 'message');
  slow.pause();
  const tell = SocketReader.prototype.tell;
  const ready: boolean[] = [];
  const event = vi.spyOn(SocketReader.prototype, 'tell').mockImplementation(function (
    this: SocketReader,
    event,
  ) {
    ready.push(this.isReady);
    tell.call(this, event);
  });
  const query = `subscription { jobTreeProgress(rootId: "${id}") { jobs { jobId status message itemProgress revision sealed } } }`;
  const count = 200;
  for (let i = 0; i < count; i++)
    slow.send(JSON.stringify({ type: 'subscribe', id: String(i), payload: { query } }));
  await eventually(() => expect(event).toHaveBeenCalled());
  slow.resume();
  await eventually(() => expect(event).toHaveBeenCalledTimes(count));
  expect(ready).not.toContain(false);
  slow.close();
});

it('an operation whose id is used again before it has begun leaves nothing behind', async () => {
  const [a, b] = [
    await createJob(app.url, { type: 'ids', items: [{}] }),
    await createJob(app.url, { type: 'ids', items: [{}] }),
  ];
  const watched = vi.spyOn(Hub.prototype, 'watchJob');
  const one = new WebSocket(app.url.replace('http', 'ws'), 'graphql-transport-ws');
  await once(one, 'open');
  one.send('{"type":"connection_init"}');
  await once(one, 'message');
  let events = 0;
  one.on('message', () => events++);
  for (const id of [a, b]) {
    const payload = { query: watchJob, variables: { id } };
    one.send(JSON.stringify({ type: 'subscribe', id: '1', payload }));
    if (id === a) one.send('{"type":"complete","id":"1"}');
  }
  // The first one was left before it had anything to say.
  await eventually(() => expect(events).toBe(1));
  one.close();
  await once(one, 'close');
  await eventually(async () => {
    for (const { value } of watched.mock.results) expect((await value).isClosed).toBe(true);
  });
});

it('an error ends the streams of those who get it, and who subscribes again gets the present state', async () => {
  const id = await createJob(app.url, { type: 'failing', items: [{}] });
  const query = `subscription { jobItems(jobId: "${id}", intervalMs: 100) { items { retryAt job { type } } } }`;
  const client = socket();
  const events = client.iterate<any>({ query });
  await events.next();
  await db.query('alter table jobtree.job rename column type to renamed');
  await db.query(`update jobtree.queue_entry set run_at = '2100-01-01' where job_id = $1`, [
    id.slice('Job:'.length),
  ]);
  const { value: failed } = await events.next();
  await db.query('alter table jobtree.job rename column renamed to type');
  expect(failed.errors[0].extensions.code).toBe('INTERNAL');
  expect((await events.next()).done).toBe(true);
  const { value } = await client.iterate<any>({ query }).next();
  expect(value.data.jobItems.items[0].retryAt).toMatch(/^2100/);
  await client.dispose();
});

it('an event stream whose client vanishes ends', async () => {
  const id = await createJob(app.url, { type: 'vanishing', items: [{}] });
  const watched = vi.spyOn(Hub.prototype, 'watchJob');
  const vanishing = new AbortController();
  const query = `subscription { jobProgress(jobId: "${id}") { revision } }`;
  const response = await fetch(`${app.url}?query=${encodeURIComponent(query)}`, {
    headers: { accept: 'text/event-stream' },
    signal: vanishing.signal,
  });
  await response.body?.getReader().read();
  vanishing.abort();
  const live: any = await watched.mock.results[0]?.value;
  await eventually(() => expect(live.isClosed).toBe(true));
});

it('a reader that missed an event learns what left the page with it', async () => {
  const older = await createJob(app.url, { type: 'left', items: [{}] });
  const newer = await createJob(app.url, { type: 'left', priority: 1, items: [{}] });
  const query = `subscription { jobs(filter: { types: "left", statuses: WAITING }, first: 1, intervalMs: 100) { goneIds jobs { id } } }`;
  const slow = await openSlow();
  slow.subscribe('list', query);
  await eventually(() => expect(slow.told('list')).toMatchObject([{ jobs: { jobs: [{ id: newer }] } }]));
  await slow.fill();
  const events = subscribe(app.url, query);
  const healthy = events[Symbol.asyncIterator]();
  await healthy.next();
  await work(app.url, 'left', 1);
  expect((await healthy.next()).value.data.jobs.goneIds).toEqual([newer]);
  slow.socket.resume();
  await eventually(() => expect(slow.told('list')).toHaveLength(2));
  expect(slow.told('list')[1].jobs).toMatchObject({ goneIds: [newer], jobs: [{ id: older }] });
  slow.socket.close();
  await events.close();
});

it('a reader that is late while a thousand rows leave the page begins again, which costs the others nothing', async () => {
  const query = `subscription { jobs(filter: { types: "many left" }, first: 100, intervalMs: 100) { goneIds jobs { id } } }`;
  const slow = await openSlow();
  slow.subscribe('list', query);
  await eventually(() => expect(slow.told('list')).toHaveLength(1));
  await slow.fill();
  const events = subscribe(app.url, query);
  const healthy = events[Symbol.asyncIterator]();
  await healthy.next();
  const seen = new Set<string>();
  for (let count = 100; count <= 1_200; count += 100) {
    await db.query(`select jobtree.create_job('{"type": "many left"}') from generate_series(1, 100)`);
    await db.query(`select jobtree.wake_workers('many left')`);
    while (seen.size < count) for (const { id } of (await healthy.next()).value.data.jobs.jobs) seen.add(id);
  }
  slow.socket.resume();
  await eventually(() => expect([...slow.told('list'), ...slow.ends('list')]).toHaveLength(2));
  expect(slow.ends('list')).toEqual(['complete']);
  slow.subscribe('again', query);
  await eventually(() => expect(slow.told('again')).toMatchObject([{ jobs: { goneIds: [] } }]));
  expect(slow.told('again')[0].jobs.jobs).toHaveLength(100);
  slow.socket.close();
  await events.close();
});

it.each(['GET', 'pipelined'])(
  'an event stream carries JSON with line breaks between its tokens in one line: %s',
  async (how) => {
    const id = await createJob(app.url, { type: 'lines', items: [{}] });
    const json = '{\r\n  "a": [\n1]\r}';
    await db.query('update jobtree.job_item set payload = $2::json where job_id = $1', [id.slice(4), json]);
    const query = encodeURIComponent(`subscription { jobItems(jobId: "${id}") { items { payload } } }`);
    const { hostname, port } = new URL(app.url);
    const client = connect(Number(port), hostname).setEncoding('utf8');
    const request = `GET /graphql?query=${query} HTTP/1.1\r\nHost: 127.0.0.1\r\nAccept: text/event-stream\r\n\r\n`;
    client.write(how === 'GET' ? request : `GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n${request}`);
    let text = '';
    for await (const chunk of client) {
      text += chunk;
      if (/event: next\ndata: [\s\S]*\n\n/.test(text)) break;
    }
    const [, data = ''] = /event: next\ndata: (.*)\n\n/.exec(text) ?? [];
    expect(JSON.parse(data).data.jobItems.items).toEqual([{ payload: { a: [1] } }]);
  },
);
