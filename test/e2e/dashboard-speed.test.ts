/** What makes the dashboard fast at any size: nothing waits for what it does not need, and nothing grows with what is not on the screen. */
import type { Browser, Page, Route } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { App } from '../../src/server/create-app.ts';
import { createJob, work } from '../support/api.ts';
import { launchBrowser, withoutBrowser } from '../support/browser.ts';
import { desktop } from '../support/dashboard.ts';
import { startServer } from '../support/server.ts';
import { useDatabase } from '../support/use-server.ts';

/** Complete trees. */
const manyTrees = `
  with made as (
    insert into jobtree.job (
      id, root_id, depth, type, priority, max_failures_per_item, backoff_ms, backoff_jitter, heartbeat_interval_ms,
      final_stage, feeds_children, created_at, sealed_at
    )
    select id, id, 0, 'listed', 0, 3, '{30000}', 0.1, 60000, true, false, now(), now()
    from (select ('00000000-0000-7000-8000-' || lpad(to_hex(n), 12, '0'))::uuid as id from generate_series(1, $1::int) n) ids
    returning id
  ), trees as (
    insert into jobtree.tree (root_id, completed_at) select id, now() from made
  )
  insert into jobtree.job_progress (job_id, version, is_root, started_at, completed_at, outcome, tree_outcome, changed_at)
  select id, 1, true, now(), now(), 'SUCCEEDED', 'SUCCEEDED', now() from made`;

const operationIn = (text: string | null) =>
  /(?:query|subscription|mutation) (\w+)/.exec(text ?? '')?.[1] ?? '';

describe.skipIf(withoutBrowser)('the dashboard at size', () => {
  const db = useDatabase();
  let app: App;
  let browser: Browser;
  beforeAll(async () => {
    await db.query(manyTrees, [650]);
    app = await startServer(db.url);
    browser = await launchBrowser();
  });
  afterAll(async () => {
    await browser.close();
    await app.close();
  });

  const url = (path: string) => new URL(`dashboard/#${path}`, app.url).href;
  /** What the page asks for over HTTP and over its socket, by name. */
  const watch = (page: Page) => {
    const asked: string[] = [];
    page.on('request', (request) => asked.push(operationIn(request.postData())));
    page.on('websocket', (socket) =>
      socket.on('framesent', ({ payload }) => asked.push(operationIn(String(payload)))),
    );
    return () => asked.filter((name) => name !== '');
  };

  it('a tree opens with one round trip for its scripts and one of the API', async () => {
    const id = await createJob(app.url, { type: 'narrow', items: [{}, {}, {}] });
    const page = await browser.newPage({ viewport: desktop });
    const asked = watch(page);
    // Each is answered once all of them have been asked for.
    const hold = async (pattern: string | RegExp, all: number) => {
      const held: Route[] = [];
      await page.route(pattern, async (route) => {
        held.push(route);
        if (held.length >= all) for (const each of held.splice(0)) await each.continue();
      });
    };
    await hold(/assets\/(tree|shared)-[\w-]+\.js$/, 2);
    await hold('**/graphql', 6);
    await page.goto(url(`/trees/${id}`));
    await page.locator('.strip canvas').waitFor();
    await page.getByRole('progressbar', { name: 'narrow' }).waitFor();
    await page.getByRole('table', { name: 'Items' }).waitFor();
    await expect
      .poll(() => asked().sort())
      .toEqual(['ItemRanges', 'Items', 'JobChanges', 'PendingCounts', 'Tree', 'TreeStandstills', 'Viewer']);
    await page.close();
  });

  it('trees of which the list is told are not subscribed to one by one', async () => {
    for (let i = 0; i < 3; i++) await createJob(app.url, { type: 'moving', items: [{}] });
    const page = await browser.newPage({ viewport: desktop });
    const asked = watch(page);
    // The page of the list comes first, and then what the list is told.
    let listed = () => {};
    const isListed = new Promise<void>((resolve) => {
      listed = resolve;
    });
    await page.routeWebSocket('**/graphql', (socket) => {
      const server = socket.connectToServer();
      server.onMessage(async (message) => {
        await isListed;
        socket.send(message);
      });
    });
    await page.goto(url('/'));
    await page.getByRole('link', { name: 'moving' }).nth(2).waitFor();
    listed();
    await page.getByRole('link', { name: 'moving' }).nth(2).waitFor();
    await createJob(app.url, { type: 'arriving', items: [{}] });
    await page.getByRole('link', { name: 'arriving' }).waitFor();
    expect(asked().filter((name) => name === 'TreeChanges')).toEqual([]);
    expect(asked().filter((name) => name === 'NewestTrees')).toHaveLength(1);
    await page.close();
  });

  it('a running tree has its rate and the time left in the list, and the server is asked nothing for it', async () => {
    await createJob(app.url, { type: 'timed', sealed: true, items: Array.from({ length: 500 }, () => ({})) });
    const page = await browser.newPage({ viewport: desktop });
    const asked = watch(page);
    await page.goto(url('/?types=timed'));
    await page.getByRole('link', { name: 'timed' }).waitFor();
    await expect
      .poll(async () => {
        await work(app.url, 'timed', 1, 'done');
        return page.locator('.words').allInnerTexts();
      })
      .toEqual([expect.stringMatching(/^\d+ of 500 items, \d+%, [\d.,]+ per second, about .+ left$/)]);
    expect(new Set(asked())).toEqual(new Set(['Trees', 'NewestTrees', 'TreeCount', 'Viewer']));
    await page.close();
  });

  it('a long list that was left is not read again page by page, and has as many rows in the page as a short one', async () => {
    const page = await browser.newPage({ viewport: desktop });
    const asked = watch(page);
    await page.goto(url('/'));
    const table = page.getByRole('table', { name: 'Trees' });
    for (let pages = 2; pages <= 6; pages++) {
      await page.getByRole('button', { name: 'Show more' }).click();
      await expect
        .poll(async () => Number(await table.getAttribute('aria-rowcount')))
        .toBeGreaterThan((pages - 1) * 100 + 1);
    }
    expect(await page.getByRole('row').count()).toBeLessThan(60);
    await page.getByRole('link', { name: 'Queues' }).click();
    await page.getByRole('heading', { name: 'Queues' }).waitFor();
    // By then its answers are no longer fresh.
    await page.evaluate(() => {
      const now = Date.now;
      Date.now = () => now() + 10_000;
    });
    const before = asked().filter((name) => name === 'Trees').length;
    await page.getByRole('link', { name: 'Trees' }).click();
    await table.waitFor();
    expect(Number(await table.getAttribute('aria-rowcount'))).toBeGreaterThan(501);
    await createJob(app.url, { type: 'after the return', items: [{}] });
    await page.getByRole('link', { name: 'after the return' }).waitFor();
    expect(asked().filter((name) => name === 'Trees')).toHaveLength(before);
    await page.close();
  });

  it('the last tree that meets the conditions leaves the list when it no longer does', async () => {
    const id = await createJob(app.url, { type: 'last', sealed: true, items: [{}] });
    const page = await browser.newPage({ viewport: desktop });
    await page.goto(url('/?types=last&statuses=RUNNING&statuses=WAITING'));
    await page.getByRole('link', { name: 'last' }).first().waitFor();
    await work(app.url, 'last', 1, 'done');
    await page.getByText('No tree meets these conditions.').waitFor();
    expect(await page.locator(`a[href*="${encodeURIComponent(id)}"]`).count()).toBe(0);
    await page.close();
  });
});
