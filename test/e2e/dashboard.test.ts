/** The dashboard in a real browser, without any network but the server: at the sizes of a desktop and of a phone, in light and dark. */
import { readdir, readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createClient } from '../../src/client/index.ts';
import { createJob, data, work } from '../support/api.ts';
import { violations } from '../support/axe.ts';
import { launchBrowser, withoutBrowser } from '../support/browser.ts';
import {
  allViews,
  claim,
  excess,
  failAll,
  openDashboard,
  type PageOptions,
  prepare,
  screens,
  screenshot,
} from '../support/dashboard.ts';
import { makeKey } from '../support/keys.ts';
import { startServer } from '../support/server.ts';
import { useServer } from '../support/use-server.ts';

describe.skipIf(withoutBrowser)('the dashboard', () => {
  const { db, app } = useServer();
  let browser: Browser;
  let ids: Awaited<ReturnType<typeof prepare>>;
  beforeAll(async () => {
    browser = await launchBrowser();
    ids = await prepare(app.url);
  });
  afterAll(async () => {
    await browser.close();
  });

  const open = (path: string, { url = app.url, ...options }: PageOptions & { url?: string } = {}) =>
    openDashboard(browser, url, path, options);

  describe.each(allViews)('%s, %s', (scheme, device, size) => {
    it('shows each screen, which axe finds nothing wrong with', { timeout: 240_000 }, async () => {
      for (const [name, path, shown] of screens(ids)) {
        const { page, problems } = await open(path, { size, scheme });
        await page.getByRole('main').getByText(shown).first().waitFor();
        await page.waitForLoadState('networkidle');
        await screenshot(page, `${name}-${scheme}-${device}`);
        expect(problems, name).toEqual([]);
        // Nothing is wider than the screen.
        expect(await excess(page), name).toBe(0);
        expect(await violations(page), name).toEqual([]);
        await page.close();
      }
    });
  });

  it('a bar moves by push, and a new tree appears', async () => {
    const { page } = await open('/');
    await page.getByText('Live').waitFor();
    await page.getByRole('link', { name: 'greet' }).waitFor();
    const requests: string[] = [];
    page.on('request', (request) => requests.push(request.url()));
    const id = await createJob(app.url, { type: 'moving', sealed: true, items: [{}, {}, {}, {}] });
    const row = page.getByRole('row').filter({ has: page.getByRole('link', { name: 'moving' }) });
    await row.getByText('0 of 4 items').waitFor();
    await work(app.url, 'moving', 2);
    await row.getByText('2 of 4 items, 50%').waitFor();
    await work(app.url, 'moving', 2);
    await row.getByText('Succeeded').waitFor();
    expect(requests).toEqual([]);
    await row.getByRole('link').click();
    await expect.poll(() => page.url()).toContain(`#/trees/${encodeURIComponent(id)}`);
    await page.close();
  });

  it('pausing pauses, and going on catches up', async () => {
    const { page } = await open('/?types=paused');
    await createJob(app.url, { type: 'paused', sealed: true, items: [{}] });
    const words = page.locator('.words');
    await expect.poll(() => words.allInnerTexts()).toEqual(['0 of 1 item, 0%']);
    await page.getByRole('button', { name: 'Pause updates' }).click();
    await page.getByText('As of').waitFor();
    await work(app.url, 'paused', 1);
    // What would be pushed to others has arrived there.
    const { page: other } = await open('/?types=paused');
    await other.getByText('1 of 1 item, 100%').waitFor();
    expect(await words.allInnerTexts()).toEqual(['0 of 1 item, 0%']);
    await page.getByRole('button', { name: 'Resume' }).click();
    await page.getByText('1 of 1 item, 100%').waitFor();
    await Promise.all([page.close(), other.close()]);
  });

  it('in a pause a screen is read once, and after it nothing is left of what has gone meanwhile', async () => {
    const { page } = await open('/?types=left');
    const id = await createJob(app.url, { type: 'left', items: [{}] });
    await createJob(app.url, { type: 'left', items: [{}] });
    const named = page.getByRole('link', { name: 'left', exact: true });
    await expect.poll(() => named.count()).toBe(2);
    await page.getByRole('button', { name: 'Pause updates' }).click();
    await page.getByRole('link', { name: 'Queues', exact: true }).click();
    await expect.poll(() => named.count()).toBe(1);
    await page.goBack();
    await expect.poll(() => named.count()).toBe(2);
    const client = createClient({ url: app.url });
    await client.deleteJob(id);
    await client.close();
    await page.getByRole('button', { name: 'Resume' }).click();
    await expect.poll(() => named.count()).toBe(1);
    await page.close();
  });

  it('replays all dead letters of one cause: first how many, then how far', async () => {
    const type = 'replayed';
    await createJob(app.url, { type, sealed: true, maxFailuresPerItem: 0, items: [{}, {}, {}] });
    await failAll(app.url, type, 'TIMEOUT', 'No answer within 5 s');
    const { page } = await open('/dead-letters?type=replayed');
    await page.getByRole('link', { name: /No answer/ }).click();
    await page.getByRole('button', { name: 'Replay all' }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByText('Replay 3 items?').waitFor();
    await dialog.getByRole('button', { name: 'Replay all' }).click();
    await dialog.getByText('3 items are tried again').waitFor();
    await dialog.getByRole('button', { name: 'Close' }).click();
    await page.getByText('Nothing of this group is left').waitFor();
    await page.close();
  });

  it('replays an item with a corrected payload', async () => {
    const type = 'corrected';
    await createJob(app.url, {
      type,
      sealed: true,
      maxFailuresPerItem: 0,
      items: [{ payload: { amount: -1 } }],
    });
    await failAll(app.url, type, 'NEGATIVE', 'An amount is negative');
    const { page } = await open('/dead-letters?type=corrected');
    await page.getByRole('link', { name: 'An amount is negative' }).click();
    await page.getByRole('button', { name: 'Replay all', exact: true }).waitFor();
    await page.getByRole('table').getByRole('link').click();
    // The page before it has a button to replay all.
    await page.getByRole('button', { name: 'Replay', exact: true }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByRole('textbox').fill('{"amount": 1}');
    const copied = new Promise((resolve) => page.exposeFunction('noteCopy', resolve));
    await page.evaluate('navigator.clipboard.writeText = (text) => window.noteCopy(text)');
    await dialog.getByRole('button', { name: 'Copy as command' }).click();
    expect(await copied).toMatch(/^jobtree replay --item \S+ --payload '\{"amount":1\}'$/);
    await dialog.getByRole('button', { name: 'Replay' }).click();
    await dialog.getByText('1 item is tried again').waitFor();
    const { claimItems } = await data(app.url, claim, { type });
    expect(claimItems.assignments).toMatchObject([{ payload: { amount: 1 } }]);
    await page.close();
  });

  it('says in the dialog what the server refuses', async () => {
    const { page } = await open('/queues');
    const row = page.getByRole('row').filter({ hasText: 'greet' });
    await row.getByRole('button', { name: 'Limit' }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByLabel('Items at a time').fill('1000000000000');
    await dialog.getByRole('button', { name: 'Limit' }).click();
    await dialog.getByRole('alert').waitFor();
    await page.close();
  });

  it('pauses a type, and lets it go on', async () => {
    const { page } = await open('/queues');
    const row = page.getByRole('row').filter({ hasText: 'greet' });
    await row.getByRole('button', { name: 'Pause' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Pause' }).click();
    await row.getByRole('button', { name: 'Resume' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Resume' }).click();
    await row.getByRole('button', { name: 'Pause' }).waitFor();
    await page.close();
  });

  it('with the keyboard alone: from the address to an open tree', async () => {
    const { page } = await open('/');
    await page.getByRole('link', { name: 'greet' }).waitFor();
    await page.keyboard.press('Tab');
    await page.getByRole('button', { name: 'Skip to the content' }).press('Enter');
    for (let presses = 0; presses < 40; presses++) {
      await page.keyboard.press('Tab');
      if (await page.evaluate(() => document.activeElement?.closest('.table') != null)) break;
    }
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { name: /^Tree / }).waitFor();
    await page.close();
  });

  it('asks for a key, keeps it for the tab, and forgets it', async () => {
    const closed = await startServer(db.url, { JOBTREE_AUTH: 'keys' });
    const { key } = await makeKey(db, ['admin']);
    const { page } = await open('/', { url: closed.url });
    await page.getByLabel('Key or token').fill(key);
    await page.getByRole('button', { name: 'Sign in' }).click();
    await page.getByRole('link', { name: 'greet' }).waitFor();
    await page.getByText('Live').waitFor();
    expect(await page.context().cookies()).toEqual([]);
    await page.getByRole('button', { name: 'Sign out' }).click();
    await page.getByLabel('Key or token').waitFor();
    await page.close();
    await closed.close();
  });

  it('a watcher sees what there is, and no way to change it', async () => {
    const closed = await startServer(db.url, { JOBTREE_AUTH: 'keys' });
    const { key } = await makeKey(db, ['watcher'], { name: 'a screen on the wall' });
    const { page } = await open(`/trees/${ids.imports}`, { url: closed.url });
    await page.getByLabel('Key or token').fill(key);
    await page.getByRole('button', { name: 'Sign in' }).click();
    await page.getByText('a screen on the wall').waitFor();
    await page.getByRole('heading', { name: 'Tree import' }).waitFor();
    const buttons = await page.getByRole('button').allInnerTexts();
    expect(
      buttons.filter(
        (text) => !/^(Copy|Find|Help|Pause|Search|Share|Sign out|Skip|Whole job|Open item|[+−←→])/.test(text),
      ),
    ).toEqual([]);
    const pages = await page.getByRole('navigation').getByRole('link').allInnerTexts();
    expect(pages).toEqual([
      'Trees',
      'Dead letters',
      'Queues',
      'Workers',
      'Serialize keys',
      'Imports',
      'Schedules',
      'Operations',
    ]);
    await page.close();
    await closed.close();
  });

  it('a browser at the root of the server is led there', async () => {
    const page = await browser.newPage();
    await page.goto(new URL('/', app.url).href);
    await page.getByRole('heading', { name: 'Trees' }).waitFor();
    expect(new URL(page.url()).pathname).toBe('/dashboard/');
    await page.close();
  });

  it('a long list has as many rows in the page as fit on the screen', async () => {
    const { page } = await open(`/trees/${ids.large}`);
    await page.getByRole('heading', { name: 'Tree large' }).waitFor();
    await page.getByRole('button', { name: 'Show more' }).waitFor();
    expect(await page.getByRole('row').count()).toBeLessThan(60);
    await page.close();
  });
});

it('its first view takes at most 130 kB', async () => {
  const folder = join(import.meta.dirname, '../../dist/dashboard');
  const html = gunzipSync(await readFile(join(folder, 'index.html.gz'))).toString();
  const files = [...html.matchAll(/"\.\/(assets\/[^"]+)"/g)].map(([, name]) => name);
  const trees = (await readdir(join(folder, 'assets'))).length;
  expect(trees).toBeGreaterThan(files.length);
  const sizes = await Promise.all(
    ['index.html', ...files].map(async (name) => (await stat(join(folder, `${name}.gz`))).size),
  );
  expect(sizes.reduce((sum, size) => sum + size)).toBeLessThanOrEqual(130_000);
});
