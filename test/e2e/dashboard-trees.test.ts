/** The first screen: which trees it shows, in which order and how many there are, all of it in its address; and the same of a hundred thousand. */
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { App } from '../../src/server/create-app.ts';
import { createJob, data, work } from '../support/api.ts';
import { violations } from '../support/axe.ts';
import { launchBrowser, withoutBrowser } from '../support/browser.ts';
import { excess, openDashboard, screenshot, slowestAnswer, views } from '../support/dashboard.ts';
import { createDatabase, type TestDatabase } from '../support/database.ts';
import { fillEnded } from '../support/fill.ts';
import { makeKey } from '../support/keys.ts';
import { startServer } from '../support/server.ts';
import { useDatabase } from '../support/use-server.ts';

/** The first text of each row: a type and a dedupe key. */
const shown = (page: Page) => page.getByRole('row').getByRole('link').allInnerTexts();

describe.skipIf(withoutBrowser)('the list of trees', () => {
  let db: TestDatabase;
  let app: App;
  let browser: Browser;
  beforeAll(async () => {
    db = await createDatabase();
    app = await startServer(db.url);
    browser = await launchBrowser();
    await prepare(app.url);
  });
  afterAll(async () => {
    await browser.close();
    await app.close();
    await db.drop();
  });
  const open = (path: string, options = {}) => openDashboard(browser, app.url, path, options);

  it.each(views)('with everything chosen, axe finds nothing wrong: %s, %s', async (scheme, device, size) => {
    const path = `/?types=letter&statuses=COMPLETED&outcomes=${JSON.stringify(['FAILED', 'PARTIAL'])}&failures=true&key=order&from=2020-01-01T00:00:00Z&order=MOST_FAILURES_FIRST`;
    const { page, problems } = await open(path, { size, scheme });
    await page.getByText('2 trees match').waitFor();
    await page.locator('summary').click();
    await page.getByRole('link', { name: 'letter' }).first().waitFor();
    await screenshot(page, `trees-filtered-${scheme}-${device}`);
    expect([problems, await excess(page), await violations(page)]).toEqual([[], 0, []]);
    await page.close();
  });

  it('each condition is a chip, in the address that shows somebody else the same', async () => {
    const { page } = await open('/');
    await page.getByText('8 trees match').waitFor();
    await page.locator('summary').click();
    await page.getByLabel('Type', { exact: true }).fill('letter');
    await page.getByLabel('Type', { exact: true }).press('Enter');
    await page.getByText('4 trees match').waitFor();
    await page.getByRole('group', { name: 'Outcome' }).getByLabel('Failed', { exact: true }).check();
    await page.getByRole('group', { name: 'Outcome' }).getByLabel('Partly failed').check();
    await page.getByText('2 trees match').waitFor();
    await page.getByRole('textbox', { name: 'Dedupe key begins with' }).fill('order-2');
    await page.getByRole('textbox', { name: 'Dedupe key begins with' }).press('Enter');
    await page.getByText('1 tree matches').waitFor();
    expect(await shown(page)).toEqual(['letter order-2']);
    const { page: other } = await openDashboard(browser, app.url, new URL(page.url()).hash.slice(1));
    await other.getByText('1 tree matches').waitFor();
    expect(await shown(other)).toEqual(['letter order-2']);
    const chips = other.getByRole('list', { name: 'Filters' }).getByRole('button');
    expect(await chips.allInnerTexts()).toEqual([
      'Type: letter ✕',
      'Outcome: Failed ✕',
      'Outcome: Partly failed ✕',
      'Dedupe key begins with: order-2 ✕',
      'Show all',
    ]);
    await chips.first().click();
    await other
      .getByRole('button', { name: 'Remove the filter Type: letter' })
      .waitFor({ state: 'detached' });
    await chips.last().click();
    await other.getByText('8 trees match').waitFor();
    await Promise.all([page.close(), other.close()]);
  });

  it('puts trees in order by failures and by progress', async () => {
    const { page } = await open('/?order=MOST_FAILURES_FIRST');
    await expect.poll(() => shown(page)).toEqual(['letter order-3', 'letter order-2']);
    await page.getByLabel('Order').selectOption('Least progress first');
    await expect.poll(() => shown(page)).toEqual(['parcel', 'parcel', 'parcel']);
    const words = page.locator('.words');
    await expect.poll(async () => (await words.allInnerTexts())[0]).toContain('0 of 4 items');
    await page.getByLabel('Order').selectOption('Most progress first');
    await expect.poll(async () => (await words.allInnerTexts())[0]).toContain('2 of 4 items');
    // A bar moves there, too.
    await work(app.url, 'parcel', 1);
    await expect.poll(async () => (await words.allInnerTexts()).join()).toMatch(/3 of 4/);
    await page.close();
  });

  it('draws over the bars, or enters times, to choose when trees were created', async () => {
    const { page } = await open('/');
    await page.getByText('8 trees match').waitFor();
    const brush = page.getByRole('img', { name: 'Trees by time of creation' });
    const { x, y, width, height } = (await brush.boundingBox()) ?? { x: 0, y: 0, width: 0, height: 0 };
    await page.mouse.move(x + width - 2, y + height / 2);
    await page.mouse.down();
    await page.mouse.move(x + width / 2, y + height / 2, { steps: 3 });
    await page.mouse.up();
    await page.getByRole('button', { name: /Remove the filter Created from/ }).waitFor();
    expect(page.url()).toMatch(/from=.*until=/);
    await page.locator('summary').click();
    await page.getByRole('textbox', { name: 'Created from' }).fill('2000-01-01T00:00:00');
    await page.getByRole('textbox', { name: 'Created from' }).press('Enter');
    await page.getByRole('textbox', { name: 'Created before' }).fill('2001-01-01T00:00:00');
    await page.getByRole('textbox', { name: 'Created before' }).press('Enter');
    await page.getByText('No tree meets these conditions.').waitFor();
    await page.getByText('0 trees match').waitFor();
    await page.getByRole('textbox', { name: 'Created before' }).fill('2100-01-01T00:00:00');
    await page.getByRole('textbox', { name: 'Created before' }).press('Enter');
    await page.getByText('8 trees match').waitFor();
    await page.close();
  });

  it('is live with its filter: what begins to match appears, and what no longer does leaves', async () => {
    const { page } = await open('/?types=live&statuses=RUNNING');
    await page.getByText('No tree meets these conditions.').waitFor();
    await createJob(app.url, { type: 'live', sealed: true, items: [{}, {}] });
    await work(app.url, 'live', 1);
    await page.getByText('1 of 2 items, 50%').waitFor();
    await work(app.url, 'live', 1);
    await page.getByText('No tree meets these conditions.').waitFor();
    await page.close();
  });

  it('somebody with a scope sees the trees of its types, and how many there are', async () => {
    const closed = await startServer(db.url, { JOBTREE_AUTH: 'keys' });
    const { key } = await makeKey(db, ['watcher'], { types: ['letter'] });
    const { page } = await openDashboard(browser, closed.url, '/');
    await page.getByLabel('Key or token').fill(key);
    await page.getByRole('button', { name: 'Sign in' }).click();
    await expect.poll(async () => (await shown(page)).length).toBe(4);
    await page.getByText('4 trees match').waitFor();
    await page.close();
    await closed.close();
  });
});

/** Many times of what an answer takes that reads no more than it shows, and less than one that reads everything: for machines that are busy. */
const slowestMs = 2_000;

describe.skipIf(withoutBrowser)('a hundred thousand trees', () => {
  let db: TestDatabase;
  let app: App;
  let browser: Browser;
  beforeAll(async () => {
    db = await createDatabase();
    await fillEnded(db, { items: 100_000, jobs: 100_000 });
    await db.query('vacuum analyze jobtree.job, jobtree.job_progress');
    app = await startServer(db.url);
    browser = await launchBrowser();
  }, 600_000);
  afterAll(async () => {
    await browser.close();
    await app.close();
    await db.drop();
  });

  it('open and page with as many rows in the page as fit on the screen', async () => {
    const { page, problems } = await openDashboard(browser, app.url, '/');
    await page.getByText('100,000 trees match').waitFor();
    const nodes: number[] = [];
    for (let turn = 1; turn <= 10; turn++) {
      await page.getByRole('button', { name: 'Show more' }).press('Enter');
      await expect
        .poll(() => page.getByRole('table').getAttribute('aria-rowcount'))
        .toBe(String(100 * (turn + 1) + 1));
      expect(await page.getByRole('row').count()).toBeLessThan(60);
      nodes.push(await page.evaluate(() => document.querySelectorAll('*').length));
    }
    expect(Math.max(...nodes) - Math.min(...nodes)).toBeLessThan(150);
    expect(await slowestAnswer(page)).toBeLessThan(slowestMs);
    expect(problems).toEqual([]);
    await page.close();
  });

  it('of a filter that matches few the list goes on where it ended', async () => {
    const { page } = await openDashboard(browser, app.url, '/?types=filled-1&outcomes=PARTIAL');
    await page.getByText('0 trees match').waitFor();
    await page.getByText('No tree meets these conditions.').waitFor();
    await page.goto(new URL('dashboard/#/?completedUntil=2001-01-01T00:00:00Z', app.url).href);
    await page.getByText('No tree so far meets these conditions.').waitFor();
    await page.getByRole('button', { name: 'Show more' }).click();
    await page.getByText('No tree so far meets these conditions.').waitFor();
    await page.close();
  });
});

/** Four letters, of which two have failures, and four parcels, of which one is complete. */
async function prepare(url: string): Promise<void> {
  for (const failures of [0, 0, 1, 2]) {
    const type = 'letter';
    await createJob(url, {
      type,
      dedupeKey: `order-${failures === 0 ? crypto.randomUUID() : failures + 1}`,
      sealed: true,
      maxFailuresPerItem: 0,
      items: [{}, {}],
    });
    if (failures > 0) await fail(url, type, failures);
    if (failures < 2) await work(url, type, 2 - failures);
  }
  for (let n = 0; n < 4; n++) await createJob(url, { type: 'parcel', sealed: true, items: [{}, {}, {}, {}] });
  await work(url, 'parcel', 6);
}

async function fail(url: string, type: string, limit: number): Promise<void> {
  const { claimItems } = await data(
    url,
    `mutation ($type: String!, $limit: Int!) {
      claimItems(input: { worker: "test", requests: [{ type: $type, limit: $limit }] }) {
        ... on ClaimItemsPayload { assignments { id } }
      }
    }`,
    { type, limit },
  );
  const reports = claimItems.assignments.map(({ id }: { id: string }) => ({
    assignmentId: id,
    outcome: { failure: { code: 'NO_SUCH_STREET', message: 'No such street', permanent: true } },
  }));
  await data(
    url,
    `mutation ($reports: [ReportInput!]!) {
      reportOutcomes(input: { reports: $reports }) { ... on ReportOutcomesPayload { entries { status } } }
    }`,
    { reports },
  );
}

describe.skipIf(withoutBrowser)('a tree of a million items', () => {
  const db = useDatabase();
  let app: App;
  let browser: Browser;
  beforeAll(async () => {
    await fillEnded(db, { items: 1_000_000, jobs: 1 });
    await db.query('vacuum analyze');
    app = await startServer(db.url);
    browser = await launchBrowser();
  }, 600_000);
  afterAll(async () => {
    await browser.close();
    await app.close();
  });

  it('opens as one of a few, with as many rows in the page as fit on the screen', async () => {
    const id = 'Job:00000000-0000-7000-8000-000000000001';
    const { page, problems } = await openDashboard(browser, app.url, `/trees/${id}`);
    await page.getByText('of 1,000,000 items shown').waitFor();
    await page.getByRole('table', { name: 'Items' }).waitFor();
    await page.getByRole('button', { name: 'Show more' }).waitFor();
    expect(await page.getByRole('row').count()).toBeLessThan(60);
    expect(await slowestAnswer(page)).toBeLessThan(slowestMs);
    expect(problems).toEqual([]);
    await page.close();
  });
});
