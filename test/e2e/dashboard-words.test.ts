/** What a newcomer meets in the dashboard: the menu of a phone, addresses that lead nowhere, the search, and the page before one has signed in. */
import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { App } from '../../src/server/create-app.ts';
import { createJob, data, work } from '../support/api.ts';
import { violations } from '../support/axe.ts';
import { launchBrowser, withoutBrowser } from '../support/browser.ts';
import {
  claim,
  excess,
  failAll,
  openDashboard,
  type PageOptions,
  phone,
  screenshot,
  views,
} from '../support/dashboard.ts';
import { makeKey } from '../support/keys.ts';
import { startServer } from '../support/server.ts';
import { useServer } from '../support/use-server.ts';

describe.skipIf(withoutBrowser)('a newcomer to the dashboard', () => {
  const { db, app } = useServer();
  let browser: Browser;
  let tree: string;
  beforeAll(async () => {
    browser = await launchBrowser();
    tree = await createJob(app.url, {
      type: 'ship',
      sealed: true,
      items: Array.from({ length: 3 }, () => ({ serializeKey: 'acme' })),
    });
  });
  afterAll(async () => {
    await browser.close();
  });

  const open = (path: string, options: PageOptions = {}) => openDashboard(browser, app.url, path, options);

  describe.each(views.filter(([, device]) => device === 'phone'))('on a phone, %s', (scheme) => {
    it('the menu is behind a button: it opens and closes by keyboard, and closes after a choice', async () => {
      const { page, problems } = await open('/', { size: { width: 360, height: 740 }, scheme });
      await page.getByRole('link', { name: 'ship' }).waitFor();
      await page.getByRole('button', { name: 'Help' }).waitFor();
      const header = await page.locator('header').boundingBox();
      expect(header?.height).toBeLessThanOrEqual(85);
      await screenshot(page, `header-${scheme}`);
      const menu = page.getByRole('navigation', { name: 'Pages' });
      expect(await menu.count()).toBe(0);
      const button = page.getByRole('button', { name: 'Pages' });
      await button.focus();
      await page.keyboard.press('Enter');
      await menu.getByRole('link', { name: 'System' }).waitFor();
      await screenshot(page, `menu-${scheme}`);
      expect(await violations(page)).toEqual([]);
      await page.keyboard.press('Escape');
      await menu.waitFor({ state: 'hidden' });
      expect(await button.evaluate((one) => one === document.activeElement)).toBe(true);
      await page.keyboard.press('Enter');
      await menu.getByRole('link', { name: 'Trees' }).waitFor();
      await page.keyboard.press('Tab');
      await page.keyboard.press('Tab');
      await page.keyboard.press('Tab');
      await page.keyboard.press('Enter');
      await page.getByRole('heading', { name: 'Queues' }).waitFor();
      await menu.waitFor({ state: 'hidden' });
      expect(problems).toEqual([]);
      await page.close();
    });
  });

  it('nothing is wider than the smallest screen, with the menu open', async () => {
    const { page } = await open('/', { size: phone });
    await page.getByRole('button', { name: 'Pages' }).click();
    await page.getByRole('navigation', { name: 'Pages' }).waitFor();
    expect(await excess(page)).toBe(0);
    await page.close();
  });

  it('the bars say in words what they show', async () => {
    await createJob(app.url, { type: 'told', maxFailuresPerItem: 0, items: [{}, {}, {}, {}] });
    await work(app.url, 'told', 1);
    await failAll(app.url, 'told', 'REFUSED', 'No money');
    const { page } = await open('/?types=told');
    const words = '4 of 4 items, 3 failed, more may come';
    await page.getByText(words).waitFor();
    const bar = page.getByRole('progressbar', { name: 'Progress' });
    expect(await bar.getAttribute('aria-valuetext')).toBe(words);
    expect(await bar.getAttribute('aria-valuenow')).toBeNull();
    await page.goto(new URL('dashboard/#/dead-letters?type=told', app.url).href);
    await page
      .getByRole('img', {
        name: '3 failed for good in the last 24 hours, 3 in the worst of them',
        exact: true,
      })
      .waitFor();
    await page.close();
  });

  it.each([
    ['/dead-letters?type=nobody', 'No dead letter has this type and code.'],
    ['/workers?type=nobody', 'No held item meets these conditions.'],
  ])('a filter that nothing meets says so: %s', async (path, words) => {
    const { page } = await open(path);
    await page.getByText(words).waitFor();
    await page.close();
  });

  it('trees of one type are told apart by a part of their ids', async () => {
    const ids = [await createJob(app.url, { type: 'twin' }), await createJob(app.url, { type: 'twin' })];
    const { page } = await open('/?types=twin');
    for (const id of ids)
      await page
        .getByRole('row')
        .filter({ hasText: `twin ${id.slice(-12, -6)}` })
        .waitFor();
    await page.close();
  });

  it('each filter of the trees acts at once: a text when it is left', async () => {
    const { page } = await open('/');
    await page.getByText('Filter', { exact: true }).click();
    await page.getByLabel('Type', { exact: true }).fill('ship');
    await page.getByLabel('Schedule').focus();
    await page.getByRole('button', { name: 'Remove the filter Type: ship' }).waitFor();
    expect(await page.getByRole('button', { name: 'Apply' }).count()).toBe(0);
    await page.close();
  });

  it('queues say how many items wait for other jobs', async () => {
    await createJob(app.url, {
      type: 'before',
      sealed: true,
      items: [{}],
      children: [
        { type: 'gather', name: 'gather', sealed: true, items: [{}] },
        { type: 'behind', sealed: true, after: ['gather'], items: [{}, {}, {}] },
      ],
    });
    const { page } = await open('/queues?find=behind');
    await page.getByRole('columnheader', { name: 'Waiting for other jobs' }).waitFor();
    const row = page.getByRole('row').filter({ has: page.getByRole('link', { name: 'behind' }) });
    await expect.poll(() => row.locator('[data-title="Waiting for other jobs"]').innerText()).toBe('3');
    await page.close();
  });

  it('a limit that holds something up leads to where it is changed', async () => {
    await createJob(app.url, { type: 'narrow', items: [{}, {}] });
    await data(app.url, 'mutation { setQueue(input: { type: "narrow", concurrency: 1 }) { __typename } }');
    await data(app.url, claim, { type: 'narrow' });
    const id = await createJob(app.url, { type: 'narrow', items: [{}] });
    const { page } = await open(`/trees/${id}`);
    await page.getByRole('link', { name: 'Change the limits of narrow' }).click();
    await page.getByRole('heading', { name: 'Queue narrow' }).waitFor();
    await page.getByText('narrow is at its limit of 1 at a time.').waitFor();
    expect(await page.getByRole('link', { name: 'Change the limits' }).count()).toBe(0);
    await page.getByRole('button', { name: 'Limit' }).waitFor();
    await page.close();
  });

  it('the pages of admins are behind a button, below it, which marks that one of them is shown', async () => {
    const { page, problems } = await open('/');
    const button = page.getByRole('button', { name: 'More' });
    await button.focus();
    await page.keyboard.press('Enter');
    const audit = page.getByRole('navigation').getByRole('link', { name: 'Audit' });
    await audit.waitFor();
    const [above, below] = [await button.boundingBox(), await audit.boundingBox()];
    if (above === null || below === null) throw new Error('They are not shown.');
    expect(below.y).toBeGreaterThan(above.y + above.height - 1);
    expect(below.y).toBeLessThan(above.y + above.height + 200);
    expect(Math.abs(below.x - above.x)).toBeLessThan(40);
    expect(await violations(page)).toEqual([]);
    await screenshot(page, 'more');
    await page.keyboard.press('Tab');
    await page.keyboard.press('Tab');
    await page.keyboard.press('Tab');
    await page.keyboard.press('Tab');
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { name: 'Audit' }).waitFor();
    await audit.waitFor({ state: 'hidden' });
    expect(await button.evaluate((one) => getComputedStyle(one).fontWeight)).toBe('600');
    expect(problems).toEqual([]);
    await page.close();
  });

  it('the menu marks Trees on the screens of a tree and of an item', async () => {
    const { page } = await open(`/trees/${tree}`);
    const current = page.getByRole('navigation', { name: 'Pages' }).locator('[aria-current]');
    await page.getByRole('heading', { name: 'Tree ship' }).waitFor();
    await expect.poll(() => current.allInnerTexts()).toEqual(['Trees']);
    await page.getByRole('table', { name: 'Items' }).getByRole('link').first().click();
    await page.getByRole('heading', { name: /^ship/ }).waitFor();
    await expect.poll(() => current.allInnerTexts()).toEqual(['Trees']);
    await page.close();
  });

  const nobody = '00000000-0000-7000-8000-000000000000';
  it.each([
    ['/trees/xyz', 'There is no such tree', 'Trees'],
    ['/trees/Job:xyz', 'There is no such tree', 'Trees'],
    [`/trees/Job:${nobody}`, 'There is no such tree', 'Trees'],
    ['/items/xyz', 'There is no such item', 'Trees'],
    [`/items/JobItem:${nobody}:7`, 'There is no such item', 'Trees'],
    ['/dead-letters/xyz', 'Nothing of this group is left', 'Dead letters'],
    [`/dead-letters/DeadLetterGroup:7`, 'Nothing of this group is left', 'Dead letters'],
    ['/nowhere', 'There is no such page', 'Trees'],
    ['/nowhere/%E0%A4%A', 'There is no such page', 'Trees'],
  ])('the address %s says that there is nothing, with a way to the list', async (path, words, list) => {
    const { page } = await open(path);
    const main = page.getByRole('main');
    await main.getByRole('status').getByText(words).waitFor();
    expect(await main.getByRole('button').count()).toBe(0);
    await main.getByRole('link', { name: list }).click();
    await page.getByRole('heading', { name: list }).waitFor();
    await page.close();
  });

  it('the search finds a serialize key, which leads to the item that has it, and the queue of a type', async () => {
    const { page, problems } = await open('/');
    await page.getByRole('button', { name: 'Search' }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByRole('combobox').fill('acme');
    await dialog.getByRole('option', { name: 'Serialize key acme: 2 waiting' }).waitFor();
    expect(await violations(page)).toEqual([]);
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { name: /^ship/ }).waitFor();

    await page.getByRole('button', { name: 'Search' }).click();
    await dialog.getByRole('combobox').fill('shi');
    await dialog.getByRole('option', { name: 'Queue ship' }).click();
    await page.getByRole('heading', { name: 'Queue ship' }).waitFor();
    expect(problems).toEqual([]);
    await page.close();
  });

  describe('where one has to sign in', () => {
    let closed: App;
    beforeAll(async () => {
      closed = await startServer(db.url, { JOBTREE_AUTH: 'keys' });
    });
    afterAll(() => closed.close());

    it('a wrong key is refused with the reason, and nothing is said of an issuer that there is not', async () => {
      const { page } = await openDashboard(browser, closed.url, '/');
      await page.getByLabel('Key or token').fill('wrong');
      await page.getByRole('button', { name: 'Sign in' }).click();
      await page.getByRole('alert').getByText('You are not signed in: This server does not accept').waitFor();
      await page.close();
    });

    it.each(['watcher', 'admin'] as const)(
      'the name of the key takes no second line of a desktop, however long it is: %s',
      async (role) => {
        const name = 'the dispatch desk of the night shift in the southern warehouse';
        const { key } = await makeKey(db, [role], { name });
        const { page } = await openDashboard(browser, closed.url, '/');
        await page.getByLabel('Key or token').fill(key);
        await page.getByRole('button', { name: 'Sign in' }).click();
        const shown = page.getByRole('banner').getByText(name);
        await shown.waitFor();
        expect(await shown.getAttribute('title')).toContain(name);
        await page.getByRole('button', { name: 'Search' }).waitFor();
        await page.getByRole('navigation').getByRole('link', { name: 'Schedules' }).waitFor();
        await screenshot(page, `long-name-${role}`);
        const middles = await page
          .getByRole('banner')
          .locator('a:visible, button:visible')
          .evaluateAll((all) =>
            all.map((one) => one.getBoundingClientRect()).map(({ top, bottom }) => (top + bottom) / 2),
          );
        expect(Math.max(...middles) - Math.min(...middles)).toBeLessThan(8);
        await page.close();
      },
    );

    it('nothing but that is shown before and after, and the name of the key without its id in between', async () => {
      const { key, id } = await makeKey(db, ['admin'], { name: 'boss' });
      const { page } = await openDashboard(browser, closed.url, '/operations');
      const heading = page.getByRole('heading');
      const isAsked = async () => {
        await page.getByRole('heading', { name: 'Sign in' }).waitFor();
        expect(await heading.allInnerTexts()).toEqual(['Sign in']);
        expect(await page.getByText('Live').count()).toBe(0);
        expect(await page.getByRole('button', { name: 'Pause updates' }).count()).toBe(0);
        expect(await violations(page)).toEqual([]);
      };
      await isAsked();
      await screenshot(page, 'before-sign-in');
      await page.getByLabel('Key or token').fill(key);
      await page.getByRole('button', { name: 'Sign in' }).click();
      await page.getByText('key boss', { exact: true }).waitFor();
      expect(await page.getByRole('banner').innerText()).not.toContain(id);
      await page.getByRole('heading', { name: 'Operations' }).waitFor();
      await page.getByRole('button', { name: 'Sign out' }).click();
      await isAsked();
      await page.close();
    });
  });
});
