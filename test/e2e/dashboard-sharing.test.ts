/** The page of one tree, by a watch token in its address: how it is shared, what it shows, and how it ends. */
import { readdir, readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createClient } from '../../src/client/index.ts';
import type { App } from '../../src/server/create-app.ts';
import { createJob, work } from '../support/api.ts';
import { violations } from '../support/axe.ts';
import { launchBrowser, withoutBrowser } from '../support/browser.ts';
import { desktop, failAll, openPage, shots, views } from '../support/dashboard.ts';
import { createDatabase, type TestDatabase } from '../support/database.ts';
import { makeKey } from '../support/keys.ts';
import { freePort, startServer } from '../support/server.ts';
import { forge } from '../support/watch-tokens.ts';

describe.skipIf(withoutBrowser)('the page of one tree', () => {
  let db: TestDatabase;
  /** Asks who its callers are. */
  let app: App;
  /** On the same database, for those who work. */
  let free: App;
  let browser: Browser;
  let key: string;
  beforeAll(async () => {
    db = await createDatabase();
    app = await startServer(db.url, { JOBTREE_AUTH: 'keys' });
    free = await startServer(db.url);
    key = (await makeKey(db, ['admin'])).key;
    browser = await launchBrowser();
  });
  afterAll(async () => {
    await browser.close();
    await Promise.all([app.close(), free.close()]);
    await db.drop();
  });

  const begin = (type: string) =>
    createJob(free.url, {
      type,
      sealed: true,
      items: Array.from({ length: 4 }, () => ({})),
      children: [{ type: `${type}-checks`, feed: {} }],
    });
  /** A link to the tree, whose token is valid for so long. */
  const linkTo = async (jobId: string, sees: 'PROGRESS' | 'RESULTS' = 'PROGRESS', ms = 60_000) => {
    const token = await forge(db, {
      rootId: jobId.replace('Job:', ''),
      sees,
      expiresMs: Date.now() + ms,
    });
    return new URL(`dashboard/watch/#${new URLSearchParams({ tree: jobId, token })}`, app.url).href;
  };

  it('is shared on the screen of a tree, with the lifetime that was chosen, until its links are revoked', async () => {
    const id = await begin('shared');
    const { page, problems } = await openPage(browser, new URL(`dashboard/#/trees/${id}`, app.url).href);
    await page.getByLabel('Key or token').fill(key);
    await page.getByRole('button', { name: 'Sign in' }).click();
    await page.getByRole('button', { name: 'Share a progress page' }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByLabel('Valid for').selectOption('1 hour');
    if (shots !== undefined) await page.screenshot({ path: `${shots}/dashboard-share-ask.png` });
    await dialog.getByRole('button', { name: 'Share a progress page' }).click();
    const link = await dialog.getByLabel('Link', { exact: true }).inputValue();
    if (shots !== undefined) await page.screenshot({ path: `${shots}/dashboard-share.png` });
    expect(await violations(page)).toEqual([]);
    const expiry = await dialog.getByRole('time').getAttribute('datetime');
    expect(Date.parse(expiry ?? '') - Date.now()).toBeGreaterThan(3_500_000);
    expect(Date.parse(expiry ?? '') - Date.now()).toBeLessThanOrEqual(3_600_000);
    await dialog.getByRole('button', { name: 'Close' }).click();

    const urls: string[] = [];
    const context = await browser.newContext();
    context.on('request', (request) => urls.push(request.url(), request.headers().referer ?? ''));
    const visitor = await context.newPage();
    visitor.on('websocket', (socket) => urls.push(socket.url()));
    await visitor.goto(link);
    await visitor.getByRole('heading', { name: 'Progress of shared' }).waitFor();
    await visitor.getByText('0 of 4 items', { exact: false }).first().waitFor();
    await work(free.url, 'shared', 4);
    await visitor.getByText('Complete: 4 of 4 items, 100%').waitFor();
    await visitor.getByText('Running', { exact: true }).waitFor();
    // What servers and proxies log has nothing of the token, and nothing is kept.
    expect(urls.filter((url) => url.includes('jobtree_watch_'))).toEqual([]);
    expect(await context.cookies()).toEqual([]);
    expect(await visitor.getByRole('heading', { name: 'Results' }).count()).toBe(0);

    await page.getByRole('button', { name: 'Revoke links' }).click();
    await dialog.getByRole('button', { name: 'Revoke links' }).click();
    await dialog.getByText('All links are revoked.').waitFor();
    await visitor.getByRole('alert').getByText('This link has expired or was revoked.').waitFor();
    await visitor.reload();
    await visitor.getByRole('alert').getByText('This link has expired or was revoked.').waitFor();
    expect(problems.filter((one) => !one.includes('401'))).toEqual([]);
    await context.close();
    await page.close();
  });

  describe.each(views)('%s, %s', (scheme, device, size) => {
    it('shows the jobs and the results that its token shows, which axe finds nothing wrong with', async () => {
      const type = `seen-${scheme}-${device}`;
      const id = await begin(type);
      await work(free.url, type, 3, { paid: 1200 });
      await work(free.url, `${type}-checks`, 2, 'sent');
      const { page, problems } = await openPage(browser, await linkTo(id, 'RESULTS'), { size, scheme });
      await page.getByText('Running: 3 of 4 items, 75%').waitFor();
      await page.getByRole('button', { name: 'Show results' }).click();
      await page.getByText('"sent"').first().waitFor();
      expect(await page.getByText('"sent"').count()).toBe(2);
      if (shots !== undefined)
        await page.screenshot({ path: `${shots}/dashboard-watch-${scheme}-${device}.png` });
      expect(await violations(page)).toEqual([]);
      expect(
        await page.evaluate(() => document.documentElement.scrollWidth - innerWidth),
      ).toBeLessThanOrEqual(0);
      expect(problems).toEqual([]);
      await page.close();
    });
  });

  it('gives all results as a file', async () => {
    const id = await begin('taken');
    await work(free.url, 'taken', 4);
    await work(free.url, 'taken-checks', 4, 'sent');
    const { page } = await openPage(browser, await linkTo(id, 'RESULTS'), { size: desktop });
    const download = page.waitForEvent('download');
    await page.getByRole('button', { name: 'Download all results' }).click();
    const lines = (await readFile(await (await download).path(), 'utf8')).trimEnd().split('\n');
    expect(lines.map((line) => JSON.parse(line).result)).toEqual(['sent', 'sent', 'sent', 'sent']);
    await page.close();
  });

  it('says that its link has expired, and keeps what it knew', async () => {
    const id = await begin('expiring');
    const { page } = await openPage(browser, await linkTo(id, 'PROGRESS', 2_500));
    await page.getByText('Waiting: 0 of 4 items, 0%').waitFor();
    await page.getByRole('alert').getByText('This link has expired or was revoked.').waitFor();
    expect(await page.getByText('Waiting: 0 of 4 items, 0%').count()).toBe(1);
    await page.close();
  });

  it('says as of when it knows what it shows while the server is away, and that it is live again', async () => {
    const port = { JOBTREE_AUTH: 'keys', JOBTREE_PORT: String(await freePort()) };
    let restarted = await startServer(db.url, port);
    const id = await begin('away');
    const link = (await linkTo(id)).replace(new URL(app.url).origin, new URL(restarted.url).origin);
    const { page } = await openPage(browser, link);
    const status = page.getByRole('status');
    await status.getByText('Live', { exact: true }).waitFor();
    await restarted.close();
    await status.getByText(/^As of \d+:\d\d:\d\d/).waitFor();
    await page.getByText('Waiting: 0 of 4 items, 0%').waitFor();
    await work(free.url, 'away', 4);
    restarted = await startServer(db.url, port);
    await page.getByText('Complete: 4 of 4 items, 100%').waitFor();
    await status.getByText('Live', { exact: true }).waitFor();
    await work(free.url, 'away-checks', 4);
    // What is final does not become older.
    await status.getByText('Live', { exact: true }).waitFor({ state: 'detached' });
    await page.close();
    await restarted.close();
  });

  it('a complete tree is followed again when its failures are replayed', async () => {
    const id = await createJob(free.url, { type: 'replayed', sealed: true, items: [{}, {}] });
    await failAll(free.url, 'replayed', 'REFUSED', 'No money');
    const page = await browser.newPage();
    await page.clock.install();
    await page.goto(await linkTo(id));
    const status = page.getByRole('status');
    await page.getByText('2 of 2 items, 100%, 2 failed').waitFor();
    const client = createClient({ url: free.url });
    await client.replayDeadLetters({ jobId: id });
    await client.close();
    await page.clock.runFor(30_000);
    await page.getByText('0 of 2 items, 0%').waitFor();
    await status.getByText('Live', { exact: true }).waitFor();
    await work(free.url, 'replayed', 2);
    await page.clock.runFor(1_000);
    await page.getByText('2 of 2 items, 100%', { exact: true }).waitFor();
    await status.getByText('Complete', { exact: true }).waitFor();
    await page.close();
  });

  it('is in the language of the reader, and so is its bar', async () => {
    const id = await begin('german');
    await work(free.url, 'german', 3);
    const { page, problems } = await openPage(browser, await linkTo(id, 'RESULTS'), {
      context: { locale: 'de-AT' },
    });
    await page.getByRole('heading', { name: 'Fortschritt von german' }).waitFor();
    await page.getByText('Läuft: 3 von 4 Elementen, 75 %').waitFor();
    const bar = page.getByRole('progressbar', { name: 'Fortschritt von german' });
    expect(await bar.getAttribute('aria-valuetext')).toMatch(/^3 von \d Elementen, /);
    await page.getByRole('button', { name: 'Ergebnisse zeigen' }).click();
    await page.getByText('Es gibt noch keine Ergebnisse.').waitFor();
    expect(await page.evaluate(() => document.documentElement.lang)).toBe('de-AT');
    expect(await page.locator('main').innerText()).not.toMatch(/\b(items|Progress|Results|Show|Running)\b/);
    expect(await violations(page)).toEqual([]);
    expect(problems).toEqual([]);
    await page.close();
  });

  it.each([
    ['the id of the tree is missing', (link: string) => link.replace(/tree=[^&]*&/, '')],
    ['the token is missing', (link: string) => link.replace(/&token=.*$/, '')],
    ['the token is cut short', (link: string) => link.slice(0, -1)],
    ['half of the token is missing', (link: string) => link.slice(0, -60)],
  ])('says that its link is incomplete: %s', async (_, cut) => {
    const { page } = await openPage(browser, cut(await linkTo(await begin('cut'))));
    await page.getByRole('alert').getByText('This link is incomplete.').waitFor();
    await page.close();
  });

  it('offers no results that its token does not show, whatever the address says, and says until when it is valid', async () => {
    const { page, problems } = await openPage(browser, `${await linkTo(await begin('more'))}&shows=RESULTS`);
    await page.getByText('This page is valid until').waitFor();
    expect(await page.getByRole('heading', { name: 'Results' }).count()).toBe(0);
    expect(problems).toEqual([]);
    await page.close();
  });
});

it('the page of one tree takes at most 20 kB', async () => {
  const folder = join(import.meta.dirname, '../../dist/watch');
  const html = gunzipSync(await readFile(join(folder, 'index.html.gz'))).toString();
  expect(html).not.toContain('style=');
  const names = (await readdir(folder, { recursive: true })).filter((name) => name.endsWith('.gz'));
  const sizes = await Promise.all(names.map(async (name) => (await stat(join(folder, name))).size));
  expect(sizes.reduce((sum, size) => sum + size)).toBeLessThanOrEqual(20_000);
});
