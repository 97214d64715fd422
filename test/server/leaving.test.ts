/** What a client has left is over: nothing is read, kept or waited for on its account. */
import { once } from 'node:events';
import { connect } from 'node:net';
import pg from 'pg';
import { afterEach, expect, it, vi } from 'vitest';
import { Hub } from '../../src/events/hub.ts';
import { createJob, data } from '../support/api.ts';
import { eventually } from '../support/eventually.ts';
import { openRaw } from '../support/raw-socket.ts';
import { useServer } from '../support/use-server.ts';

const { app } = useServer();
afterEach(() => {
  vi.restoreAllMocks();
});

it('an event stream whose client leaves before the first event leaves neither reader nor timer', async () => {
  const id = await createJob(app.url, { type: 'left', items: [{}] });
  const watchJob = Hub.prototype.watchJob;
  let asked = () => {};
  const wasAsked = new Promise<void>((resolve) => {
    asked = resolve;
  });
  let goOn = () => {};
  const gone = new Promise<void>((resolve) => {
    goOn = resolve;
  });
  const watched: unknown[] = [];
  vi.spyOn(Hub.prototype, 'watchJob').mockImplementation(async function (this: Hub, ...args) {
    asked();
    await gone;
    const live = await watchJob.apply(this, args);
    watched.push(live);
    return live;
  });
  const { hostname, port } = new URL(app.url);
  const client = connect(Number(port), hostname);
  await once(client, 'connect');
  const query = encodeURIComponent(`subscription { jobProgress(jobId: "${id}") { revision } }`);
  client.write(
    `GET /graphql?query=${query} HTTP/1.1\r\nHost: 127.0.0.1\r\nAccept: text/event-stream\r\n\r\n`,
  );
  await wasAsked;
  client.destroy();
  await once(client, 'close');
  // A round trip, by which the server has heard of it.
  await data(app.url, '{ __typename }');
  goOn();
  await eventually(() => expect(watched).toMatchObject([{ isClosed: true }]));
});

it('hundreds of large watched pages on a socket are no longer read once it has closed', async () => {
  const items = Array.from({ length: 1_000 }, (_, n) => ({ payload: { n, text: 'x'.repeat(2_000) } }));
  const id = await createJob(app.url, { type: 'pages', items });
  const watched: unknown[] = [];
  const { watchPageOfTree } = Hub.prototype;
  vi.spyOn(Hub.prototype, 'watchPageOfTree').mockImplementation(async function (this: Hub, ...args) {
    const page = await watchPageOfTree.apply(this, args);
    if (page !== undefined) watched.push(page);
    return page as never;
  });
  const raw = await openRaw(app.url);
  const query =
    'subscription ($id: ID!, $every: Int) { jobItems(jobId: $id, first: 1000, intervalMs: $every) { items { id payload } } }';
  for (let n = 0; n < 900; n++) {
    raw.send({ type: 'subscribe', id: `${n}`, payload: { query, variables: { id, every: 1_000 + n } } });
  }
  await raw.until(({ type }) => type === 'next');
  raw.socket.terminate();
  await raw.closed;
  // The server first reads what the socket had sent.
  await eventually(() => expect(watched).toMatchObject(watched.map(() => ({ isClosed: true }))));
  const send = vi.spyOn(pg.Client.prototype, 'query');
  for (let n = 0; n < 20; n++) {
    await data(app.url, 'query ($id: ID!) { job(id: $id) { items(first: 1) { nodes { payload } } } }', {
      id,
    });
    const left = `subscription { jobItems(jobId: "${id}", first: ${n + 1}) { items { id } } }`;
    const other = await openRaw(app.url);
    other.send({ type: 'subscribe', id: '1', payload: { query: left } });
    await other.until(({ type }) => type === 'next');
    other.socket.terminate();
  }
  const sent = send.mock.calls.map(([query]) => query as unknown as { name?: string; values?: unknown[] });
  const pages = sent.filter(({ name }) => name?.startsWith('read_item_page/'));
  expect(pages.length).toBeGreaterThanOrEqual(20);
  expect(pages.filter(({ values }) => values?.includes(1_000))).toEqual([]);
});
