/** Figures and workers by the API, and the examples of docs/figures.md as they stand there. */
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { get } from 'node:http';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import pg from 'pg';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { PermanentError, Worker } from '../../src/client/index.ts';
import { createJob, data, request, subscribe, work } from '../support/api.ts';
import { bundle } from '../support/bundle.ts';
import { example } from '../support/documentation.ts';
import { startServer } from '../support/server.ts';
import { useServer } from '../support/use-server.ts';

const root = fileURLToPath(new URL('../../', import.meta.url));
const { db, app, client } = useServer({ JOBTREE_METRICS_TYPES: '3' });

const metricsOf = async (url: string) => (await fetch(new URL('/metrics', url))).text();
/** The value of a metric; of a type, if it is named. */
const metricOf = (text: string, name: string, type?: string) => {
  const labels = type === undefined ? '' : `{type="${type}"}`;
  const line = text.split('\n').find((one) => one.startsWith(`${name}${labels} `));
  return line === undefined ? undefined : Number(line.split(' ').at(-1));
};

function startWorker(type: string, options: { name: string; version?: string; url?: string }): Worker {
  const handler = async (payload: unknown) => {
    if (payload === 'bad') throw new PermanentError('no');
    if (payload === 'long') await new Promise(() => {});
    return null;
  };
  const worker = new Worker({
    url: app.url,
    types: { [type]: { concurrency: 4, handler } },
    stopTimeoutMs: 0,
    ...options,
  });
  onTestFinished(() => worker.stop());
  void worker.start();
  return worker;
}

it('the documented examples work in GraphQL, in TypeScript and in SQL', async () => {
  await client.createJob({
    type: 'sendMail',
    items: ['a', 'b', 'bad', 'long', 'c'].map((payload) => ({ payload })),
  });
  startWorker('sendMail', { name: 'mailer 1', version: '4f2c' });
  const query = example('figures.md', 'figures-graphql');
  await expect
    .poll(async () => (await data(app.url, query)).queue.figures)
    .toMatchObject({
      claimed: 5,
      succeeded: 3,
      failed: 1,
      lost: 0,
      dead: 1,
      deadRate: 0.25,
    });
  const { queue } = await data(app.url, query);
  expect(queue).toMatchObject({ ready: 0, running: 1, oldestReadyMs: null, slow: 0, slowAfterMs: null });
  expect(queue.figures.perSecond).toBeGreaterThan(0);
  expect(queue.figures.wait.p99Ms).toBeGreaterThanOrEqual(queue.figures.wait.p50Ms);
  expect(queue.history).toHaveLength(288);
  expect(
    queue.history.at(-1).processing.p95Ms + queue.history.at(-2).processing.p95Ms,
  ).toBeGreaterThanOrEqual(0);

  const watch = subscribe(app.url, example('figures.md', 'figures-live'));
  const { value } = await watch[Symbol.asyncIterator]().next();
  expect(value.data.live.queueTotal).toMatchObject({ typeCount: 1, running: 1, history: { length: 48 } });
  await watch.close();

  await db.query(
    `update jobtree.lease set claimed_at = claimed_at - interval '1 minute' where check_at is not null`,
  );
  expect((await data(app.url, example('figures.md', 'held-items'))).heldItems).toEqual([]);
  const all = 'query { heldItems { type worker slow heldMs item { status payload assignment { slow } } } }';
  expect((await data(app.url, all)).heldItems).toMatchObject([
    {
      type: 'sendMail',
      worker: 'mailer 1',
      slow: false,
      item: { status: 'RUNNING', payload: 'long', assignment: { slow: false } },
    },
  ]);
  expect(await data(app.url, example('figures.md', 'workers'))).toMatchObject({
    workers: [{ name: 'mailer 1', version: '4f2c', types: [{ type: 'sendMail', concurrency: 4, holds: 1 }] }],
  });

  const log = vi.spyOn(console, 'log').mockImplementation(() => {});
  const code = `export async function act(client) {\n${example('figures.md', 'figures-ts')}\nreturn { slowest, workers }; }`;
  const { code: bundled } = await bundle({ main: code }, 'node');
  const { act } = await import(`data:text/javascript,${encodeURIComponent(bundled)}`);
  expect(await act(client)).toMatchObject({ slowest: undefined, workers: [{ name: 'mailer 1' }] });
  expect(log.mock.calls).toContainEqual(['sendMail', 0, 0, expect.any(Number), expect.any(Number)]);

  const [lines = '', sum = ''] = example('figures.md', 'autoscaler-sql').split('\n');
  expect(await db.query(lines)).toMatchObject([{ type: 'sendMail', ready: '0', running: '1' }]);
  expect(await db.query(sum)).toEqual([{ coalesce: '1' }]);
  for (const text of [
    example('figures.md', 'keda'),
    readFileSync(`${root}deploy/kubernetes/keda.yml`, 'utf8'),
  ])
    expect(text).toContain(sum.replace(';', ''));
});

describe('GET /metrics', () => {
  it('has counters, histograms and gauges with help texts, for a limited number of types', async () => {
    for (const type of ['one', 'two', 'three', 'four']) {
      await client.createJob({ type, items: [{ payload: type }, { payload: 'bad' }] });
      startWorker(type, { name: `worker of ${type}` });
      await expect
        .poll(async () => (await client.queues.figures({ types: [type] }))[0]?.figures.succeeded)
        .toBe(1);
    }
    await metricsOf(app.url);
    await client.createJob({ type: 'five', items: [{}, {}], priority: 1 });
    const text = await metricsOf(app.url);
    const types = [...text.matchAll(/^jobtree_items_succeeded_total\{type="(.*)"\}/gm)].map(
      ([, type]) => type,
    );
    expect(types).toHaveLength(4);
    expect(types).toContain('other');
    expect(metricOf(text, 'jobtree_items_ready', 'other')).toBe(2);
    const page = readFileSync(`${root}docs/figures.md`, 'utf8');
    for (const [, name = ''] of text.matchAll(/^# TYPE (\S+)/gm)) {
      expect(text).toContain(`# HELP ${name} `);
      const documented = page.includes(`\`${name}\``) || page.includes(`\`_${name.split('_').at(-1)}\``);
      expect({ name, documented: documented || !name.startsWith('jobtree_') }).toEqual({
        name,
        documented: true,
      });
    }
    for (const kind of ['wait', 'processing']) {
      const counts = [
        ...text.matchAll(
          new RegExp(`^jobtree_item_${kind}_seconds_bucket{type="other",le="(.*)"} (.*)$`, 'gm'),
        ),
      ];
      expect(counts.map(([, bound]) => bound).slice(-2)).toEqual(['4194.304', '+Inf']);
      const values = counts.map(([, , count]) => Number(count));
      expect(values).toEqual(values.toSorted((a, b) => a - b));
      expect(values.at(-1)).toBe(metricOf(text, `jobtree_item_${kind}_seconds_count`, 'other'));
    }
    expect(metricOf(text, 'jobtree_workers_connected')).toBeGreaterThanOrEqual(4);
    expect(metricOf(text, 'jobtree_database_up')).toBe(1);
    expect(metricOf(text, 'process_resident_memory_bytes')).toBeGreaterThan(10_000_000);
  });

  it('is off if the settings say so, and accepts only GET', async () => {
    const other = await startServer(db.url, { JOBTREE_METRICS: 'false' });
    onTestFinished(() => other.close());
    expect((await fetch(new URL('/metrics', other.url))).status).toBe(404);
    expect((await fetch(new URL('/metrics', app.url), { method: 'PUT' })).status).toBe(405);
    expect(
      (await fetch(new URL('/metrics', app.url), { headers: { origin: 'https://evil.example' } })).status,
    ).toBe(403);
  });

  it('begins the counters of a new type with 0, so that its first burst is an increase', async () => {
    const own = await startServer(db.url);
    onTestFinished(() => own.close());
    await metricsOf(own.url);
    await createJob(own.url, { type: 'first burst', items: Array.from({ length: 40 }, () => ({})) });
    await work(own.url, 'first burst', 40);
    const counted = async () =>
      /^jobtree_items_succeeded_total\{type="first burst"\} (\d+)$/m.exec(await metricsOf(own.url))?.[1];
    expect([await counted(), await counted()]).toEqual(['0', '40']);
  });

  it('begins them with 0 for each Prometheus', async () => {
    const own = await startServer(db.url);
    onTestFinished(() => own.close());
    const scrape = async (localAddress: string) => {
      const asked = get(new URL('/metrics', own.url), { localAddress, agent: false });
      const [response] = await once(asked, 'response');
      return await text(response);
    };
    const addresses = ['127.0.0.1', '127.0.0.2'];
    for (const address of addresses) await scrape(address);
    await createJob(own.url, { type: 'seen twice', items: [{}, {}] });
    await work(own.url, 'seen twice', 2);
    for (const count of ['0', '2'])
      for (const address of addresses)
        expect(await scrape(address)).toContain(
          `jobtree_items_succeeded_total{type="seen twice"} ${count}\n`,
        );
  });
});

it('a server that shuts down saves its figures, and another one shows them and its workers', async () => {
  const [one, other] = [await startServer(db.url), await startServer(db.url)];
  onTestFinished(() => other.close());
  await client.createJob({ type: 'moved', items: [{}, {}, {}] });
  const worker = startWorker('moved', { name: 'mover', url: one.url });
  const figures = 'query { queue(type: "moved") { figures { succeeded } } }';
  await expect.poll(async () => (await data(one.url, figures)).queue.figures.succeeded).toBe(3);
  expect((await data(other.url, figures)).queue.figures.succeeded).toBe(0);
  await worker.stop();
  await one.close();
  expect((await data(other.url, figures)).queue.figures.succeeded).toBe(3);
});

it('a worker is listed while it is connected, and one that only claims while it holds items', async () => {
  const names = async () => {
    const { workers } = await data(
      app.url,
      'query { workers(types: ["seen"]) { name connectedAt types { concurrency holds } } }',
    );
    return workers;
  };
  const hints =
    'subscription ($worker: WorkerInput!) { workAvailable(types: ["seen"], worker: $worker) { types } }';
  const watch = subscribe(app.url, hints, { worker: { name: 'by hand' } });
  await watch[Symbol.asyncIterator]().next();
  expect(await names()).toMatchObject([
    { name: 'by hand', connectedAt: expect.any(String), types: [{ concurrency: null, holds: 0 }] },
  ]);
  await client.createJob({ type: 'seen', items: [{}] });
  const claim =
    'mutation { claimItems(input: { worker: "claimer", requests: [{ type: "seen", limit: 1 }] }) { __typename } }';
  await data(app.url, claim);
  expect(await names()).toMatchObject([
    { name: 'by hand' },
    { name: 'claimer', connectedAt: null, types: [{ concurrency: null, holds: 1 }] },
  ]);
  await watch.close();
  await expect
    .poll(async () => (await names()).map(({ name }: { name: string }) => name))
    .toEqual(['claimer']);
});

it.each([
  ['{ queue(type: "x") { figures(lastMinutes: 0) { claimed } } }', 'lastMinutes'],
  ['{ queue(type: "x") { figures(lastMinutes: 1441) { claimed } } }', 'lastMinutes'],
  ['{ queue(type: "x") { history(stepMinutes: 61) { claimed } } }', 'stepMinutes'],
  ['{ queue(type: "x") { history(lastMinutes: 2881, stepMinutes: 60) { claimed } } }', 'lastMinutes'],
  ['{ queue(type: "x") { history(lastMinutes: 2880) { claimed } } }', 'stepMinutes'],
  ['{ queueTotal { history(lastMinutes: 2881, stepMinutes: 60) { claimed } } }', 'lastMinutes'],
  ['{ queueTotal(types: []) { ready } }', 'types'],
  ['{ queueTotal(nameContains: "") { ready } }', 'nameContains'],
  ['{ queues(nameContains: "") { ready } }', 'nameContains'],
  ['{ queue(type: "") { figures { claimed } } }', 'type'],
  ['{ heldItems(first: 1001) { type } }', 'first'],
  ['{ heldItems(workers: []) { type } }', 'workers'],
  ['{ workers(first: -1) { name } }', 'first'],
])('%s is refused for %s', async (query, field) => {
  const { errors } = await request(app.url, query);
  expect(errors?.[0]?.extensions).toMatchObject({ code: 'INVALID_INPUT', field });
});

it.each([
  '{ queues { history(lastMinutes: 1440) { claimed } } }',
  `query { queueTotal(types: ${JSON.stringify(Array.from({ length: 1_000 }, (_, i) => `type ${i}`))}) { history(lastMinutes: 1440) { claimed } } }`,
])('a history of very many queues exceeds the cost limit: %.60s', async (query) => {
  const { errors } = await request(app.url, query);
  expect(errors?.[0]?.extensions).toMatchObject({ code: 'LIMIT_EXCEEDED' });
});

it('all types together have figures, a history for as long as it is kept, and buckets of their durations', async () => {
  const before = await data(app.url, '{ queueTotal { figures { succeeded } } }');
  const types = ['summed one', 'summed two'];
  for (const type of types) {
    await createJob(app.url, { type, items: [{}, {}, {}] });
    await work(app.url, type, 2);
  }
  const { all, ours } = await data(
    app.url,
    `query ($types: [String!]) {
      all: queueTotal { figures { succeeded } history(lastMinutes: 2880, stepMinutes: 60) { from until succeeded } }
      ours: queueTotal(types: $types) {
        typeCount ready oldestReadyMs
        figures { claimed wait { count buckets { fromMs count } } }
        history(stepMinutes: 60) { succeeded processing { count buckets { count } } }
      }
    }`,
    { types },
  );
  const sumOf = (counts: readonly { count: number }[]) => counts.reduce((sum, { count }) => sum + count, 0);
  expect(all.figures.succeeded).toBe(before.queueTotal.figures.succeeded + 4);
  expect(all.history).toHaveLength(48);
  expect(ours).toMatchObject({ typeCount: 2, ready: 2, oldestReadyMs: expect.any(Number) });
  expect(ours.figures).toMatchObject({ claimed: 4, wait: { count: 4 } });
  expect(sumOf(ours.figures.wait.buckets)).toBe(4);
  for (const { fromMs } of ours.figures.wait.buckets)
    expect(fromMs === 0 || Number.isInteger(Math.log2(fromMs))).toBe(true);
  expect(ours.history.at(-1)).toMatchObject({ succeeded: 4, processing: { count: 4 } });
  expect(sumOf(ours.history.at(-1).processing.buckets)).toBe(4);
});

it('figures are events: of a type and of all together, read once an interval however many watch', async () => {
  const text =
    'subscription { live { queueTotal(nameContains: "watched") { running figures { succeeded } } queues(types: ["watched"]) { figures { succeeded } } } }';
  const watches = Array.from({ length: 20 }, () => subscribe(app.url, text));
  const events = watches.map((watch) => watch[Symbol.asyncIterator]());
  await Promise.all(events.map((one) => one.next()));
  const startedAt = performance.now();
  const query = vi.spyOn(pg.Client.prototype, 'query');
  onTestFinished(() => query.mockRestore());
  await createJob(app.url, { type: 'watched', items: [{}, {}] });
  await work(app.url, 'watched', 2);
  for (const one of events)
    for (;;) {
      // They are read one after the other, so one may know of more.
      const { queueTotal, queues } = (await one.next()).value.data.live;
      if (queueTotal.figures.succeeded === 2 && queues[0]?.figures.succeeded === 2) break;
    }
  const names = query.mock.calls.map(([statement]) => (statement as { name?: string }).name);
  const reads = names.filter((name) => name?.startsWith('read_queue_total')).length;
  expect(reads).toBeGreaterThan(0);
  expect(reads).toBeLessThanOrEqual(1 + Math.ceil((performance.now() - startedAt) / 1_000));
  await Promise.all(watches.map((watch) => watch.close()));
});
