/** The dashboard in a real browser, without any network but the server: at the sizes of a desktop and of a phone, in light and dark. */
import { mkdirSync } from 'node:fs';
import { readdir, readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createClient } from '../../src/client/index.ts';
import type { App } from '../../src/server/create-app.ts';
import { createJob, data, work } from '../support/api.ts';
import { violations } from '../support/axe.ts';
import { launchBrowser, withoutBrowser } from '../support/browser.ts';
import { desktop, openPage, shots, views } from '../support/dashboard.ts';
import { createDatabase, type TestDatabase } from '../support/database.ts';
import { makeKey } from '../support/keys.ts';
import { startServer } from '../support/server.ts';

describe.skipIf(withoutBrowser)('the dashboard', () => {
  let db: TestDatabase;
  let app: App;
  let browser: Browser;
  let ids: Awaited<ReturnType<typeof prepare>>;
  beforeAll(async () => {
    db = await createDatabase();
    app = await startServer(db.url);
    browser = await launchBrowser();
    ids = await prepare(app.url);
    if (shots !== undefined) mkdirSync(shots, { recursive: true });
  });
  afterAll(async () => {
    await browser.close();
    await app.close();
    await db.drop();
  });

  const open = (path: string, { size = desktop, scheme = 'light' as 'light' | 'dark', url = app.url } = {}) =>
    openPage(browser, new URL(`dashboard/#${path}`, url).href, { size, scheme });

  const screens = (): [name: string, path: string, shown: string | RegExp][] => [
    ['trees', '/', 'greet'],
    ['tree', `/trees/${ids.payroll}`, 'Tree payroll'],
    ['tree-failed', `/trees/${ids.imports}?job=${ids.imports}&status=FAILED`, 'Tree import'],
    ['item', `/items/${ids.failedItem}`, 'No such customer'],
    ['dead-letters', '/dead-letters', 'No such customer'],
    ['dead-letter-group', `/dead-letters/${ids.group}`, 'Replay all'],
    ['queues', '/queues', 'greet'],
    ['workers', '/workers', 'Held items'],
    ['keys', '/keys', 'acme'],
    ['schedules', '/schedules', 'nightly'],
    ['operations', '/operations', 'Operations'],
    ['callbacks', '/callbacks', 'Callback deliveries'],
    ['audit', '/audit', 'Audit'],
  ];

  describe.each(views)('%s, %s', (scheme, device, size) => {
    it('shows each screen, which axe finds nothing wrong with', async () => {
      for (const [name, path, shown] of screens()) {
        const { page, problems } = await open(path, { size, scheme });
        await page.getByText(shown).first().waitFor();
        await page.waitForLoadState('networkidle');
        if (shots !== undefined)
          await page.screenshot({ path: `${shots}/dashboard-${name}-${scheme}-${device}.png` });
        expect(problems, name).toEqual([]);
        // Nothing is wider than the screen.
        expect(
          await page.evaluate(() => document.documentElement.scrollWidth - innerWidth),
          name,
        ).toBeLessThanOrEqual(0);
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
    const { page } = await open('/?type=paused');
    await createJob(app.url, { type: 'paused', sealed: true, items: [{}] });
    const words = page.locator('.words');
    await expect.poll(() => words.allInnerTexts()).toEqual(['0 of 1 item, 0%']);
    await page.getByRole('button', { name: 'Pause' }).click();
    await page.getByText('As of').waitFor();
    await work(app.url, 'paused', 1);
    // What would be pushed to others has arrived there.
    const { page: other } = await open('/?type=paused');
    await other.getByText('1 of 1 item, 100%').waitFor();
    expect(await words.allInnerTexts()).toEqual(['0 of 1 item, 0%']);
    await page.getByRole('button', { name: 'Resume' }).click();
    await page.getByText('1 of 1 item, 100%').waitFor();
    await Promise.all([page.close(), other.close()]);
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
    await dialog.getByText('Replay: 3 of 3: Finished').waitFor();
    await dialog.getByRole('button', { name: 'Close' }).click();
    await page.getByText('Nothing of this group is left.').waitFor();
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
    await page.getByRole('table').getByRole('link').click();
    // The page before it has a button to replay all.
    await page.getByRole('button', { name: 'Replay', exact: true }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByRole('textbox').fill('{"amount": 1}');
    await dialog.getByRole('button', { name: 'Replay' }).click();
    await dialog.getByText('Replay: 1 of 1: Finished').waitFor();
    const { claimItems } = await data(app.url, claim, { type });
    expect(claimItems.assignments).toMatchObject([{ payload: { amount: 1 } }]);
    await page.close();
  });

  it('says in the dialog what the server refuses', async () => {
    const { page } = await open('/queues');
    const row = page.getByRole('row').filter({ hasText: 'greet' });
    await row.getByRole('button', { name: 'Limit' }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByRole('spinbutton').fill('1000000000000');
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
    for (let presses = 0; presses < 5; presses++) {
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
    expect(buttons.filter((text) => !/^(Copy|Pause|Sign out|Skip)/.test(text))).toEqual([]);
    const pages = await page.getByRole('navigation').getByRole('link').allInnerTexts();
    expect(pages).toEqual([
      'Trees',
      'Dead letters',
      'Queues',
      'Workers',
      'Serialize keys',
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

const claim = `mutation ($type: String!) {
  claimItems(input: { worker: "test", requests: [{ type: $type, limit: 100 }] }) {
    ... on ClaimItemsPayload { assignments { id payload } }
  }
}`;

async function failAll(url: string, type: string, code: string, message: string): Promise<void> {
  const { claimItems } = await data(url, claim, { type });
  const reports = claimItems.assignments.map(({ id }: { id: string }) => ({
    assignmentId: id,
    outcome: { failure: { code, message, permanent: true } },
  }));
  await data(
    url,
    `mutation ($reports: [ReportInput!]!) {
      reportOutcomes(input: { reports: $reports }) { ... on ReportOutcomesPayload { entries { status } } }
    }`,
    { reports },
  );
}

/** What a person could find: trees in all states, failures of two causes, a blocked key, a schedule. */
async function prepare(url: string) {
  const client = createClient({ url });
  const greet = await createJob(url, {
    type: 'greet',
    sealed: true,
    items: [{ payload: 'Ada' }, { payload: 'Grace' }],
  });
  await work(url, 'greet', 2, 'Hello!');
  const items = (count: number) => Array.from({ length: count }, (_, i) => ({ payload: { row: i + 1 } }));
  const payroll = await createJob(url, {
    type: 'payroll',
    sealed: true,
    items: items(40),
    children: [{ type: 'check', feed: {}, children: [{ type: 'archive', feed: {} }] }],
  });
  await work(url, 'payroll', 25, { amount: 1200 });
  await work(url, 'check', 10, 'sent');
  const imports = await createJob(url, { type: 'import', maxFailuresPerItem: 0, items: items(12) });
  const { claimItems } = await data(url, claim, { type: 'import' });
  const reports = claimItems.assignments.map(({ id }: { id: string }, i: number) => ({
    assignmentId: id,
    outcome:
      i % 3 === 0
        ? {
            failure: {
              code: 'NOT_FOUND',
              message: 'No such customer: 17',
              stack: 'Error: No such customer\n    at find (customers.ts:12:9)',
              permanent: true,
            },
          }
        : i % 3 === 1
          ? { failure: { code: 'TIMEOUT', message: 'No answer within 5 s', permanent: true } }
          : { success: { result: i } },
  }));
  await data(
    url,
    `mutation ($reports: [ReportInput!]!) {
      reportOutcomes(input: { reports: $reports }) { ... on ReportOutcomesPayload { entries { status } } }
    }`,
    { reports },
  );
  await createJob(url, {
    type: 'ship',
    sealed: true,
    items: [{ serializeKey: 'acme' }, { serializeKey: 'acme' }, { serializeKey: 'acme' }],
  });
  const large = await createJob(url, { type: 'large', items: items(1_000) });
  await client.schedules.put({ name: 'nightly', cron: '0 3 * * *', template: { type: 'report' } });
  const { deadLetterGroups } = await data(url, `{ deadLetterGroups { id pattern example { id } } }`);
  const group = deadLetterGroups.find(({ pattern }: { pattern: string }) => pattern.includes('customer'));
  await client.close();
  return { greet, payroll, imports, large, group: group.id, failedItem: group.example.id };
}
