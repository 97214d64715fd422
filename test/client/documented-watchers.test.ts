/**
 * The very code of docs/watching.md, and the client's own watches, while servers change, lag and refuse: nobody is shown a step
 * back, nobody gives up, and the pauses stay short.
 */
import { randomBytes } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import pg from 'pg';
import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, inject, it, onTestFinished, vi } from 'vitest';
import { WebSocket } from 'ws';
import { createClient, watchJob } from '../../src/client/index.ts';
import { Hub } from '../../src/events/hub.ts';
import type { App } from '../../src/server/create-app.ts';
import { createJob, request, work } from '../support/api.ts';
import { launchBrowser, withoutBrowser } from '../support/browser.ts';
import { bundle } from '../support/bundle.ts';
import { example, watchingExample } from '../support/documentation.ts';
import { eventually } from '../support/eventually.ts';
import { startProxy, type TcpProxy } from '../support/proxy.ts';
import { startServer } from '../support/server.ts';
import { useDatabase } from '../support/use-server.ts';

const types = ['graphql-ws', 'graphql-sse', 'event-source', 'client', 'tree', 'watchJob'] as const;
type Name = (typeof types)[number];

/** How often each is refused on average. With 8, pauses that double without end would take minutes. */
const refusals = Number(process.env.WATCH_REFUSALS ?? 2);

const database = useDatabase();
/** What it was a while ago, as a standby that lags would have it. */
let older: { url: string; drop(): Promise<void> };
let postgres: TcpProxy;
let server: App;
let lagging: App;
/** Before one of the servers. */
let balancer: TcpProxy;
let browser: Browser | undefined;
const jobs = new Map<Name, string>();

beforeAll(async () => {
  const first = await startServer(database.url);
  for (const type of types) {
    jobs.set(type, await createJob(first.url, { type, sealed: true, items: Array(10).fill({}) }));
    await work(first.url, type, 2);
  }
  await first.close();
  older = await copy(database.url);
  postgres = await startProxy(database.url);
  server = await startServer(postgres.url);
  lagging = await startServer(older.url);
  balancer = await startProxy(server.url);
  if (!withoutBrowser) browser = await launchBrowser();
});
afterAll(async () => {
  await browser?.close();
  await balancer?.close();
  await lagging?.close();
  await server?.close();
  await postgres?.close();
  await older?.drop();
});

async function copy(url: string): Promise<typeof older> {
  const name = `test_${randomBytes(6).toString('hex')}`;
  const admin = async (text: string) => {
    const client = new pg.Client({ connectionString: inject('postgresUrl') });
    await client.connect();
    await client.query(text).finally(() => client.end());
  };
  // Postgres needs a moment to notice that the sessions of the server have ended.
  await eventually(() => admin(`create database ${name} template ${new URL(url).pathname.slice(1)}`));
  const copied = new URL(url);
  copied.pathname = `/${name}`;
  return { url: copied.href, drop: () => admin(`drop database ${name} with (force)`) };
}

interface Watching {
  /** Percentages, in the order in which they were shown. */
  readonly shown: (number | null)[];
  readonly ended: Promise<unknown>;
}

/** Follows the job of that name through the load balancer. */
async function follow(name: Name, jobId = jobs.get(name) ?? ''): Promise<Watching> {
  const shown: (number | null)[] = [];
  const { url } = balancer;
  const show = (_: string, percent: number | null) => void shown.push(percent);
  const showAll = async (states: AsyncIterable<{ percent?: number | null } | undefined>) => {
    for await (const state of states) shown.push(state?.percent ?? null);
  };
  if (name === 'watchJob') return { shown, ended: showAll(watchJob(jobId, { url })) };
  if (name === 'client' || name === 'tree') {
    const client = createClient({ url });
    onTestFinished(() => client.close());
    if (name === 'client') return { shown, ended: showAll(client.watchJob(jobId)) };
    const states = async function* () {
      for await (const { jobs } of client.watchTree(jobId)) yield jobs[0];
    };
    return { shown, ended: showAll(states()) };
  }
  if (name === 'event-source') return followInPage(jobId);
  const { code } = await bundle({ main: watchingExample(name) }, 'node');
  const { follow } = await import(`data:text/javascript,${encodeURIComponent(code)}`);
  const address = name === 'graphql-ws' ? url.replace('http', 'ws') : url;
  return { shown, ended: follow(address, jobId, show, { webSocketImpl: WebSocket }) };
}

/** Resolves when the page is there, which it would not be behind a load balancer that is cut. */
async function followInPage(jobId: string): Promise<Watching> {
  const page = await browser?.newPage();
  if (page === undefined) throw new Error('There is no browser.');
  onTestFinished(() => page.close());
  const shown: (number | null)[] = [];
  let exposed: Promise<unknown> = Promise.resolve();
  const ended = new Promise<void>((resolve, reject) => {
    page.on('pageerror', reject);
    exposed = page.exposeFunction('show', (_: string, percent: number | null) => {
      shown.push(percent);
      if (percent === null || percent === 100) resolve();
    });
  });
  await exposed;
  await page.goto(`${new URL(balancer.url).origin}/healthz`);
  const main = `
    import { follow } from './example';
    follow(${JSON.stringify(jobId)}, (message, percent) => window.show(message, percent));`;
  const { code } = await bundle({ main, example: example('watching.md', 'event-source') });
  await page.addScriptTag({ type: 'module', content: code });
  return { shown, ended };
}

const skipped = (name: Name) => name === 'event-source' && withoutBrowser;

/** Puts another server behind the load balancer, and breaks the connections that there are. */
function move(to: App): void {
  balancer.cut();
  balancer.mend(to.url);
}

describe.each(types.filter((name) => !skipped(name)))('%s', (name) => {
  it('never shows an older state when servers lag and change', async () => {
    move(server);
    const { shown, ended } = await follow(name);
    await work(server.url, name, 3);
    await expect.poll(() => shown.at(-1)).toBe(50);
    for (let turn = 0; turn < 2; turn++) {
      const job = vi.spyOn(Hub.prototype, 'watchJob');
      const tree = vi.spyOn(Hub.prototype, 'watchTree');
      move(lagging);
      const calls = () => job.mock.calls.length + tree.mock.calls.length;
      await expect.poll(calls).toBeGreaterThan(0);
      vi.restoreAllMocks();
      await delay(300); // for what it would say, if it says anything
      move(server);
      await work(server.url, name, 1);
      await expect.poll(() => shown.at(-1)).toBe(60 + 10 * turn);
    }
    await work(server.url, name, 3);
    await ended;
    expect(shown.at(-1)).toBe(100);
    expect(shown).toEqual(shown.toSorted((a, b) => Number(a) - Number(b)));
  });
});

it('every watcher survives refusals and an outage without long pauses', async () => {
  move(server);
  const names = types.filter((name) => !skipped(name));
  const ids = new Map<Name, string>();
  for (const name of names)
    ids.set(name, await createJob(server.url, { type: 'away', sealed: true, items: [{}] }));
  postgres.cut();
  const isRefused = async () => (await request(server.url, '{ jobs { edges { cursor } } }')).errors?.length;
  await expect.poll(isRefused).toBe(1);
  const watching = await Promise.all(names.map((name) => follow(name, ids.get(name))));
  await delay(500); // for a refusal or two
  const { refused } = balancer;
  balancer.cut();
  const each = () => (balancer.refused - refused) / names.length;
  await expect.poll(each).toBeGreaterThanOrEqual(refusals);
  expect(watching.flatMap(({ shown }) => shown)).toEqual([]);
  postgres.mend();
  balancer.mend(server.url);
  await expect.poll(isRefused).toBe(undefined);
  await work(server.url, 'away', names.length);
  await Promise.all(watching.map(({ ended }) => ended));
  for (const { shown } of watching) expect(shown.at(-1)).toBe(100);
});
