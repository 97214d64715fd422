/**
 * The dashboard while 200 workers work, servers are killed and start again, and Redis dies: every screen goes on by itself, and takes nothing back.
 *
 * A third of the actions is tried, another one by turns of hours; CHAOS=long tries all.
 */
import { setTimeout } from 'node:timers/promises';
import pino from 'pino';
import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createClient, Worker } from '../../src/client/index.ts';
import { createJob } from '../support/api.ts';
import { type Balancer, startBalancer } from '../support/balancer.ts';
import { launchBrowser, withoutBrowser } from '../support/browser.ts';
import { openDashboard, prepare, screens } from '../support/dashboard.ts';
import { actions, calledBack, handOf, receiveCallbacks } from '../support/dashboard-actions.ts';
import { createDatabase, type TestDatabase } from '../support/database.ts';
import { type RedisServer, startRedis } from '../support/redis.ts';
import { type ServerProcess, startServer, startServerProcess } from '../support/server.ts';

const itemCount = 4_000;
const workerCount = 200;
const parts = process.env.CHAOS === 'long' ? 1 : 3;
const part = Math.floor(Date.now() / 3_600_000) % parts;
const tried = Object.entries(actions).filter((_, i) => i % parts === part);

describe.skipIf(withoutBrowser)('while everything around it dies', () => {
  let db: TestDatabase;
  let redis: RedisServer;
  let balancer: Balancer;
  let browser: Browser;
  const servers: ServerProcess[] = [];
  const start = async () => {
    const server = await startServerProcess(db.url, { ...calledBack, REDIS_URL: redis.url });
    servers.push(server);
    balancer.ports.push(Number(new URL(server.url).port));
  };
  const kill = async () => {
    const server = servers.shift() as ServerProcess;
    balancer.ports.splice(balancer.ports.indexOf(Number(new URL(server.url).port)), 1);
    await server.end('SIGKILL');
  };
  beforeAll(async () => {
    [db, redis, balancer, browser] = await Promise.all([
      createDatabase(),
      startRedis(),
      startBalancer(),
      launchBrowser(),
    ]);
    await Promise.all([start(), start()]);
  });
  afterAll(async () => {
    await browser.close();
    await balancer.close();
    await Promise.all(servers.map((server) => server.end()));
    await redis.stop();
    await db.drop();
  });

  /** Each next one happens while the next thing is done. */
  const blows = [
    async () => {
      await kill();
      await start();
    },
    () => redis.kill(),
    () => redis.restart(),
  ];

  const workersOf = (type: string, handler: () => unknown) =>
    Array.from(
      { length: workerCount },
      () =>
        new Worker({
          url: balancer.url,
          types: { [type]: { concurrency: 1, handler } },
          logger: pino({ level: 'silent' }),
        }),
    );

  it('a tree goes on to its end, and never back', async () => {
    const id = await createJob(balancer.url, {
      type: 'chaos',
      sealed: true,
      heartbeatIntervalMs: 2_000,
      items: Array.from({ length: 1_000 }, (_, n) => ({ payload: n })),
      children: [1, 2, 3].map((child) => ({
        type: 'chaos',
        sealed: true,
        heartbeatIntervalMs: 2_000,
        items: Array.from({ length: 1_000 }, (_, n) => ({ payload: child * 1_000 + n })),
      })),
    });
    const page = await browser.newPage({ viewport: { width: 1280, height: 800 } });
    await page.goto(new URL('dashboard/#/', balancer.url).href);
    const bar = page
      .getByRole('row')
      .filter({ has: page.getByRole('link', { name: 'chaos' }) })
      .locator('.words');
    await bar.waitFor();
    // Everything that the page ever says of the tree.
    await page.evaluate(() => {
      const said: string[] = [];
      Object.assign(window, { said });
      new MutationObserver(() => {
        const words = document.querySelector('.words')?.textContent;
        if (words != null && words !== said.at(-1)) said.push(words);
      }).observe(document.body, { subtree: true, childList: true, characterData: true });
    });
    const said = () => page.evaluate(() => (window as unknown as { said: string[] }).said);

    const workers = workersOf('chaos', () => null);
    try {
      await Promise.all(workers.map((worker) => worker.start()));
      const moved = async () => {
        const before = (await said()).length;
        await expect.poll(async () => (await said()).length, { timeout: 60_000 }).toBeGreaterThan(before);
      };
      await moved();
      await kill();
      await start();
      await moved();
      await redis.kill();
      await kill();
      await start();
      await redis.restart();
      await expect
        .poll(() => bar.innerText(), { timeout: 90_000 })
        .toContain(`${itemCount.toLocaleString('en')} of ${itemCount.toLocaleString('en')} items`);
    } finally {
      await Promise.all(workers.map((worker) => worker.stop()));
    }
    const done = (await said()).map((words) => Number(words.split(' ')[0]?.replaceAll(',', '')));
    expect(done.length).toBeGreaterThan(3);
    expect(done).toEqual([...done].sort((one, other) => one - other));
    // What shows it says so: the page was never reloaded.
    await page.getByText('Live', { exact: true }).waitFor();
    await page.goto(new URL(`dashboard/#/trees/${encodeURIComponent(id)}`, balancer.url).href);
    await page.getByText('Succeeded').first().waitFor();
    await page.close();
  });

  it('each screen is there, and live once all is well again', async () => {
    const ids = await prepare(balancer.url);
    const id = await createJob(balancer.url, {
      type: 'visited',
      heartbeatIntervalMs: 2_000,
      items: Array.from({ length: 1_000 }, (_, n) => ({ payload: n })),
    });
    const client = createClient({ url: balancer.url });
    const [item] = (await client.items(id)).nodes;
    const visited = [
      ...screens(ids),
      ['tree at work', `/trees/${id}`, 'Tree visited'],
      ['item at work', `/items/${item?.id}`, 'Copy as command'],
      ['queue at work', '/queues/visited', 'As a table'],
    ] as const;
    const { page } = await openDashboard(browser, balancer.url, '/');
    const broken: string[] = [];
    page.on('pageerror', (error) => broken.push(String(error)));
    await page.evaluate('window.isTheSame = true');
    const main = page.getByRole('main');
    const open = (path: string) => page.evaluate(`location.hash = ${JSON.stringify(path)}`);
    const workers = workersOf('visited', () => setTimeout(50));
    try {
      await Promise.all(workers.map((worker) => worker.start()));
      for (const [i, [, path, shown]] of visited.entries()) {
        await open(path);
        await Promise.all([main.getByText(shown).first().waitFor({ timeout: 60_000 }), blows[i % 3]?.()]);
        // What kept it from being there is over by now, or ends by itself.
        await expect.poll(() => page.getByRole('alert').count(), { message: path }).toBe(0);
      }
      const { nodes } = await client.items(id, { statuses: ['SUCCEEDED'], first: 1 });
      expect(nodes).toHaveLength(1);
    } finally {
      await Promise.all(workers.map((worker) => worker.stop()));
      if (visited.length % 3 === 2) await redis.restart();
    }
    for (const [, path, shown] of visited) {
      await open(path);
      await main.getByText(shown).first().waitFor();
      await page.getByText('Live', { exact: true }).waitFor();
      expect(await page.getByRole('alert').count(), path).toBe(0);
    }
    expect(await page.evaluate('window.isTheSame')).toBe(true);
    expect(broken).toEqual([]);
    await client.close();
    await page.close();
  }, 400_000);

  it(`whatever somebody does is done: ${tried.map(([name]) => name).join(', ')}`, async () => {
    // What is prepared, and asked afterwards, is not tried here.
    const calm = await startServer(db.url, calledBack);
    const client = createClient({ url: calm.url });
    const receiver = await receiveCallbacks();
    const items = Array.from({ length: 100_000 }, () => ({}));
    await client.createJob({ type: 'worked', heartbeatIntervalMs: 2_000, items });
    const workers = workersOf('worked', () => setTimeout(200));
    const failed: string[] = [];
    try {
      await Promise.all(workers.map((worker) => worker.start()));
      for (const [i, [name, carryOut]] of tried.entries()) {
        const { page } = await openDashboard(browser, balancer.url, '/');
        const place = { client, url: calm.url, db, receiver, type: `chaos-${i}` };
        const blow = blows[i % 3]?.();
        try {
          const [ask, is] = await carryOut(handOf(page, balancer.url), place);
          await expect.poll(ask, { timeout: 20_000 }).toEqual(is);
        } catch (error) {
          failed.push(`${name}: ${error}`);
        }
        await blow;
        await page.close();
      }
    } finally {
      await Promise.all(workers.map((worker) => worker.stop()));
      await Promise.all([client.close(), calm.close(), receiver.close()]);
    }
    expect(failed).toEqual([]);
  }, 600_000);
});
